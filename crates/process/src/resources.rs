//! How much of the machine one attempt may use, and which of these limits it ran into.
//!
//! Where a cgroup can be made, the kernel counts the whole tree: memory and processes. Elsewhere each
//! process has rlimits, and the warden counts the tree from outside: it ends one that is over, but sees only
//! what lasts longer than its look. What that means:
//!
//! - `memory_bytes` without a cgroup is the warden's count of what the tree uses, files apart, with the shared
//!   memory of its namespace; a confined program has no `memfd_create` then. Between its looks
//!   RLIMIT_DATA bounds what each process may ask for, with a wide margin: a process that grows meets the
//!   warden first, which ends the tree and says why. A quick one that ends badly is named by its peak. Who
//!   asks at once for more than the margin is told so by the kernel, and nobody else hears of it.
//! - `processes` counts threads too. Without a cgroup it is the warden's count, and between its looks
//!   RLIMIT_NPROC, with a margin since the kernel counts it per user. That one does not apply to root at all.
//! - `workspace_bytes` is always the warden's count: where the program works, its home, its temporary files and
//!   its report together. As an ordinary user it does not see into a directory whose permissions were taken
//!   away. In a throwaway tree it is what the program changed.
//!
//! Core files are never written.

mod cgroup;
mod machine;
mod rlimit;
mod sample;
mod shared;
mod tree_size;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::process::Pid;
use serde::{Deserialize, Serialize};
use windlass_core::policy::ResourcePolicy;

use crate::finished::{Containment, ProgramExit};
use crate::procfs::{self, ProcessId};
use crate::program::Program;
use crate::sandbox::MemoryFiles;
use crate::sys;
use cgroup::Group;
pub use machine::machine_memory;
use rlimit::Covered;
pub use rlimit::Rlimits;
use sample::ResourceSample;
use shared::SharedMemory;
use tree_size::{CountProgress, TreeSize};

/// A limit that was reached. The program may have gone on; one that had to be ended has
/// `ProgramExit::Signal(SIGKILL)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Trip {
    Memory,
    Processes,
    OpenFiles,
    FileSize,
    WorkspaceBytes,
}

impl Trip {
    /// What was reached, and the key that bounds it.
    pub fn words(self) -> &'static str {
        match self {
            Trip::Memory => "it reached its memory limit (sandbox.memory)",
            Trip::Processes => "it reached its limit of processes (sandbox.processes)",
            Trip::OpenFiles => "it reached its limit of open files (sandbox.open_files)",
            Trip::FileSize => "it reached the limit of one file's size (sandbox.file_size)",
            Trip::WorkspaceBytes => "it reached the limit of its workspace's size (sandbox.workspace_size)",
        }
    }
}

/// Looks cost at most one part in this many of the time.
const SHARE: u32 = 20;
const SAMPLE_PAUSE: Duration = Duration::from_millis(20);
/// For a tree that has a good part of its memory: one core fills some 100 MB in the usual pause.
const CLOSE_PAUSE: Duration = Duration::from_millis(4);
const COUNT_PAUSE: Duration = Duration::from_millis(200);
/// The longest the warden counts files before it turns to its other duties.
const SLICE: Duration = Duration::from_millis(10);

/// Holds one attempt to its resources, from before its program starts until its tree is dead.
pub struct ResourceGuard {
    resources: ResourcePolicy,
    group: Group,
    /// None of them within another.
    dirs: Vec<PathBuf>,
    /// On the same file system, and there from the beginning.
    carrier: PathBuf,
    trips: Vec<Trip>,
    next_sample: Option<Instant>,
    sample_pause: Duration,
    /// What of a namespace is no process's.
    shared: SharedMemory,
    /// The most of one process, over all looks.
    most_asked: u64,
    most_of_files: u64,
    next_count: Option<Instant>,
    count: Option<TreeSize>,
    /// Free bytes of the file system when the last look began that saw all of the tree.
    free_before: Option<u64>,
    free_at_start_of_count: Option<u64>,
}

impl ResourceGuard {
    /// `cwd` is where the program works, also if somebody else is started in its place.
    pub fn new(program: &Program, cwd: PathBuf) -> ResourceGuard {
        let resources = program.limits.resources;
        let (dir, carrier) = match &program.confinement.tree {
            Some(tree) => (tree.changes(), tree.upper.clone()),
            None => (cwd.clone(), cwd),
        };
        let dirs = apart(program.confinement.counted.iter().cloned().chain([dir]));
        let group = Group::make(&resources);
        let now = Instant::now();
        let uncovered = resources.memory_bytes > 0 && !group.limits_memory()
            || resources.processes > 0 && !group.limits_processes()
            || resources.open_files > 0;
        ResourceGuard {
            next_sample: uncovered.then(|| now + SAMPLE_PAUSE),
            sample_pause: SAMPLE_PAUSE,
            shared: SharedMemory::default(),
            most_asked: 0,
            most_of_files: 0,
            next_count: (resources.workspace_bytes > 0).then(|| now + COUNT_PAUSE),
            count: None,
            free_before: tree_size::free_bytes(&carrier),
            free_at_start_of_count: None,
            trips: Vec::new(),
            resources,
            group,
            dirs,
            carrier,
        }
    }

    /// For the program's own process, to be applied last before it becomes the program.
    pub fn rlimits(&self, containment: Containment) -> Rlimits {
        let covered =
            Covered { memory: self.group.limits_memory(), processes: self.group.limits_processes() };
        Rlimits::new(&self.resources, covered, containment)
    }

    /// Whether the program may have memory that only a group would count.
    pub fn memory_files(&self) -> MemoryFiles {
        if self.counts_memory() { MemoryFiles::Refused } else { MemoryFiles::Allowed }
    }

    /// Puts a leader that waits into the group, and with it everything it starts.
    pub fn adopt(&self, leader: Pid) -> Result<(), String> {
        self.group.join(leader)
    }

    /// When to [`ResourceGuard::look`] next.
    pub fn due(&self) -> Option<Instant> {
        self.next_sample.into_iter().chain(self.next_count).min()
    }

    /// Whether the tree must be ended.
    pub fn look(&mut self, leader: Pid, containment: Containment) -> bool {
        let now = Instant::now();
        let mut over = false;
        if self.next_sample.is_some_and(|next| next <= now) {
            over |= self.sample(leader, containment);
            self.next_sample = Some(pause_after(now, self.sample_pause));
        }
        if self.next_count.is_some_and(|next| next <= now) {
            over |= self.count_files(Some(SLICE));
            let pause = if self.count.is_some() { Duration::ZERO } else { COUNT_PAUSE };
            self.next_count = Some(pause_after(now, pause));
        }
        over
    }

    /// The last look at living processes, before they are ended.
    pub fn look_at_strays(&mut self, leader: Pid, containment: Containment) {
        if self.next_sample.is_some() {
            self.sample(leader, containment);
        }
    }

    /// Whether the kernel counts the CPU time of the whole tree.
    pub fn counts_cpu(&self) -> bool {
        self.group.counts_cpu()
    }

    /// As the kernel counted it, the dead included.
    pub fn cpu(&self) -> Option<Duration> {
        self.group.cpu()
    }

    /// Kills everything in the group, at once. Whoever is not in one is for others to end.
    pub fn kill(&self) {
        self.group.kill();
    }

    /// Once nothing is known to be alive: what was reached, and how many processes the group still has.
    pub fn finish(mut self, exit: &ProgramExit) -> (Vec<Trip>, u32) {
        let survivors = self.group.wait_until_empty();
        for trip in self.group.trips() {
            self.note(trip);
        }
        if self.resources.file_bytes > 0 && ended_by_file_size(exit) {
            self.note(Trip::FileSize);
        }
        if self.counts_memory() && *exit != ProgramExit::Code(0) && self.had_too_much() {
            self.note(Trip::Memory);
        }
        self.look_last();
        if survivors == 0 {
            self.group.remove();
        }
        self.trips.sort();
        (self.trips, survivors)
    }

    fn sample(&mut self, leader: Pid, containment: Containment) -> bool {
        let root = match containment {
            Containment::PidNamespace => leader.as_raw_pid(),
            Containment::Subreaper => std::process::id() as i32,
        };
        let Ok(living) = procfs::living_descendants(root) else { return false };
        let limits = self.resources;
        let sample = ResourceSample::of(&living, limits.open_files > 0);
        let mut over = false;
        if limits.processes > 0 && !self.group.limits_processes() && sample.tasks > limits.processes {
            self.note(Trip::Processes);
            over = true;
        }
        if limits.open_files > 0 && sample.most_open_files >= limits.open_files {
            self.note(Trip::OpenFiles);
        }
        let shared = match containment {
            Containment::PidNamespace if self.counts_memory() => self.shared.bytes(&living),
            Containment::PidNamespace | Containment::Subreaper => 0,
        };
        over | self.weigh(&sample, shared, &living)
    }

    /// Whether the tree uses more memory than it may.
    fn weigh(&mut self, sample: &ResourceSample, shared: u64, living: &[ProcessId]) -> bool {
        if !self.counts_memory() {
            return false;
        }
        let limit = self.resources.memory_bytes;
        self.most_asked = self.most_asked.max(sample.most_asked);
        self.most_of_files = self.most_of_files.max(sample.most_of_files);
        let quick = sample.memory + shared;
        self.sample_pause = if quick > limit / 4 { CLOSE_PAUSE } else { SAMPLE_PAUSE };
        // The quick count takes pages that several processes share for as many; the slow one decides.
        let exact =
            || (sample::exact_memory(living) + shared).saturating_sub(shared::mapped(living).min(shared));
        let over = quick > limit && exact() > limit;
        if over {
            self.note(Trip::Memory);
        }
        over
    }

    fn counts_memory(&self) -> bool {
        self.resources.memory_bytes > 0 && !self.group.limits_memory()
    }

    /// Once all are reaped: by the peak of a process, or by how near one came to what it may ask for. It may
    /// have grown and ended between two looks.
    fn had_too_much(&self) -> bool {
        let limit = self.resources.memory_bytes;
        let most = rlimit::most_asked(limit);
        // A peak has files in it, which are no use of memory; where there were many it says nothing.
        let few_files = self.most_of_files < limit / 4;
        let peak = sys::peak_of_children().saturating_sub(self.most_of_files);
        few_files && peak > limit || self.most_asked >= most - most / 8
    }

    /// Counts on, for as long as it may.
    fn count_files(&mut self, slice: Option<Duration>) -> bool {
        if self.count.is_none() {
            self.free_at_start_of_count = tree_size::free_bytes(&self.carrier);
        }
        let count = self.count.get_or_insert_with(|| TreeSize::of(&self.dirs));
        let bound =
            if self.resources.workspace_bytes > 0 { self.resources.workspace_bytes } else { u64::MAX };
        let progress = count.go_on(bound, slice);
        let file_size = self.resources.file_bytes;
        if file_size > 0 && count.largest() >= file_size {
            self.note(Trip::FileSize);
        }
        match progress {
            CountProgress::More => return false,
            CountProgress::Over => self.note(Trip::WorkspaceBytes),
            CountProgress::Within => self.free_before = self.free_at_start_of_count,
        }
        self.count = None;
        progress == CountProgress::Over
    }

    /// A program may have written and ended between two looks. A small tree is counted again; a large one,
    /// where that would take long, only if it can have grown.
    fn look_last(&mut self) {
        if self.resources.workspace_bytes > 0 || self.resources.file_bytes > 0 {
            self.count = None;
            self.count_files(Some(SLICE));
            if self.count.is_some() && self.may_have_grown() {
                self.count_files(None);
            }
        }
    }

    /// A tree cannot grow by more than its file system loses, if nobody else gives room back meanwhile.
    fn may_have_grown(&self) -> bool {
        let parts = [self.resources.workspace_bytes / 16, self.resources.file_bytes / 2];
        let Some(room) = parts.into_iter().filter(|part| *part > 0).min() else { return false };
        match (self.free_before, tree_size::free_bytes(&self.carrier)) {
            (Some(before), Some(after)) => after.saturating_add(room) < before,
            (None, _) | (_, None) => true,
        }
    }

    fn note(&mut self, trip: Trip) {
        if !self.trips.contains(&trip) {
            self.trips.push(trip);
        }
    }
}

/// Without those that lie within another.
fn apart(dirs: impl Iterator<Item = PathBuf>) -> Vec<PathBuf> {
    let mut dirs: Vec<PathBuf> = dirs.collect();
    // A path comes after all that hold it.
    dirs.sort();
    let mut kept: Vec<PathBuf> = Vec::new();
    for dir in dirs {
        if !kept.iter().any(|outer| dir.starts_with(outer)) {
            kept.push(dir);
        }
    }
    kept
}

fn pause_after(began: Instant, least: Duration) -> Instant {
    let ended = Instant::now();
    ended + ((ended - began) * (SHARE - 1)).max(least)
}

/// By the signal itself, or as a shell reports that of its last command.
fn ended_by_file_size(exit: &ProgramExit) -> bool {
    *exit == ProgramExit::Signal(libc::SIGXFSZ) || *exit == ProgramExit::Code(128 + libc::SIGXFSZ)
}
