//! A process that waits between two readings of a plan (`run --continuous`). It drives nothing then, so no lease
//! shows it: a locked file beside the loop does, which ends with the process however that ends.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use windlass_core::id::LoopName;
use windlass_core::time::Timestamp;

use crate::error::Classify as _;
use crate::{AppError, OpenProject};

/// How often a lock that somebody has is looked at again, and after how long.
const LOOKS: usize = 10;
const LOOK: Duration = Duration::from_millis(10);

/// Who waits, and until when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanWait {
    pub process: u32,
    pub until: Timestamp,
}

/// This process's own wait. Others see it until it is dropped.
pub struct OwnPlanWait {
    /// Locked.
    _file: File,
    end: PathBuf,
}

impl OwnPlanWait {
    /// Whether the operator ended it from elsewhere.
    pub fn is_ended(&self) -> bool {
        self.end.exists()
    }
}

impl Drop for OwnPlanWait {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.end);
    }
}

impl OpenProject {
    /// Lets others see that this process waits for the plan of a loop.
    pub fn wait_for_plan(&self, name: &LoopName, until: Timestamp) -> Result<OwnPlanWait, AppError> {
        let [shown, end] = self.plan_wait_files(name);
        begin(&shown, end, PlanWait { process: std::process::id(), until })
    }

    /// The process that waits for the plan of a loop, if one does.
    pub fn plan_wait(&self, name: &LoopName) -> Option<PlanWait> {
        let [shown, _] = self.plan_wait_files(name);
        seen(&shown)
    }

    /// Ends that wait. Whether there was one.
    pub fn end_plan_wait(&self, name: &LoopName) -> Result<bool, AppError> {
        let [shown, end] = self.plan_wait_files(name);
        let Some(wait) = seen(&shown) else { return Ok(false) };
        // Should the wait be over by now, the next one of this process ends.
        crate::init::write(&end, &wait.process.to_string())?;
        Ok(true)
    }

    fn plan_wait_files(&self, name: &LoopName) -> [PathBuf; 2] {
        ["plan-wait.json", "plan-wait.end"].map(|what| self.vault.cache_file(name, what))
    }
}

fn begin(shown: &Path, end: PathBuf, wait: PlanWait) -> Result<OwnPlanWait, AppError> {
    fs::create_dir_all(shown.parent().unwrap_or(Path::new("."))).or_broken()?;
    let mut file =
        OpenOptions::new().create(true).read(true).write(true).truncate(false).open(shown).or_broken()?;
    let mut looks = LOOKS;
    loop {
        match file.try_lock() {
            Ok(()) => break,
            // Whoever only looks whether there is a wait holds the lock for a moment.
            Err(TryLockError::WouldBlock) if looks > 0 => {
                looks -= 1;
                std::thread::sleep(LOOK);
            }
            Err(TryLockError::WouldBlock) => {
                return Err(AppError::refused("another process waits for the plan of this loop already"));
            }
            Err(TryLockError::Error(error)) => return Err(AppError::broken(error)),
        }
    }
    let is_for_this = fs::read_to_string(&end).is_ok_and(|process| process == wait.process.to_string());
    if !is_for_this {
        // Of a wait that a crash ended.
        let _ = fs::remove_file(&end);
    }
    let text = serde_json::to_string(&wait).expect("a wait is text");
    file.set_len(0).or_broken()?;
    file.rewind().or_broken()?;
    file.write_all(text.as_bytes()).or_broken()?;
    Ok(OwnPlanWait { _file: file, end })
}

fn seen(shown: &Path) -> Option<PlanWait> {
    let mut file = File::open(shown).ok()?;
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => {}
        Ok(()) | Err(TryLockError::Error(_)) => return None,
    }
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_seen_and_can_be_ended_while_its_process_lives() {
        let dir = tempfile::tempdir().unwrap();
        let [shown, end] = ["shown", "end"].map(|name| dir.path().join(name));
        assert_eq!(seen(&shown), None, "nobody has waited yet");
        let wait = PlanWait { process: 7, until: Timestamp(5) };
        let own = begin(&shown, end.clone(), wait).unwrap();
        assert_eq!(seen(&shown), Some(wait));
        assert!(begin(&shown, end.clone(), wait).is_err(), "one process waits for a plan");
        assert!(!own.is_ended());
        fs::write(&end, "").unwrap();
        assert!(own.is_ended());
        drop(own);
        assert_eq!((seen(&shown), end.exists()), (None, false));
        fs::write(&end, "8").unwrap();
        assert!(!begin(&shown, end.clone(), wait).unwrap().is_ended(), "it was for a process that crashed");
        fs::write(&end, "7").unwrap();
        let next = begin(&shown, end.clone(), wait).unwrap();
        assert!(next.is_ended(), "asked for between two waits of this process");
    }
}
