//! Watches a running program: its output, its limits, its supervisor.

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

use rustix::io::Errno;

use crate::activity::{OutputStream, Stall};
use crate::finished::{Capture, ProgramExit};
use crate::program::{Program, ProgramLimits};
use crate::record;
use crate::resources::ResourceGuard;
use crate::sys;
use crate::warden::capture::CaptureWriter;
use crate::warden::pulse::Pulse;
use crate::warden::report::{LeaderReport, LeaderReports};
use crate::warden::terminate::{Left, ProcessTree};
use crate::wire::CANCEL;

const READ_SIZE: usize = 128 * 1024;

/// For what is left in the pipes once the tree is dead. It is longer than reading takes, and bounded because
/// a descriptor may have been handed to a process outside of the tree.
const DRAIN: Duration = Duration::from_millis(250);

/// The warden's ends of the pipes to its leader and the program.
pub struct Pipes {
    pub report: OwnedFd,
    pub stdin: OwnedFd,
    pub stdout: OwnedFd,
    pub stderr: OwnedFd,
}

pub struct ProgramWatch {
    limits: ProgramLimits,
    control: Option<File>,
    report: Option<OwnedFd>,
    reports: LeaderReports,
    feed: Option<Feed>,
    stdout: Stream,
    stderr: Stream,
    buffer: Vec<u8>,
    /// `None`: silence is not limited.
    pulse: Option<Pulse>,
    stall: Option<Stall>,
    tripped: Option<Tripped>,
}

/// Why the program is being ended, and when it is killed.
struct Tripped {
    exit: ProgramExit,
    kill_at: Instant,
}

struct Stream {
    pipe: Option<OwnedFd>,
    keeper: CaptureWriter,
}

/// The program's stdin, as far as it has not been taken.
struct Feed {
    pipe: OwnedFd,
    bytes: Vec<u8>,
    written: usize,
}

impl ProgramWatch {
    /// `control` leads to the supervisor. Takes the text for the program's stdin.
    pub fn new(program: &mut Program, control: File, pipes: Pipes) -> Result<ProgramWatch, String> {
        let stdin = std::mem::take(&mut program.stdin);
        let stream = |pipe, path: std::path::PathBuf| {
            let keeper = CaptureWriter::create(&path, program.limits.output_cap)
                .map_err(|error| format!("cannot create {}: {error}", path.display()))?;
            Ok::<_, String>(Stream { pipe: Some(pipe), keeper })
        };
        Ok(ProgramWatch {
            limits: program.limits,
            control: Some(control),
            report: Some(pipes.report),
            reports: LeaderReports::default(),
            feed: Some(Feed { pipe: pipes.stdin, bytes: stdin, written: 0 }),
            stdout: stream(pipes.stdout, record::stdout_path(&program.dir))?,
            stderr: stream(pipes.stderr, record::stderr_path(&program.dir))?,
            buffer: vec![0; READ_SIZE],
            pulse: Pulse::of(program, Instant::now()),
            stall: None,
            tripped: None,
        })
    }

    /// Alive, and of the same mind.
    pub fn supervisor_is_waiting(&self) -> bool {
        let mut byte = [0];
        self.control.as_ref().is_some_and(|control| rustix::io::read(control, &mut byte) == Err(Errno::AGAIN))
    }

    /// Returns when the program has ended, or must be killed.
    pub fn until_the_end(
        &mut self,
        tree: &ProcessTree,
        guard: &mut ResourceGuard,
        started: Instant,
    ) -> (ProgramExit, Left) {
        self.write_stdin();
        loop {
            if let Some(end) = self.end_of_program(tree) {
                return end;
            }
            let now = Instant::now();
            if self.tripped.is_none()
                && let Some(exit) = self.overdue(started, now).or_else(|| self.stalled(tree, guard))
            {
                self.trip(exit, tree, now);
            }
            if self.tripped.is_none() && guard.look(tree.leader, tree.containment) {
                // What takes more than its share is not asked to end.
                self.tripped = Some(Tripped { exit: ProgramExit::Signal(libc::SIGKILL), kill_at: now });
            }
            if let Some(tripped) = &self.tripped
                && tripped.kill_at <= now
            {
                return (tripped.exit.clone(), Left::Program);
            }
            self.turn(tree, self.next_deadline(started, guard.due()));
        }
    }

    /// What was seen of a program that was ended for its silence.
    pub fn stall(&self) -> Option<Stall> {
        self.stall
    }

    /// What is still in the pipes, then the files in order.
    pub fn finish(mut self) -> (Capture, Capture) {
        let deadline = Instant::now() + DRAIN;
        while (self.stdout.pipe.is_some() || self.stderr.pipe.is_some()) && Instant::now() < deadline {
            let mut slots = [slot(&self.stdout.pipe, libc::POLLIN), slot(&self.stderr.pipe, libc::POLLIN)];
            if sys::wait_for(&mut slots, Some(deadline)).is_err() {
                break;
            }
            self.read_output(slots[0].revents != 0, slots[1].revents != 0);
        }
        let stdout = self.stdout.keeper.finish(&mut self.buffer);
        let stderr = self.stderr.keeper.finish(&mut self.buffer);
        (stdout, stderr)
    }

    /// One wait, and whatever it brings.
    fn turn(&mut self, tree: &ProcessTree, until: Option<Instant>) {
        let feed = self.feed.as_ref().map_or(-1, |feed| feed.pipe.as_raw_fd());
        let mut slots = [
            slot(&self.control, libc::POLLIN),
            slot(&self.report, libc::POLLIN),
            slot(&self.stdout.pipe, libc::POLLIN),
            slot(&self.stderr.pipe, libc::POLLIN),
            raw_slot(feed, libc::POLLOUT),
        ];
        if let Err(error) = sys::wait_for(&mut slots, until) {
            sys::note(&format!("cannot wait: {error}"));
            std::thread::sleep(Duration::from_millis(10));
        }
        let [control, report, stdout, stderr, feed] = slots.map(|slot| slot.revents != 0);
        if control {
            self.hear_supervisor(tree);
        }
        if report
            && let Some(pipe) = &self.report
            && !self.reports.read(pipe)
        {
            self.report = None;
        }
        self.read_output(stdout, stderr);
        if feed {
            self.write_stdin();
        }
    }

    fn read_output(&mut self, stdout: bool, stderr: bool) {
        let streams = [
            (stdout, &mut self.stdout, OutputStream::Stdout),
            (stderr, &mut self.stderr, OutputStream::Stderr),
        ];
        for (ready, stream, source) in streams {
            if ready
                && let Some(bytes) = stream.read(&mut self.buffer)
                && let Some(pulse) = &mut self.pulse
            {
                pulse.hear(source, bytes);
            }
        }
    }

    fn write_stdin(&mut self) {
        if self.feed.as_mut().is_some_and(|feed| !feed.write()) {
            self.feed = None;
        }
    }

    fn hear_supervisor(&mut self, tree: &ProcessTree) {
        let Some(control) = &self.control else { return };
        let mut bytes = [0; 16];
        let now = Instant::now();
        match rustix::io::read(control, &mut bytes) {
            Ok(0) => {
                // It died, and nobody is left to wait for a gentle end.
                self.control = None;
                let exit = self.tripped.take().map_or(ProgramExit::Cancelled, |tripped| tripped.exit);
                self.tripped = Some(Tripped { exit, kill_at: now });
            }
            Ok(size) if bytes[..size].contains(&CANCEL) => self.trip(ProgramExit::Cancelled, tree, now),
            Ok(_) | Err(_) => {}
        }
    }

    fn trip(&mut self, exit: ProgramExit, tree: &ProcessTree, now: Instant) {
        if self.tripped.is_some() {
            return;
        }
        if !self.limits.grace.is_zero() {
            tree.ask_to_end();
        }
        self.tripped = Some(Tripped { exit, kill_at: now + self.limits.grace });
    }

    fn end_of_program(&mut self, tree: &ProcessTree) -> Option<(ProgramExit, Left)> {
        let reaped = tree.reap_all().ok().flatten().unwrap_or_default();
        let leader = reaped.iter().find(|reaped| reaped.pid == tree.leader);
        if let Some(pipe) = &self.report
            && leader.is_some()
        {
            self.reports.read(pipe);
        }
        let (exit, left) = match (self.reports.next(), leader) {
            (Some(LeaderReport::NotStarted(why)), _) => (ProgramExit::NotStarted { why }, Left::Strays),
            (Some(LeaderReport::Ended { status, alone }), _) => {
                (exit_of(status), if alone { Left::Nothing } else { Left::Strays })
            }
            (None, Some(leader)) => (exit_of(leader.status), Left::Strays),
            (None, None) => return None,
        };
        let exit = match (self.tripped.take(), exit) {
            (_, exit @ ProgramExit::NotStarted { .. }) | (None, exit) => exit,
            (Some(tripped), _) => tripped.exit,
        };
        Some((exit, left))
    }

    fn overdue(&self, started: Instant, now: Instant) -> Option<ProgramExit> {
        let wall = self.limits.wall;
        (!wall.is_zero() && now >= started + wall).then_some(ProgramExit::TimedOut)
    }

    fn stalled(&mut self, tree: &ProcessTree, guard: &ResourceGuard) -> Option<ProgramExit> {
        self.stall = self.pulse.as_mut()?.look(tree, guard);
        self.stall.map(|_| ProgramExit::Stalled)
    }

    fn next_deadline(&self, started: Instant, look: Option<Instant>) -> Option<Instant> {
        let wall = (!self.limits.wall.is_zero()).then(|| started + self.limits.wall);
        match &self.tripped {
            Some(tripped) => Some(tripped.kill_at),
            None => wall.into_iter().chain(self.pulse.as_ref().map(Pulse::due)).chain(look).min(),
        }
    }
}

impl Stream {
    /// What was printed.
    fn read<'a>(&mut self, buffer: &'a mut [u8]) -> Option<&'a [u8]> {
        let pipe = self.pipe.as_ref()?;
        match rustix::io::read(pipe, &mut *buffer) {
            Ok(0) => self.pipe = None,
            Ok(size) => {
                self.keeper.take(&buffer[..size]);
                return Some(&buffer[..size]);
            }
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(_) => self.pipe = None,
        }
        None
    }
}

impl Feed {
    /// Whether there is more to give. A program that closed its stdin, or died, wants no more.
    fn write(&mut self) -> bool {
        while self.written < self.bytes.len() {
            match rustix::io::write(&self.pipe, &self.bytes[self.written..]) {
                Ok(size) => self.written += size,
                Err(Errno::INTR) => {}
                Err(error) => return error == Errno::AGAIN,
            }
        }
        false
    }
}

fn exit_of(status: i32) -> ProgramExit {
    if libc::WIFSIGNALED(status) {
        ProgramExit::Signal(libc::WTERMSIG(status))
    } else {
        ProgramExit::Code(libc::WEXITSTATUS(status))
    }
}

fn slot(fd: &Option<impl AsFd>, events: i16) -> libc::pollfd {
    raw_slot(fd.as_ref().map_or(-1, |fd| fd.as_fd().as_raw_fd()), events)
}

fn raw_slot(fd: RawFd, events: i16) -> libc::pollfd {
    libc::pollfd { fd, events, revents: 0 }
}
