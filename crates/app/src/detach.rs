//! A drive in a process of its own, which outlives the terminal it was started in.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use windlass_core::id::LoopName;
use windlass_driver::{DetachedProgram, clock, start_detached};
use windlass_store::Holder;

use crate::error::Classify as _;
use crate::{AppError, ErrorKind, OpenProject};

/// How long the process may take until it drives the loop.
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK_AGAIN: Duration = Duration::from_millis(50);
/// Shown of the output of one that failed at once.
const SHOWN_BYTES: usize = 4 * 1024;

/// What is started: windlass itself, with these words.
pub struct DetachRequest<'a> {
    pub program: &'a Path,
    pub arguments: &'a [OsString],
}

/// How the process came along.
#[derive(Debug, PartialEq, Eq)]
pub enum Detached {
    /// It drives the loop.
    Driving { process: u32 },
    /// It has ended already, with this exit code and these words.
    Ended { code: u8, said: String },
}

impl OpenProject {
    /// Where the output of a detached drive goes.
    pub fn detached_log(&self, name: &LoopName) -> PathBuf {
        self.vault.cache_file(name, "detached.log")
    }

    /// Starts a drive of the loop, and returns when it has the loop or has failed.
    pub fn detach(&self, name: &LoopName, request: &DetachRequest<'_>) -> Result<Detached, AppError> {
        self.refuse_inside_attempt()?;
        let store = self.store()?;
        if let Holder::Somebody(owner) = store.holder(name).or_broken()? {
            let who = owner.map_or_else(String::new, |owner| format!(" (process {})", owner.pid));
            return Err(AppError::new(ErrorKind::NeedsOperator, format!("{name} is running already{who}"))
                .hint(format!("`windlass attach {name}` shows it")));
        }
        let log = self.detached_log(name);
        let (program, arguments) = (request.program, request.arguments);
        let of = DetachedProgram { program, arguments, cwd: &self.project.top, log: &log };
        let cannot = |error| AppError::broken(format!("cannot start {}: {error}", program.display()));
        let mut child = start_detached(&of).map_err(cannot)?;
        let deadline = clock::now() + PATIENCE;
        loop {
            if let Some(status) = child.try_wait().map_err(cannot)? {
                let code = status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
                return Ok(Detached::Ended { code, said: end_of(&log) });
            }
            if matches!(store.holder(name).or_broken()?, Holder::Somebody(_)) {
                return Ok(Detached::Driving { process: child.id() });
            }
            if clock::now() >= deadline {
                return Err(AppError::broken(format!("process {} did not begin with {name}", child.id()))
                    .hint(format!("its output is in {}", log.display())));
            }
            std::thread::sleep(LOOK_AGAIN);
        }
    }
}

fn end_of(log: &Path) -> String {
    let bytes = std::fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    text[text.ceil_char_boundary(text.len().saturating_sub(SHOWN_BYTES))..].to_owned()
}
