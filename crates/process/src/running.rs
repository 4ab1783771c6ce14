//! A program under its warden, seen from the supervisor.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};

use crate::finished::{Capture, Containment, Finished, ProgramExit};
use crate::orphans::end_orphans;
use crate::program::{Program, ProgramLimits};
use crate::record::{self, ProcessRecord};
use crate::recover::end_recorded;
use crate::wire;

/// A warden that has not answered this long after it should have is lost: killed from outside, stopped by
/// what it guards, or stuck. Longer than it takes to end a stubborn tree.
const OVERDUE: Duration = Duration::from_secs(30);

/// Dropped without [`RunningProgram::wait`], it is killed and reaped.
#[derive(Debug)]
pub struct RunningProgram {
    warden: Child,
    answer: Option<ChildStdout>,
    control: Arc<Control>,
    limits: ProgramLimits,
    dir: PathBuf,
    started: Instant,
}

/// Ends the program from any thread: SIGTERM, the grace, SIGKILL.
#[derive(Clone, Debug)]
pub struct Canceller {
    control: Arc<Control>,
}

#[derive(Debug)]
struct Control {
    state: Mutex<ControlState>,
    /// Wakes the waiter, whose deadline moves when a program is cancelled.
    wake: OwnedFd,
}

#[derive(Debug)]
struct ControlState {
    /// Closed when the attempt is over or given up, whoever still holds a canceller.
    pipe: Option<ChildStdin>,
    cancelled_at: Option<Instant>,
}

impl Canceller {
    /// Idempotent, and of no effect once the program has ended.
    pub fn cancel(&self) {
        let mut state = self.control.state();
        if state.cancelled_at.is_some() {
            return;
        }
        if let Some(pipe) = &mut state.pipe {
            // A warden that is gone needs no telling; the waiter finds out.
            pipe.write_all(&[wire::CANCEL]).ok();
            state.cancelled_at = Some(Instant::now());
            tracing::debug!("program is cancelled");
            rustix::io::write(&self.control.wake, &1u64.to_ne_bytes()).ok();
        }
    }
}

impl RunningProgram {
    pub(crate) fn new(mut warden: Child, program: &Program) -> io::Result<RunningProgram> {
        let (pipe, answer) = (warden.stdin.take(), warden.stdout.take());
        let wake = match eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK) {
            Ok(wake) => wake,
            Err(error) => {
                drop(pipe);
                warden.wait()?;
                return Err(error.into());
            }
        };
        let state = Mutex::new(ControlState { pipe, cancelled_at: None });
        let control = Arc::new(Control { state, wake });
        let (limits, dir) = (program.limits, program.dir.clone());
        Ok(RunningProgram { warden, answer, control, limits, dir, started: Instant::now() })
    }

    /// The process id of its warden.
    pub(crate) fn warden_id(&self) -> u32 {
        self.warden.id()
    }

    pub fn canceller(&self) -> Canceller {
        Canceller { control: Arc::clone(&self.control) }
    }

    /// Where its output and its errors are kept, as they come.
    pub fn streams(&self) -> (PathBuf, PathBuf) {
        (record::stdout_path(&self.dir), record::stderr_path(&self.dir))
    }

    /// Returns when nothing of the program is alive, nor its warden.
    pub fn wait(mut self) -> Finished {
        let answer = self.read_answer();
        self.control.state().pipe = None;
        let what = match answer {
            Answer::Finished(finished) => {
                tracing::debug!(
                    warden = self.warden.id(),
                    exit = ?finished.exit,
                    duration = ?finished.duration,
                    survivors = finished.survivor_count,
                    "program ended"
                );
                reap_answered(&mut self.warden);
                return *finished;
            }
            Answer::Nothing => "it ended without an answer",
            Answer::Overdue => "it did not answer in time",
        };
        self.lost(what)
    }

    fn read_answer(&mut self) -> Answer {
        let Some(mut pipe) = self.answer.take() else { return Answer::Nothing };
        let mut text = Vec::new();
        loop {
            let until = self.deadline();
            match ready(&pipe, &self.control.wake, until) {
                Ready::Answer => {}
                Ready::Woken => {
                    rustix::io::read(&self.control.wake, &mut [0; 8]).ok();
                    continue;
                }
                Ready::Late => return Answer::Overdue,
            }
            let mut bytes = [0; 4096];
            match pipe.read(&mut bytes) {
                Ok(0) => break,
                Ok(size) => text.extend_from_slice(&bytes[..size]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        serde_json::from_slice(&text).map_or(Answer::Nothing, |finished| Answer::Finished(Box::new(finished)))
    }

    /// `None`: the program may run for ever.
    fn deadline(&self) -> Option<Instant> {
        let slack = self.limits.grace + OVERDUE;
        let wall = (!self.limits.wall.is_zero()).then(|| self.started + self.limits.wall + slack);
        let cancelled = self.control.state().cancelled_at.map(|at| at + slack);
        wall.into_iter().chain(cancelled).min()
    }

    fn lost(&mut self, what: &str) -> Finished {
        tracing::warn!(warden = self.warden.id(), what, "warden is lost");
        let (mut why, survivor_count) = match end_what_is_left(&mut self.warden, &self.dir) {
            Ok(0) => (format!("the warden was lost: {what}"), 0),
            Ok(alive) => (format!("the warden was lost: {what}; {alive} processes cannot be ended"), alive),
            Err(error) => (format!("the warden was lost: {what}; cannot tell what is alive: {error}"), 1),
        };
        let log = std::fs::read(record::log_path(&self.dir)).unwrap_or_default();
        let last_words = String::from_utf8_lossy(&log[log.len().saturating_sub(1000)..]).trim().to_owned();
        if !last_words.is_empty() {
            why = format!("{why}; its last words: {last_words}");
        }
        let capture = |path: PathBuf| {
            let size = std::fs::metadata(&path).map_or(0, |found| found.len());
            let truncated = size >= self.limits.output_cap;
            Capture { path, total_bytes: size, kept_bytes: size, truncated, write_error: None }
        };
        Finished {
            stdout: capture(record::stdout_path(&self.dir)),
            stderr: capture(record::stderr_path(&self.dir)),
            duration: self.started.elapsed(),
            survivor_count,
            refusals: record::refusals(&self.dir),
            ..Finished::without_output(&self.dir, ProgramExit::WardenLost { why }, Containment::Subreaper)
        }
    }
}

impl Drop for RunningProgram {
    fn drop(&mut self) {
        self.control.state().pipe = None;
        let Some(mut pipe) = self.answer.take() else { return };
        let deadline = Instant::now() + OVERDUE;
        let mut bytes = [0; 4096];
        loop {
            match ready(&pipe, &self.control.wake, Some(deadline)) {
                Ready::Answer if pipe.read(&mut bytes).is_ok_and(|size| size > 0) => {}
                Ready::Answer => break,
                Ready::Woken => drop(rustix::io::read(&self.control.wake, &mut [0; 8])),
                Ready::Late => break drop(end_what_is_left(&mut self.warden, &self.dir)),
            }
        }
        reap_answered(&mut self.warden);
    }
}

impl Control {
    fn state(&self) -> MutexGuard<'_, ControlState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

enum Answer {
    Finished(Box<Finished>),
    Nothing,
    Overdue,
}

enum Ready {
    Answer,
    Woken,
    Late,
}

fn ready(answer: &ChildStdout, wake: &OwnedFd, until: Option<Instant>) -> Ready {
    loop {
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let timeout = left.and_then(|left| Timespec::try_from(left).ok());
        let mut slots =
            [PollFd::new(answer, PollFlags::IN), PollFd::from_borrowed_fd(wake.as_fd(), PollFlags::IN)];
        match poll(&mut slots, timeout.as_ref()) {
            Ok(0) => return Ready::Late,
            Ok(_) if slots[0].revents().is_empty() => return Ready::Woken,
            Ok(_) => return Ready::Answer,
            Err(rustix::io::Errno::INTR) => {}
            // Reading says what is wrong.
            Err(_) => return Ready::Answer,
        }
    }
}

/// A warden closes its pipe when its duties are done. It is killed so that one that was stopped from outside at this
/// moment does not hold us up.
fn reap_answered(warden: &mut Child) {
    warden.kill().ok();
    warden.wait().ok();
}

/// The number of processes that live on.
fn end_what_is_left(warden: &mut Child, dir: &std::path::Path) -> io::Result<u32> {
    let alive = match ProcessRecord::read(dir)? {
        Some(record) => end_recorded(&record, Instant::now() + OVERDUE)?.alive.len() as u32,
        None => 0,
    };
    warden.kill().ok();
    warden.wait()?;
    let alive = alive + end_orphans(Instant::now() + OVERDUE)?.len() as u32;
    if alive == 0 {
        ProcessRecord::remove(dir)?;
    }
    Ok(alive)
}
