//! What a gate left is removed while the loop goes on: a build may leave thousands of files.

use std::os::fd::OwnedFd;
use std::sync::{Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use windlass_process::ThrowawayTree;

/// One removal at a time, waited for before the place is used again and before the drive ends.
#[derive(Default)]
pub struct BackgroundRemoval(Mutex<Option<JoinHandle<()>>>);

impl BackgroundRemoval {
    /// What cannot be removed is found, and told, by whoever needs the place next.
    pub fn remove(&self, tree: Option<ThrowawayTree>, to_close: Vec<OwnedFd>) {
        self.wait();
        let left = tree.clone();
        let started = thread::Builder::new().name("removal".to_owned()).spawn(move || {
            drop(to_close);
            discard(left);
        });
        match started {
            Ok(removal) => *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(removal),
            Err(_) => discard(tree),
        }
    }

    /// Returns when nothing is being removed.
    pub fn wait(&self) {
        let removal = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(removal) = removal {
            let ended = removal.join();
            debug_assert!(ended.is_ok(), "a removal does not panic");
        }
    }
}

fn discard(tree: Option<ThrowawayTree>) {
    tree.into_iter().for_each(|tree| drop(tree.discard()));
}

impl Drop for BackgroundRemoval {
    fn drop(&mut self) {
        self.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn nothing_is_left_once_it_was_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let upper = dir.path().join("layer");
        let tree = ThrowawayTree {
            over: Vec::new(),
            shown_at: None,
            lower: dir.path().join("clean"),
            at: dir.path().join("tree"),
            upper: upper.clone(),
            hide: Vec::new(),
            read_only: Vec::new(),
        };
        let removal = BackgroundRemoval::default();
        for wait in [true, true, false] {
            for n in 0..50 {
                let below = tree.changes().join(format!("d{n}"));
                fs::create_dir_all(&below).unwrap();
                fs::write(below.join("file"), "x").unwrap();
            }
            removal.remove(Some(tree.clone()), Vec::new());
            if wait {
                removal.wait();
                assert_eq!(fs::read_dir(&upper).unwrap().count(), 0);
            }
        }
        drop(removal);
        assert_eq!(fs::read_dir(&upper).unwrap().count(), 0);
    }
}
