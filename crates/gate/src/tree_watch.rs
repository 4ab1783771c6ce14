//! Sees, from outside, every name below a directory that is made, written, moved or removed while a command runs.
//!
//! The directories that are there beforehand are watched before the command starts, so nothing in them is missed.
//! One that is made later is looked through as soon as it is heard of; what was made and removed in it before
//! that is not seen, and it is for the sink to say whether the directory itself matters.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::inotify::{self, ReadFlags, WatchFlags};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use windlass_core::finding::Touch;

/// Many events at a time: the kernel keeps 16,384 of them.
const BUFFER: usize = 256 << 10;

/// What hears of the names. Paths are relative to the directory that is watched.
pub trait TouchSink: Send + 'static {
    fn touched(&mut self, path: &Path, touch: Touch);

    /// What a directory is that was not watched from the beginning, or that is found afterwards.
    fn directory(&self, path: &Path) -> DirectoryKind;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirectoryKind {
    /// Of the tree itself: not a change.
    Known,
    /// Made, and what is in it may matter.
    New,
    /// Made, and whatever is in it does not matter.
    Output,
}

/// Where what a command writes can be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchPlace {
    /// The upper layer of an overlay: a file of the lower one that is changed in any way appears here.
    Layer,
    /// The tree itself.
    Tree,
}

impl WatchPlace {
    fn flags(self) -> WatchFlags {
        let names = WatchFlags::CREATE | WatchFlags::MOVED_FROM | WatchFlags::MOVED_TO | WatchFlags::DELETE;
        let contents = WatchFlags::MODIFY | WatchFlags::ATTRIB | WatchFlags::CLOSE_WRITE;
        let how = WatchFlags::ONLYDIR | WatchFlags::DONT_FOLLOW;
        match self {
            Self::Layer => names | how,
            Self::Tree => names | contents | how,
        }
    }
}

/// A watch that goes on until it is ended or dropped.
pub struct TreeWatch<S> {
    thread: Option<JoinHandle<Watcher<S>>>,
    /// Closed to end it.
    going: Option<OwnedFd>,
}

/// What a watch came to.
pub struct WatchEnd<S> {
    pub sink: S,
    /// Why something may have been missed; empty if nothing was.
    pub missed: String,
    /// What the kernel told of it by. To close it takes some milliseconds.
    pub events: OwnedFd,
}

impl<S: TouchSink> TreeWatch<S> {
    /// `dirs` are below `root`, which is watched as well; one that is not there is left out.
    pub fn begin(root: &Path, dirs: &[PathBuf], place: WatchPlace, sink: S) -> io::Result<Self> {
        let events = inotify::init(inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK)
            .map_err(instance_error)?;
        let mut watcher = Watcher {
            root: root.to_owned(),
            flags: place.flags(),
            events,
            dirs: BTreeMap::new(),
            sink,
            missed: String::new(),
        };
        watcher.add(Path::new(""))?;
        for dir in dirs {
            watcher.add(dir)?;
        }
        let (ended, going) = pipe_with(PipeFlags::CLOEXEC)?;
        let thread =
            std::thread::Builder::new().name("tree-watch".to_owned()).spawn(move || watcher.run(&ended))?;
        Ok(Self { thread: Some(thread), going: Some(going) })
    }

    /// Hears of everything up to this moment, and no further.
    pub fn end(mut self) -> io::Result<WatchEnd<S>> {
        let Watcher { sink, missed, events, .. } =
            self.stop().ok_or_else(|| io::Error::other("the watcher panicked"))?;
        Ok(WatchEnd { sink, missed, events })
    }
}

impl<S> TreeWatch<S> {
    fn stop(&mut self) -> Option<Watcher<S>> {
        drop(self.going.take());
        self.thread.take()?.join().ok()
    }
}

impl<S> Drop for TreeWatch<S> {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The kernel says the same of a full table of files and of watchers that others have taken.
fn instance_error(error: Errno) -> io::Error {
    match error {
        Errno::MFILE => io::Error::other(
            "no watcher is left of the inotify instances that fs.inotify.max_user_instances allows this user, or no \
             open file of `ulimit -n`; end what holds them (`ls -l /proc/*/fd | grep inotify`), or raise the limit \
             with sysctl",
        ),
        other => other.into(),
    }
}

struct Watcher<S> {
    root: PathBuf,
    flags: WatchFlags,
    events: OwnedFd,
    dirs: BTreeMap<i32, PathBuf>,
    sink: S,
    missed: String,
}

struct Heard {
    dir: i32,
    name: Vec<u8>,
    flags: ReadFlags,
}

impl<S: TouchSink> Watcher<S> {
    fn run(mut self, ended: &OwnedFd) -> Self {
        loop {
            let mut fds = [PollFd::new(&self.events, PollFlags::IN), PollFd::new(ended, PollFlags::IN)];
            match poll(&mut fds, None) {
                Ok(_) => {}
                Err(Errno::INTR) => continue,
                Err(error) => {
                    self.miss(&format!("cannot wait for events: {error}"));
                    return self;
                }
            }
            let over = !fds[1].revents().is_empty();
            self.drain();
            if over {
                return self;
            }
        }
    }

    /// An event is in the queue before the call that caused it returns.
    fn drain(&mut self) {
        let mut buffer = vec![MaybeUninit::uninit(); BUFFER];
        loop {
            let heard = self.read(&mut buffer);
            if heard.is_empty() {
                return;
            }
            heard.into_iter().for_each(|heard| self.hear(heard));
        }
    }

    fn read(&mut self, buffer: &mut [MaybeUninit<u8>]) -> Vec<Heard> {
        let mut heard = Vec::new();
        let mut failed = None;
        let mut reader = inotify::Reader::new(&self.events, buffer);
        loop {
            match reader.next() {
                Ok(event) => heard.push(Heard {
                    dir: event.wd(),
                    name: event.file_name().map_or_else(Vec::new, |name| name.to_bytes().to_owned()),
                    flags: event.events(),
                }),
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => break,
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
            if reader.is_buffer_empty() {
                break;
            }
        }
        if let Some(error) = failed {
            self.miss(&format!("cannot read events: {error}"));
        }
        heard
    }

    fn hear(&mut self, heard: Heard) {
        let Heard { dir, name, flags } = heard;
        if flags.contains(ReadFlags::QUEUE_OVERFLOW) {
            return self.miss("more was written at once than the kernel keeps events of");
        }
        if flags.contains(ReadFlags::IGNORED) {
            self.dirs.remove(&dir);
            return;
        }
        // Without a name it is about the directory itself, of which the one above it tells.
        let Some(above) = self.dirs.get(&dir).filter(|_| !name.is_empty()) else { return };
        let path = above.join(std::ffi::OsStr::from_bytes(&name));
        if flags.intersects(ReadFlags::CREATE | ReadFlags::MOVED_TO) {
            self.sink.touched(&path, Touch::Added);
            if flags.contains(ReadFlags::ISDIR) {
                self.enter(&path);
            }
        } else if flags.intersects(ReadFlags::DELETE | ReadFlags::MOVED_FROM) {
            self.sink.touched(&path, Touch::Deleted);
        } else {
            self.sink.touched(&path, Touch::Edited);
        }
    }

    /// A directory that was made, or moved here.
    fn enter(&mut self, path: &Path) {
        if self.sink.directory(path) == DirectoryKind::Output {
            return;
        }
        if let Err(error) = self.add(path) {
            return self.miss(&format!("cannot watch {}: {error}", path.display()));
        }
        for (path, is_dir) in entries(&self.root, path) {
            self.sink.touched(&path, Touch::Added);
            if is_dir {
                self.enter(&path);
            }
        }
    }

    fn add(&mut self, dir: &Path) -> io::Result<()> {
        match inotify::add_watch(&self.events, self.root.join(dir), self.flags) {
            Ok(descriptor) => {
                self.dirs.insert(descriptor, dir.to_owned());
                Ok(())
            }
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) if !dir.as_os_str().is_empty() => Ok(()),
            Err(Errno::NOSPC) => Err(io::Error::other(
                "no watch is left of what fs.inotify.max_user_watches allows this user; raise it with sysctl",
            )),
            Err(error) => Err(error.into()),
        }
    }

    fn miss(&mut self, why: &str) {
        if self.missed.is_empty() {
            self.missed = why.to_owned();
        }
    }
}

/// Tells what an upper layer holds: once a file of the lower one was touched, this cannot be undone.
pub fn look_through_layer(upper: &Path, sink: &mut impl TouchSink) {
    let mut pending = vec![PathBuf::new()];
    while let Some(dir) = pending.pop() {
        for (path, is_dir) in entries(upper, &dir) {
            let kind = is_dir.then(|| sink.directory(&path));
            if kind != Some(DirectoryKind::Known) {
                let touch = if is_whiteout(&upper.join(&path)) { Touch::Deleted } else { Touch::Added };
                sink.touched(&path, touch);
            }
            match kind {
                Some(DirectoryKind::Known | DirectoryKind::New) => pending.push(path),
                Some(DirectoryKind::Output) | None => {}
            }
        }
    }
}

/// What overlayfs puts in place of a name that is gone.
fn is_whiteout(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_char_device() && found.rdev() == 0)
}

/// What is in a directory, and which of it are directories; nothing if it is gone or a link.
fn entries(root: &Path, dir: &Path) -> Vec<(PathBuf, bool)> {
    let at = root.join(dir);
    if !fs::symlink_metadata(&at).is_ok_and(|found| found.is_dir()) {
        return Vec::new();
    }
    let found = fs::read_dir(&at).into_iter().flatten().flatten();
    found
        .map(|entry| (dir.join(entry.file_name()), entry.file_type().is_ok_and(|kind| kind.is_dir())))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, channel};

    use super::*;

    /// Remembers everything; waits for a word before the first.
    struct Everything {
        heard: Vec<String>,
        waits_for: Option<Receiver<()>>,
    }

    impl TouchSink for Everything {
        fn touched(&mut self, path: &Path, touch: Touch) {
            if let Some(word) = self.waits_for.take() {
                word.recv().unwrap();
            }
            self.heard.push(format!("{touch:?} {}", path.display()));
        }

        fn directory(&self, path: &Path) -> DirectoryKind {
            match path.to_str() {
                Some("known") => DirectoryKind::Known,
                Some("output") => DirectoryKind::Output,
                Some(_) | None => DirectoryKind::New,
            }
        }
    }

    fn everything() -> Everything {
        Everything { heard: Vec::new(), waits_for: None }
    }

    fn seen(known: &[&str], place: WatchPlace, work: impl FnOnce(&Path)) -> WatchEnd<Everything> {
        let root = tempfile::tempdir().unwrap();
        let dirs: Vec<PathBuf> = known.iter().map(PathBuf::from).collect();
        dirs.iter().for_each(|dir| fs::create_dir_all(root.path().join(dir)).unwrap());
        fs::write(root.path().join("file"), "old").unwrap();
        let watch = TreeWatch::begin(root.path(), &dirs, place, everything()).unwrap();
        work(root.path());
        watch.end().unwrap()
    }

    #[test]
    fn what_is_made_and_removed_at_once_is_heard_of() {
        let end = seen(&["known", "known/deep"], WatchPlace::Tree, |root| {
            for name in ["a", "known/b", "known/deep/c"] {
                fs::write(root.join(name), "").unwrap();
                fs::remove_file(root.join(name)).unwrap();
            }
            fs::rename(root.join("known/deep"), root.join("moved")).unwrap();
            fs::write(root.join("file"), "new").unwrap();
        });
        assert_eq!(end.missed, "");
        for heard in [
            "Added a",
            "Deleted known/b",
            "Added known/deep/c",
            "Deleted known/deep",
            "Added moved",
            "Edited file",
        ] {
            assert!(end.sink.heard.iter().any(|known| known == heard), "{heard}: {:?}", end.sink.heard);
        }
    }

    #[test]
    fn a_directory_that_is_made_is_looked_into_unless_it_is_output() {
        let end = seen(&[], WatchPlace::Layer, |root| {
            for name in ["made/deep/x", "output/y"] {
                fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
                fs::write(root.join(name), "").unwrap();
            }
        });
        let heard = |what: &str| end.sink.heard.iter().any(|known| known == what);
        assert!(heard("Added made/deep/x") && heard("Added output"), "{:?}", end.sink.heard);
        assert!(!heard("Added output/y"), "{:?}", end.sink.heard);
    }

    #[test]
    fn more_events_than_the_kernel_keeps_are_told_as_missed() {
        let kept = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap();
        let kept: usize = kept.trim().parse().unwrap();
        let root = tempfile::tempdir().unwrap();
        let (word, waits_for) = channel();
        let sink = Everything { waits_for: Some(waits_for), ..everything() };
        let watch = TreeWatch::begin(root.path(), &[], WatchPlace::Layer, sink).unwrap();
        let names = [root.path().join("a"), root.path().join("b")];
        fs::write(&names[0], "").unwrap();
        // Some are read, and the reader waits; each renaming makes two more.
        for turn in 0..kept {
            fs::rename(&names[turn % 2], &names[(turn + 1) % 2]).unwrap();
        }
        word.send(()).unwrap();
        let missed = watch.end().unwrap().missed;
        assert_eq!(missed, "more was written at once than the kernel keeps events of");
    }

    #[test]
    fn whoever_gets_no_watcher_is_told_which_limit_it_was() {
        let told = instance_error(Errno::MFILE).to_string();
        assert!(told.contains("fs.inotify.max_user_instances") && told.contains("ulimit -n"), "{told}");
        assert_eq!(instance_error(Errno::NOMEM).raw_os_error(), Some(Errno::NOMEM.raw_os_error()));
    }

    #[test]
    fn a_layer_tells_afterwards_what_was_touched() {
        let root = tempfile::tempdir().unwrap();
        for dir in ["known", "made", "output"] {
            fs::create_dir(root.path().join(dir)).unwrap();
            fs::write(root.path().join(dir).join("x"), "").unwrap();
        }
        let mut sink = everything();
        look_through_layer(root.path(), &mut sink);
        sink.heard.sort();
        assert_eq!(sink.heard, ["Added known/x", "Added made", "Added made/x", "Added output"]);
    }
}
