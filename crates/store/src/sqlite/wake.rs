//! Waking those who follow a loop, in this process and in others. After each
//! commit a file named for the loop is touched; whoever follows watches the
//! directory with one inotify instance a vault. Where the kernel gives none, one
//! thread a vault asks the database whether it changed.
#![allow(clippy::disallowed_methods, reason = "bounds its own wait")]

use std::fs::OpenOptions;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::inotify;
use rustix::pipe::{PipeFlags, pipe_with};
use windlass_core::id::LoopName;

use super::open::{self, OpenMode};
use crate::follow::{Followed, Subscribers, Subscription, Wake};
use crate::layout::VaultDir;
use crate::log::StoreError;

/// How often the database is asked where nothing tells.
const POLL: Duration = Duration::from_millis(150);

pub(crate) struct WakeFiles {
    vault: VaultDir,
    subscribers: Subscribers,
    watcher: Mutex<Option<Watcher>>,
}

impl WakeFiles {
    pub(crate) fn new(vault: &VaultDir) -> Self {
        Self { vault: vault.clone(), subscribers: Subscribers::default(), watcher: Mutex::new(None) }
    }

    /// Something was committed. That others cannot be told costs them time only:
    /// what came is on record.
    pub(crate) fn tell(&self, name: &LoopName, what: Followed) {
        self.subscribers.wake(name, what);
        let path = self.vault.wakes().join(file_name(name, what));
        let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path);
        let _ = file.and_then(|file| file.write_all_at(b".", 0));
    }

    pub(crate) fn follow(
        &self,
        name: &LoopName,
        what: Followed,
        wake: Wake,
    ) -> Result<Subscription, StoreError> {
        let subscription = self.subscribers.add(name, what, wake);
        let mut watcher = self.watcher.lock().unwrap_or_else(PoisonError::into_inner);
        if watcher.is_none() {
            *watcher = Some(Watcher::start(&self.vault, self.subscribers.clone())?);
        }
        Ok(subscription)
    }
}

fn file_name(name: &LoopName, what: Followed) -> String {
    let kind = match what {
        Followed::Records => "records",
        Followed::Commands => "commands",
    };
    format!("{name}.{kind}")
}

fn parse_file_name(file: &str) -> Option<(LoopName, Followed)> {
    let (name, _) = file.rsplit_once('.')?;
    let name = LoopName::new(name).ok()?;
    Followed::ALL.into_iter().find(|what| file_name(&name, *what) == file).map(|what| (name, what))
}

/// One thread a vault and process, which ends with its store.
struct Watcher {
    /// The thread ends when this closes.
    stop: Option<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl Watcher {
    fn start(vault: &VaultDir, subscribers: Subscribers) -> Result<Self, StoreError> {
        let dir = vault.wakes();
        let failed =
            |error: std::io::Error| StoreError::Failed { path: dir.clone(), reason: error.to_string() };
        let (stopped, stop) = pipe_with(PipeFlags::CLOEXEC).map_err(|error| failed(error.into()))?;
        let told = watch(&dir).ok();
        let vault = vault.clone();
        let work = move || match told {
            Some(told) => hear(&told, &stopped, &subscribers),
            None => ask_again_and_again(&vault, &stopped, &subscribers),
        };
        let thread =
            std::thread::Builder::new().name("store-watcher".to_owned()).spawn(work).map_err(failed)?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn watch(dir: &PathBuf) -> rustix::io::Result<OwnedFd> {
    let told = inotify::init(inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK)?;
    inotify::add_watch(&told, dir, inotify::WatchFlags::MODIFY | inotify::WatchFlags::CREATE)?;
    Ok(told)
}

fn hear(told: &OwnedFd, stopped: &OwnedFd, subscribers: &Subscribers) {
    let mut buffer = [MaybeUninit::uninit(); 4096];
    loop {
        let mut fds = [PollFd::new(told, PollFlags::IN), PollFd::new(stopped, PollFlags::IN)];
        if poll(&mut fds, None).is_err() {
            continue;
        }
        if !fds[1].revents().is_empty() {
            return;
        }
        let mut reader = inotify::Reader::new(told, &mut buffer);
        while let Ok(event) = reader.next() {
            let file = event.file_name().and_then(|name| name.to_str().ok());
            match file.and_then(parse_file_name) {
                Some((name, what)) => subscribers.wake(&name, what),
                // Events were lost, or it is no file of ours.
                None => subscribers.wake_all(),
            }
        }
    }
}

fn ask_again_and_again(vault: &VaultDir, stopped: &OwnedFd, subscribers: &Subscribers) {
    let Ok(Some(conn)) = open::reader(vault, OpenMode::Shared) else { return };
    let version = || conn.query_row("PRAGMA data_version", [], |row| row.get::<_, i64>(0)).unwrap_or(0);
    let mut last = version();
    let pause = rustix::event::Timespec { tv_sec: 0, tv_nsec: i64::from(POLL.subsec_nanos()) };
    loop {
        let mut fds = [PollFd::new(stopped, PollFlags::IN)];
        if poll(&mut fds, Some(&pause)).is_ok_and(|ready| ready > 0) {
            return;
        }
        let now = version();
        if now != last {
            last = now;
            subscribers.wake_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::path::Path;
    use std::sync::mpsc::channel;

    use super::*;
    use crate::layout::StateDir;

    #[test]
    fn a_file_name_says_which_loop_and_what() {
        for name in ["a", "a.b", "x.records"] {
            let name = LoopName::new(name).unwrap();
            for what in Followed::ALL {
                assert_eq!(parse_file_name(&file_name(&name, what)), Some((name.clone(), what)));
            }
        }
        assert_eq!(parse_file_name("a.other"), None);
        assert_eq!(parse_file_name(".records"), None);
    }

    #[test]
    fn without_inotify_the_database_is_asked() {
        let temp = tempfile::tempdir().unwrap();
        let vault = StateDir::new(temp.path()).vault(OsStr::new("p"), Path::new("/p/.git"));
        let writer = open::writer(&vault).unwrap();
        let subscribers = Subscribers::default();
        let (told, heard) = channel();
        let wake: Wake = std::sync::Arc::new(move || {
            let _ = told.send(());
        });
        let _subscription = subscribers.add(&LoopName::new("demo").unwrap(), Followed::Commands, wake);
        let (stopped, stop) = pipe_with(PipeFlags::CLOEXEC).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| ask_again_and_again(&vault, &stopped, &subscribers));
            let change = || {
                let insert = "INSERT OR REPLACE INTO blobs (hash, bytes) VALUES (x'00', x'00')";
                writer.execute(insert, []).unwrap();
            };
            // The first look may come after the first change.
            while heard.recv_timeout(Duration::from_millis(300)).is_err() {
                change();
            }
            drop(stop);
        });
    }
}
