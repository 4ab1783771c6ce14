//! A few threads over a queue of jobs that make more jobs.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Jobs waiting beyond this are better done by the thread that found them.
const ENOUGH: usize = 16;

pub(crate) struct Jobs<J> {
    state: Mutex<State<J>>,
    changed: Condvar,
}

struct State<J> {
    waiting: VecDeque<J>,
    enough: usize,
    working: usize,
    stopped: bool,
}

impl<J: Send> Jobs<J> {
    /// Gives a job to the crew, or back to the caller when it has enough.
    pub(crate) fn offer(&self, job: J) -> Option<J> {
        let mut state = self.lock();
        if state.waiting.len() >= state.enough {
            return Some(job);
        }
        state.waiting.push_back(job);
        self.changed.notify_one();
        None
    }

    fn take(&self) -> Option<J> {
        let mut state = self.lock();
        loop {
            if state.stopped {
                return None;
            }
            if let Some(job) = state.waiting.pop_front() {
                state.working += 1;
                return Some(job);
            }
            if state.working == 0 {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<J>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One job being worked on; an error or a panic in it stops the others.
struct Turn<'a, J: Send> {
    jobs: &'a Jobs<J>,
    completed: bool,
}

impl<J: Send> Drop for Turn<'_, J> {
    fn drop(&mut self) {
        let mut state = self.jobs.lock();
        state.working -= 1;
        state.stopped |= !self.completed;
        if state.stopped || state.working == 0 && state.waiting.is_empty() {
            self.jobs.changed.notify_all();
        }
    }
}

/// How many threads a job of this many files is worth.
pub(crate) fn threads_for(files: usize) -> usize {
    if files < 1_000 {
        return 1;
    }
    // Asking reads several files of the kernel, so only where it matters.
    std::thread::available_parallelism().map_or(1, usize::from).min(4)
}

/// Runs `first` and everything it leads to on `threads` threads, each with a
/// worker of its own, and returns the first error.
pub(crate) fn run<J, W, E>(
    threads: usize,
    first: J,
    worker: impl Fn() -> W + Sync,
    work: impl Fn(&mut W, J, &Jobs<J>) -> Result<(), E> + Sync,
) -> Result<(), E>
where
    J: Send,
    E: Send,
{
    let enough = if threads > 1 { ENOUGH } else { 0 };
    let state = State { waiting: VecDeque::from([first]), enough, working: 0, stopped: false };
    let jobs = Jobs { state: Mutex::new(state), changed: Condvar::new() };
    let failure = Mutex::new(None);
    let go = || {
        let mut own = worker();
        while let Some(job) = jobs.take() {
            let mut turn = Turn { jobs: &jobs, completed: false };
            match work(&mut own, job, &jobs) {
                Ok(()) => turn.completed = true,
                Err(error) => {
                    failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(go);
        }
        go();
    });
    match failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(error) => Err(error),
        None => Ok(()),
    }
}
