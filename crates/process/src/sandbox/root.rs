//! A root directory of a program's own, made of nothing but what it may reach.
//!
//! Built by the init of a PID namespace, in its own mount namespace: every mount is private to it and gone
//! with it. What is bound is first cloned and given its flags, and only then attached, so nothing is writable
//! even for a moment; and it is attached by descriptor, never through a link that somebody planted.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, mkdirat, openat, symlinkat, unlinkat};
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, mount, move_mount, open_tree, unmount,
};
use rustix::process::{chdir, pivot_root};

use crate::sandbox::Inspection;
use crate::sandbox::reach::{ReachEntry, ReachRule, ResolvedReach};
use crate::sys::{MountAttributes, MountExtent, set_mount_attributes};

const READ_ONLY: MountAttributes =
    MountAttributes::RDONLY.union(MountAttributes::NOSUID).union(MountAttributes::NODEV);
const WRITABLE: MountAttributes = MountAttributes::NOSUID.union(MountAttributes::NODEV);
/// A device must not be stopped from being one.
const DEVICE: MountAttributes = MountAttributes::NOSUID.union(MountAttributes::NOEXEC);

/// Without a scratch of the caller's, in memory: enough for small files, too little to hurt.
const SMALL_TMP: &CStr = c"mode=1777,size=256m";
const SHARED_MEMORY: &CStr = c"mode=1777,size=256m";

/// Where a program finds its scratch.
const SCRATCHES: [&str; 2] = ["/tmp", "/var/tmp"];

/// Shown in place of hidden files, and itself gone when the root is ready.
const EMPTY_FILE: &str = ".empty";
const EMPTY_FILE_DIR: &str = "/dev";

/// Parts of /proc that belong to the machine. Most check for capabilities, some only for being root.
const PROC_OF_THE_MACHINE: [&str; 10] =
    ["sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi", "mtrr", "driver", "dynamic_debug"];

pub struct Root<'a> {
    pub resolved: &'a ResolvedReach,
    /// A directory that exists, over which the root is assembled; nothing in it is changed.
    pub base: &'a Path,
    /// The builder is the init of a PID namespace.
    pub own_processes: bool,
    pub inspection: Inspection,
}

/// One thing to put somewhere.
struct Part {
    at: PathBuf,
    what: What,
}

enum What {
    /// A clone of what is there on the host, or elsewhere.
    Tree {
        from: OwnedFd,
        is_dir: bool,
    },
    EmptyDir,
    EmptyFile,
    Dev,
    Proc,
    SmallTmp,
}

impl Root<'_> {
    /// In a mount namespace whose every mount is private.
    pub fn build_and_enter(&self) -> Result<(), String> {
        // All that is taken from the host is in hand before the base covers a part of it.
        let parts = self.parts()?;
        let devices = Devices::open()?;
        self.lay_ground()?;
        let mut root = Site::at(self.base).map_err(|error| of(self.base, "enter", error))?;
        let mut to_close: Vec<PathBuf> = self.ground().is_none().then(|| "/".into()).into_iter().collect();
        for part in parts {
            let wrong = |error: io::Error| of(&part.at, "show", error);
            match part.what {
                What::Tree { from, is_dir } => {
                    root.attach(&from, &part.at, is_dir).map_err(wrong)?;
                }
                What::EmptyDir => {
                    root.mount_memory(&part.at, c"mode=755,size=64k").map_err(wrong)?;
                    to_close.push(part.at.clone());
                }
                What::EmptyFile => {
                    let from = root
                        .open(Path::new(EMPTY_FILE_DIR))
                        .and_then(|dir| clone_at(dir, EMPTY_FILE, READ_ONLY));
                    root.attach(&from.map_err(wrong)?, &part.at, false).map_err(wrong)?;
                }
                What::SmallTmp => root.mount_memory(&part.at, SMALL_TMP).map_err(wrong)?,
                What::Dev => {
                    devices.lay_out(&mut root).map_err(wrong)?;
                    to_close.push(part.at.clone());
                }
                What::Proc => mount_proc(&mut root).map_err(|error| proc_refused(&error))?,
            }
        }
        if self.inspection == Inspection::Refused {
            to_close.push("/proc".into());
        }
        self.make_links(&mut root)?;
        // What was cloned of it stays.
        if let Ok(dir) = root.open(Path::new(EMPTY_FILE_DIR)) {
            unlinkat(dir, EMPTY_FILE, AtFlags::empty()).ok();
        }
        for path in &to_close {
            let closed =
                root.open(path).and_then(|dir| set_mount_attributes(dir, MountExtent::ThisMount, READ_ONLY));
            closed.map_err(|error| of(path, "close", error))?;
        }
        self.enter()
    }

    /// In the order in which they are put in place: what holds another comes before it.
    fn parts(&self) -> Result<Vec<Part>, String> {
        let proc = match self.own_processes {
            true => What::Proc,
            false => bound(Path::new("/proc"), WRITABLE, true)?,
        };
        let mut parts = vec![Part { at: "/proc".into(), what: proc }];
        if self.resolved.is_whole_host() {
            return Ok(parts);
        }
        parts.push(Part { at: "/dev".into(), what: What::Dev });
        for name in SCRATCHES {
            let named = self.resolved.places.iter().any(|place| place.path == Path::new(name));
            match &self.resolved.scratch {
                Some(scratch) => parts.push(Part { at: name.into(), what: bound(scratch, WRITABLE, true)? }),
                None if named => {}
                None => parts.push(Part { at: name.into(), what: What::SmallTmp }),
            }
        }
        let processors = Path::new("/sys/devices/system/cpu");
        if processors.is_dir() && self.resolved.around(processors).is_none() {
            parts.push(Part { at: processors.into(), what: bound(processors, READ_ONLY, true)? });
        }
        let taken: Vec<PathBuf> = parts.iter().map(|part| part.at.clone()).collect();
        for place in &self.resolved.places {
            if place.path == Path::new("/") || taken.contains(&place.path) {
                continue;
            }
            let what = match place.rule {
                ReachRule::Read => bound(&place.path, READ_ONLY, place.is_dir)?,
                ReachRule::Write | ReachRule::Tree => bound(&place.path, WRITABLE, place.is_dir)?,
                ReachRule::Hide if place.is_dir => What::EmptyDir,
                ReachRule::Hide => What::EmptyFile,
            };
            let at = match place.rule {
                ReachRule::Tree => self.resolved.seen_as(&place.path),
                ReachRule::Read | ReachRule::Write | ReachRule::Hide => place.path.clone(),
            };
            parts.push(Part { at, what });
        }
        parts.extend(self.ground_over_scratch().into_iter().map(|at| Part { at, what: What::EmptyDir }));
        parts.sort_by_key(|part| part.at.components().count());
        Ok(parts)
    }

    /// Directories of the scratch below which other places are shown. In memory, so that the way to those places
    /// is not made in the scratch anew for every program, and cleared away after it.
    fn ground_over_scratch(&self) -> BTreeSet<PathBuf> {
        let is_place = |path: &PathBuf| self.resolved.places.iter().any(|place| place.path == *path);
        let first_below = |place: &ReachEntry| {
            let tmp = SCRATCHES.iter().find(|tmp| place.path.starts_with(tmp))?;
            Some(Path::new(tmp).join(place.path.strip_prefix(tmp).ok()?.components().next()?))
        };
        let found =
            self.resolved.places.iter().filter(|_| self.resolved.scratch.is_some()).filter_map(first_below);
        found.filter(|path| !is_place(path)).collect()
    }

    /// The host's own root, if the program may reach all of it.
    fn ground(&self) -> Option<&ReachEntry> {
        self.resolved.places.first().filter(|place| place.path == Path::new("/"))
    }

    /// The root itself: memory, unless the whole host may be reached.
    fn lay_ground(&self) -> Result<(), String> {
        let laid = match self.ground() {
            None => mount(
                "windlass",
                self.base,
                "tmpfs",
                MountFlags::NOSUID | MountFlags::NODEV,
                c"mode=755,size=1m",
            )
            .map_err(io::Error::from),
            Some(place) => {
                // The host's devices stay what they are where nothing takes their place.
                let attributes =
                    if place.rule == ReachRule::Read { READ_ONLY } else { MountAttributes::NOSUID };
                clone(Path::new("/"), attributes)
                    .and_then(|from| attach(&from, open_dir(CWD, self.base)?.as_fd()))
            }
        };
        laid.map_err(|error| format!("cannot mount a root directory at {}: {error}", self.base.display()))
    }

    /// Those by which the reach was named.
    fn make_links(&self, root: &mut Site) -> Result<(), String> {
        for (at, to) in &self.resolved.links {
            let (Some(parent), Some(name)) = (at.parent(), at.file_name()) else { continue };
            // In a place that was bound they are already.
            let inside_a_place = self.resolved.around(at).is_some_and(|place| place.rule != ReachRule::Hide);
            if inside_a_place || ["/dev", "/proc"].iter().any(|own| at.starts_with(own)) {
                continue;
            }
            let made = root.open(parent).and_then(|dir| match symlinkat(to, dir, name) {
                Ok(()) | Err(Errno::EXIST) => Ok(()),
                Err(error) => Err(error.into()),
            });
            made.map_err(|error| of(at, "link", error))?;
        }
        Ok(())
    }

    /// The host's tree is left, and nothing of it stays behind.
    fn enter(&self) -> Result<(), String> {
        let enter = || -> rustix::io::Result<()> {
            chdir(self.base)?;
            // Both at one place: the old root lies on top of the new one, and is taken off.
            pivot_root(".", ".")?;
            unmount(".", UnmountFlags::DETACH)?;
            chdir("/")
        };
        enter().map_err(|error| format!("cannot enter a root directory of its own: {error}"))
    }
}

/// The root under construction. Each directory in it is opened once: there are many places, and most are on the way
/// to others.
struct Site {
    opened: BTreeMap<PathBuf, OwnedFd>,
}

impl Site {
    fn at(base: &Path) -> io::Result<Site> {
        Ok(Site { opened: BTreeMap::from([(PathBuf::from("/"), open_dir(CWD, base)?)]) })
    }

    /// Made where it is missing. One name at a time, so that no link leads elsewhere.
    fn open(&mut self, path: &Path) -> io::Result<BorrowedFd<'_>> {
        let known = path.ancestors().find(|above| self.opened.contains_key(*above));
        let known = known.ok_or_else(|| io::Error::from(Errno::INVAL))?.to_owned();
        let rest = path.strip_prefix(&known).unwrap_or(Path::new(""));
        let mut at = known;
        for part in rest.components() {
            let Component::Normal(name) = part else { continue };
            let above = self.descriptor(&at)?;
            let below = match open_dir(above, Path::new(name)) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    made(mkdirat(above, name, Mode::from_raw_mode(0o755)))?;
                    open_dir(above, Path::new(name))?
                }
                found => found?,
            };
            at.push(name);
            self.opened.insert(at.clone(), below);
        }
        self.descriptor(&at)
    }

    fn descriptor(&self, path: &Path) -> io::Result<BorrowedFd<'_>> {
        Ok(self.opened.get(path).ok_or(Errno::BADF)?.as_fd())
    }

    fn attach(&mut self, tree: &OwnedFd, at: &Path, is_dir: bool) -> io::Result<()> {
        match is_dir {
            true => attach(tree, self.open(at)?)?,
            false => attach(tree, self.file(at)?.as_fd())?,
        }
        self.cover(at);
        Ok(())
    }

    fn mount_memory(&mut self, at: &Path, options: &CStr) -> io::Result<()> {
        self.mount(at, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, Some(options))
    }

    /// By descriptor, through the host's /proc, which is still in its place.
    fn mount(&mut self, at: &Path, kind: &str, flags: MountFlags, options: Option<&CStr>) -> io::Result<()> {
        let target = format!("/proc/self/fd/{}", self.open(at)?.as_raw_fd());
        mount("windlass", target, kind, flags, options)?;
        self.cover(at);
        Ok(())
    }

    /// Made where it is missing; an existing link in its place is refused.
    fn file(&mut self, at: &Path) -> io::Result<OwnedFd> {
        let (Some(parent), Some(name)) = (at.parent(), at.file_name()) else {
            return Err(Errno::INVAL.into());
        };
        let parent = self.open(parent)?;
        match openat(parent, name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty()) {
            Err(Errno::NOENT) => {
                let flags =
                    OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::WRONLY;
                made(openat(parent, name, flags, Mode::from_raw_mode(0o444)).map(drop))?;
                Ok(openat(parent, name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?)
            }
            found => Ok(found?),
        }
    }

    /// What was opened there, and below, now lies underneath.
    fn cover(&mut self, at: &Path) {
        self.opened.retain(|path, _| !path.starts_with(at));
    }
}

/// Needs a /proc that nothing covers, so the host's is still there when this is done.
fn mount_proc(root: &mut Site) -> io::Result<()> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    root.mount(Path::new("/proc"), "proc", flags, None)?;
    let proc = root.open(Path::new("/proc"))?;
    for name in PROC_OF_THE_MACHINE {
        match openat(proc, name, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()) {
            Ok(part) => attach(&clone_at(part.as_fd(), c"", READ_ONLY)?, part.as_fd())?,
            Err(Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

struct Devices {
    nodes: Vec<(&'static str, OwnedFd)>,
}

impl Devices {
    fn open() -> Result<Devices, String> {
        let open = |name: &'static str| {
            let path = Path::new("/dev").join(name);
            clone(&path, DEVICE).map(|node| (name, node)).map_err(|error| of(&path, "bind", error))
        };
        let nodes =
            ["null", "zero", "full", "random", "urandom"].into_iter().map(open).collect::<Result<_, _>>()?;
        Ok(Devices { nodes })
    }

    /// No terminal: the program has none, and the operator's is not its business.
    fn lay_out(&self, root: &mut Site) -> io::Result<()> {
        root.mount_memory(Path::new("/dev"), c"mode=755,size=64k")?;
        for (name, node) in &self.nodes {
            root.attach(node, &Path::new("/dev").join(name), false)?;
        }
        let dev = root.open(Path::new("/dev"))?;
        for (name, to) in [
            ("fd", "/proc/self/fd"),
            ("stdin", "/proc/self/fd/0"),
            ("stdout", "/proc/self/fd/1"),
            ("stderr", "/proc/self/fd/2"),
            ("ptmx", "pts/ptmx"),
        ] {
            symlinkat(to, dev, name)?;
        }
        drop(root.file(&Path::new(EMPTY_FILE_DIR).join(EMPTY_FILE))?);
        root.mount_memory(Path::new("/dev/shm"), SHARED_MEMORY)?;
        let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
        let options = c"newinstance,ptmxmode=0666,mode=0620";
        root.mount(Path::new("/dev/pts"), "devpts", flags, Some(options))
    }
}

fn bound(from: &Path, attributes: MountAttributes, is_dir: bool) -> Result<What, String> {
    clone(from, attributes).map(|from| What::Tree { from, is_dir }).map_err(|error| of(from, "bind", error))
}

fn clone(path: &Path, attributes: MountAttributes) -> io::Result<OwnedFd> {
    clone_at(CWD, path, attributes)
}

/// What is mounted below comes along: a namespace may not tear apart what it inherited.
fn clone_at(
    at: BorrowedFd<'_>,
    path: impl rustix::path::Arg,
    attributes: MountAttributes,
) -> io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE
        | OpenTreeFlags::AT_EMPTY_PATH;
    let tree = open_tree(at, path, flags)?;
    set_mount_attributes(tree.as_fd(), MountExtent::AndAllBelow, attributes)?;
    Ok(tree)
}

fn attach(tree: &OwnedFd, target: BorrowedFd<'_>) -> io::Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    Ok(move_mount(tree, c"", target, c"", flags)?)
}

/// Programs that share a directory for temporary files may be about to start at one moment; whatever came in
/// between is opened like one that was there before.
fn made(result: rustix::io::Result<()>) -> io::Result<()> {
    match result {
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn open_dir(at: BorrowedFd<'_>, path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(at, path, flags, Mode::empty())?)
}

fn of(path: &Path, what: &str, error: impl std::fmt::Display) -> String {
    format!("cannot {what} {} in a root directory of its own: {error}", path.display())
}

fn proc_refused(error: &io::Error) -> String {
    format!(
        "cannot mount a /proc for the program's own namespace: {error} (a container that masks parts of /proc forbids it)"
    )
}
