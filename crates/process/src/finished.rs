//! How a program ended, and what it printed.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::activity::Stall;
use crate::program::os_path;
use crate::record;
use crate::resources::Trip;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Finished {
    pub exit: ProgramExit,
    pub stdout: Capture,
    pub stderr: Capture,
    /// From the start of the program to the death of the last process of its tree.
    pub duration: Duration,
    /// Processes beyond the main one that were alive at the end, and were killed.
    pub stray_count: u32,
    /// Processes that could not be killed in time (another user's, or stuck in the kernel). Anything but
    /// zero means the attempt is not over, whatever `exit` says.
    pub survivor_count: u32,
    pub containment: Containment,
    /// Resource limits that were reached, each once.
    pub trips: Vec<Trip>,
    /// What was seen of a program that reached the silence limit.
    pub stall: Option<Stall>,
    /// What its proxy refused, in words; the first of them.
    pub refusals: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProgramExit {
    Code(i32),
    Signal(i32),
    /// The wall limit.
    TimedOut,
    /// The silence limit.
    Stalled,
    Cancelled,
    /// The program never ran.
    NotStarted {
        why: String,
    },
    /// The warden died or stopped answering; what it guarded was swept. How the program ended is unknown.
    WardenLost {
        why: String,
    },
}

/// One stream, in a file: all of it, or its head, a line `… N bytes left out …`, and its tail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capture {
    #[serde(with = "os_path")]
    pub path: PathBuf,
    pub total_bytes: u64,
    /// Of the program's own bytes; the marker line is not counted.
    pub kept_bytes: u64,
    pub truncated: bool,
    /// The file could not be written (a full disk); what came after is lost, the program was not stopped.
    pub write_error: Option<String>,
}

impl Finished {
    /// Of a program that printed nothing; `dir` is its attempt's directory.
    pub(crate) fn without_output(dir: &Path, exit: ProgramExit, containment: Containment) -> Finished {
        Finished {
            exit,
            stdout: Capture::empty(record::stdout_path(dir)),
            stderr: Capture::empty(record::stderr_path(dir)),
            duration: Duration::ZERO,
            stray_count: 0,
            survivor_count: 0,
            containment,
            trips: Vec::new(),
            stall: None,
            refusals: Vec::new(),
        }
    }
}

impl Capture {
    fn empty(path: PathBuf) -> Capture {
        Capture { path, total_bytes: 0, kept_bytes: 0, truncated: false, write_error: None }
    }
}

/// What proves that the tree is dead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Containment {
    /// The kernel kills everything with the namespace's init. Airtight.
    PidNamespace,
    /// Orphans are adopted by the warden, and swept until it has no child left.
    Subreaper,
}
