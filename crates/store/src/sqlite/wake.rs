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

use rusqlite::Connection;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::inotify;
use rustix::pipe::{PipeFlags, pipe_with};
use windlass_core::id::LoopName;

use super::open::{self, OpenError, OpenMode};
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

/// Where a watcher learns that something came.
enum Source {
    Told(OwnedFd),
    Asked(DatabaseVersion),
}

impl Watcher {
    /// What is stored after this returned is told.
    fn start(vault: &VaultDir, subscribers: Subscribers) -> Result<Self, StoreError> {
        let source = match watch(&vault.wakes()) {
            Ok(told) => Source::Told(told),
            Err(_) => Source::Asked(DatabaseVersion::open(vault)?),
        };
        Self::of(source, vault, subscribers)
    }

    fn of(source: Source, vault: &VaultDir, subscribers: Subscribers) -> Result<Self, StoreError> {
        let dir = vault.wakes();
        let failed =
            |error: std::io::Error| StoreError::Failed { path: dir.clone(), reason: error.to_string() };
        let (stopped, stop) = pipe_with(PipeFlags::CLOEXEC).map_err(|error| failed(error.into()))?;
        let work: Box<dyn FnOnce() + Send> = match source {
            Source::Told(told) => Box::new(move || hear(&told, &stopped, &subscribers)),
            Source::Asked(database) => {
                Box::new(move || ask_again_and_again(database, &stopped, &subscribers))
            }
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

/// A number of the database that another connection's commit changes.
struct DatabaseVersion {
    conn: Connection,
    last: i64,
}

impl DatabaseVersion {
    fn open(vault: &VaultDir) -> Result<Self, StoreError> {
        let failed = |reason: String| StoreError::Failed { path: vault.db(), reason };
        let conn = match open::reader(vault, OpenMode::Shared) {
            Ok(Some(conn)) => conn,
            Ok(None) => return Err(failed("the database is gone".to_owned())),
            Err(OpenError::Store(error)) => return Err(error),
            Err(refused) => return Err(failed(refused.to_string())),
        };
        let last = version(&conn).map_err(|error| failed(error.to_string()))?;
        Ok(Self { conn, last })
    }

    /// True also where it could not be asked: whoever is woken finds out.
    fn has_changed(&mut self) -> bool {
        match version(&self.conn) {
            Ok(now) => std::mem::replace(&mut self.last, now) != now,
            Err(_) => true,
        }
    }
}

fn version(conn: &Connection) -> rusqlite::Result<i64> {
    conn.query_row("PRAGMA data_version", [], |row| row.get(0))
}

fn ask_again_and_again(mut database: DatabaseVersion, stopped: &OwnedFd, subscribers: &Subscribers) {
    let pause = rustix::event::Timespec { tv_sec: 0, tv_nsec: i64::from(POLL.subsec_nanos()) };
    loop {
        let mut fds = [PollFd::new(stopped, PollFlags::IN)];
        if poll(&mut fds, Some(&pause)).is_ok_and(|ready| ready > 0) {
            return;
        }
        if database.has_changed() {
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
    fn without_inotify_the_first_change_is_told() {
        let temp = tempfile::tempdir().unwrap();
        let vault = vault(&temp);
        let writer = open::writer(&vault).unwrap();
        let subscribers = Subscribers::default();
        let (told, heard) = channel();
        let wake: Wake = std::sync::Arc::new(move || {
            let _ = told.send(());
        });
        let _subscription = subscribers.add(&LoopName::new("demo").unwrap(), Followed::Commands, wake);
        let source = Source::Asked(DatabaseVersion::open(&vault).unwrap());
        writer.execute("INSERT INTO blobs (hash, bytes) VALUES (x'00', x'00')", []).unwrap();
        let _watcher = Watcher::of(source, &vault, subscribers).unwrap();
        heard.recv_timeout(Duration::from_secs(60)).expect("a change after the opening is told");
    }

    #[test]
    fn who_can_neither_be_told_nor_ask_hears_of_it() {
        let temp = tempfile::tempdir().unwrap();
        let files = WakeFiles::new(&vault(&temp));
        let deaf =
            files.follow(&LoopName::new("demo").unwrap(), Followed::Records, std::sync::Arc::new(|| ()));
        assert!(deaf.is_err());
    }

    fn vault(temp: &tempfile::TempDir) -> VaultDir {
        StateDir::new(temp.path()).vault(OsStr::new("p"), Path::new("/p/.git"))
    }
}
