//! A program under its warden, seen from the supervisor.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::process::{Pid, Signal, kill_process};

use crate::finished::{Capture, Containment, Finished, ProgramExit};
use crate::orphans::end_orphans;
use crate::procfs;
use crate::program::{Program, ProgramLimits};
use crate::record::{self, ProcessRecord};
use crate::recover::end_recorded;
use crate::sandbox::{SandboxDefence, Weakened};
use crate::wire;

/// A warden that has not answered this long after it should have is lost: killed from outside, stopped by
/// what it guards, or stuck. Longer than it takes to end a stubborn tree.
const OVERDUE: Duration = Duration::from_secs(30);
/// The same for one that is found stopped each time it is looked at.
const STOPPED_OVERDUE: Duration = Duration::from_secs(3);
/// Nobody has a reason to stop a warden, and while it is stopped no limit of its program holds: so often it is
/// looked at, and told to go on.
const LOOK: Duration = Duration::from_secs(1);

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
            match ready(&pipe, &self.control.wake, Instant::now() + LOOK) {
                Ready::Answer => {}
                Ready::Woken => {
                    rustix::io::read(&self.control.wake, &mut [0; 8]).ok();
                    rouse(&self.warden);
                    continue;
                }
                Ready::Late if self.is_overdue() => return Answer::Overdue,
                Ready::Late => continue,
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

    /// Looks after the warden, which should have answered if this is true.
    fn is_overdue(&self) -> bool {
        let slack = match rouse(&self.warden) {
            WardenState::Stopped => STOPPED_OVERDUE,
            WardenState::Running => OVERDUE,
        };
        self.due().is_some_and(|due| Instant::now() >= due + slack)
    }

    /// When the program has ended at the latest. `None`: it may run for ever.
    fn due(&self) -> Option<Instant> {
        let grace = self.limits.grace;
        let wall = (!self.limits.wall.is_zero()).then(|| self.started + self.limits.wall + grace);
        let cancelled = self.control.state().cancelled_at.map(|at| at + grace);
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
            match ready(&pipe, &self.control.wake, Instant::now() + LOOK) {
                Ready::Answer if pipe.read(&mut bytes).is_ok_and(|size| size > 0) => {}
                Ready::Answer => break,
                Ready::Woken => drop(rustix::io::read(&self.control.wake, &mut [0; 8])),
                Ready::Late if Instant::now() >= deadline => {
                    break drop(end_what_is_left(&mut self.warden, &self.dir));
                }
                Ready::Late => _ = rouse(&self.warden),
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

#[derive(Clone, Copy, PartialEq, Eq)]
enum WardenState {
    Running,
    /// It was, until it was told to go on.
    Stopped,
}

/// Lets a warden go on that somebody stopped.
fn rouse(warden: &Child) -> WardenState {
    let stopped = procfs::stat(warden.id() as i32).is_some_and(|stat| stat.is_stopped());
    if !stopped || !Weakened::from_environment().keeps(SandboxDefence::GoingOn) {
        return WardenState::Running;
    }
    tracing::warn!(warden = warden.id(), "a stopped warden is told to go on");
    // Our own child, which is not reaped yet: the id is of nobody else.
    kill_process(Pid::from_child(warden), Signal::CONT).ok();
    WardenState::Stopped
}

fn ready(answer: &ChildStdout, wake: &OwnedFd, until: Instant) -> Ready {
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(left).ok();
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
