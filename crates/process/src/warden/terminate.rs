//! The end of a tree: asked, then forced, then proven.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, getpid, kill_process, kill_process_group};

use crate::finished::Containment;
use crate::procfs;
use crate::resources::ResourceGuard;
use crate::sweep::sweep;
use crate::sys;
use crate::warden::tracer::{Tracer, next_ended};

/// How long a killed process may take to be gone (one stuck in a disk or network call dies late).
const PATIENCE: Duration = Duration::from_secs(10);

pub struct ProcessTree {
    /// The namespace's init, or the program itself.
    pub leader: Pid,
    pub containment: Containment,
    pub strays: Strays,
    /// Where the warden itself keeps its processes from one another.
    pub tracer: Option<RefCell<Tracer>>,
}

/// What becomes of processes that a program leaves behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strays {
    AreEnded,
    /// Never but in a build for adversarial tests.
    LiveOn,
}

/// What the warden knows to be alive when it ends a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    Nothing,
    /// The program has ended, others may not have.
    Strays,
    /// The program, and perhaps others.
    Program,
}

/// What was found when a tree was ended.
#[derive(Debug, Default)]
pub struct TreeEnd {
    pub stray_count: u32,
    pub survivor_count: u32,
}

/// A child of the warden that is no more.
pub struct Reaped {
    pub pid: Pid,
    pub status: i32,
}

impl ProcessTree {
    /// Asks the program to end: its process group, or everything in its namespace.
    pub fn ask_to_end(&self) {
        match self.containment {
            Containment::PidNamespace => drop(kill_process(self.leader, Signal::TERM)),
            Containment::Subreaper => {
                kill_process_group(self.leader, Signal::TERM).ok();
                kill_process_group(self.leader, Signal::CONT).ok();
            }
        }
    }

    /// Kills whatever is left and returns when nothing is.
    pub fn end(&self, left: Left, guard: &ResourceGuard) -> io::Result<TreeEnd> {
        let deadline = Instant::now() + PATIENCE;
        if self.strays == Strays::LiveOn {
            kill_process(self.leader, Signal::KILL).ok();
            self.reap_all()?;
            return Ok(TreeEnd::default());
        }
        match self.containment {
            Containment::PidNamespace => self.end_namespace(left, deadline),
            Containment::Subreaper => self.end_children(deadline, guard),
        }
    }

    /// The init leaves by itself when nothing is left, and is reaped only after the last process of its
    /// namespace.
    fn end_namespace(&self, left: Left, deadline: Instant) -> io::Result<TreeEnd> {
        let living = || procfs::living_descendants(self.leader.as_raw_pid()).map_or(0, |found| found.len());
        let stray_count = match left {
            Left::Nothing => 0,
            Left::Strays => living(),
            Left::Program => living().saturating_sub(1),
        };
        if left != Left::Nothing {
            kill_process(self.leader, Signal::KILL).ok();
        }
        let gone = self.wait_until_childless(deadline)?;
        Ok(TreeEnd { stray_count: stray_count as u32, survivor_count: u32::from(!gone) })
    }

    fn end_children(&self, deadline: Instant, guard: &ResourceGuard) -> io::Result<TreeEnd> {
        let this = getpid().as_raw_pid();
        let mut strays: BTreeSet<i32> =
            procfs::living_descendants(this)?.into_iter().map(|process| process.pid).collect();
        guard.kill();
        // What is found may end or fork meanwhile; only the reaping of the last child proves the end.
        while !self.wait_until_childless(Instant::now())? {
            let swept = sweep(deadline, || {
                self.reap_all()?;
                procfs::living_descendants(this)
            })?;
            strays.extend(swept.killed.iter().chain(&swept.alive).map(|process| process.pid));
            if Instant::now() >= deadline {
                let survivor_count = swept.alive.len().max(1) as u32;
                return Ok(TreeEnd { stray_count: self.without_leader(&strays), survivor_count });
            }
        }
        Ok(TreeEnd { stray_count: self.without_leader(&strays), survivor_count: 0 })
    }

    fn without_leader(&self, strays: &BTreeSet<i32>) -> u32 {
        strays.iter().filter(|&&pid| pid != self.leader.as_raw_pid()).count() as u32
    }

    /// Reaps every child that has ended. `None`: there is no child left, living or dead.
    pub fn reap_all(&self) -> io::Result<Option<Vec<Reaped>>> {
        let mut tracer = self.tracer.as_ref().map(RefCell::borrow_mut);
        let mut reaped = Vec::new();
        loop {
            match next_ended(tracer.as_deref_mut()) {
                Ok(Some((pid, status))) => reaped.push(Reaped { pid, status: status.as_raw() }),
                Ok(None) => return Ok(Some(reaped)),
                Err(rustix::io::Errno::CHILD) if reaped.is_empty() => return Ok(None),
                Err(rustix::io::Errno::CHILD) => return Ok(Some(reaped)),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn wait_until_childless(&self, deadline: Instant) -> io::Result<bool> {
        loop {
            match self.reap_all()? {
                None => return Ok(true),
                Some(reaped) if reaped.is_empty() && Instant::now() >= deadline => return Ok(false),
                Some(reaped) if reaped.is_empty() => sys::wait_for(&mut [], Some(deadline))?,
                Some(_) => {}
            }
        }
    }
}
