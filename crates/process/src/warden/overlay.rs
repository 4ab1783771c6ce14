//! Mounts a throwaway tree, inside the init's own mount namespace.

use std::ffi::CString;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2};
use rustix::mount::{MountFlags, MoveMountFlags, OpenTreeFlags, mount, mount_bind, move_mount, open_tree};

use crate::program::{LayeredDir, ThrowawayTree, remove_tree};
use crate::sys::{MountAttributes, MountExtent, set_mount_attributes};
use crate::warden::namespace::Entered;

/// The tree, with everything hidden that it says, in a copy of the host's mounts.
pub fn mount_tree(tree: &ThrowawayTree, entered: Entered) -> Result<(), String> {
    mount_layers(tree, entered)?;
    tree.hide
        .iter()
        .try_for_each(|path| hide(path).map_err(|error| format!("cannot hide {}: {error}", path.display())))
}

pub fn mount_layers(tree: &ThrowawayTree, entered: Entered) -> Result<(), String> {
    let at = tree.at.display();
    if let Some(hidden) = tree.hide.iter().find(|hidden| tree.at.starts_with(hidden)) {
        return Err(format!("cannot hide {}: the tree is to appear inside it, at {at}", hidden.display()));
    }
    let kept = std::fs::remove_file(tree.kept()).is_ok();
    let made = [tree.changes(), tree.work()].into_iter().skip(usize::from(kept));
    for made in made {
        std::fs::create_dir(&made).map_err(|error| {
            format!(
                "cannot make {} (it must not exist: no change outlives its tree): {error}",
                made.display()
            )
        })?;
    }
    let stack = Stack {
        lower: tree.over.iter().chain([&tree.lower]).map(PathBuf::as_path).collect(),
        changes: &tree.changes(),
        work: &tree.work(),
        at: &tree.at,
    };
    stack.mount(entered)?;
    if tree.read_only.is_empty() {
        return Ok(());
    }
    let mounted = open_dir(&tree.at)?;
    tree.read_only.iter().try_for_each(|dir| {
        close(&mounted, dir).map_err(|error| format!("cannot make {} read-only: {error}", dir.display()))
    })
}

/// A directory of the host, in its own place, with what programs wrote to it before.
pub fn mount_layered_dir(dir: &LayeredDir, entered: Entered) -> Result<(), String> {
    let (changes, work) = (dir.changes(), dir.work());
    let made = remove_tree(&work)
        .and_then(|()| std::fs::create_dir_all(&changes))
        .and_then(|()| std::fs::create_dir(&work));
    made.map_err(|error| format!("cannot make {}: {error}", dir.upper.display()))?;
    let lower = dir.over.iter().chain([&dir.at]).map(PathBuf::as_path).collect();
    Stack { lower, changes: &changes, work: &work, at: &dir.at }.mount(entered)
}

/// Layers to be shown as one directory.
struct Stack<'a> {
    /// The topmost first.
    lower: Vec<&'a Path>,
    changes: &'a Path,
    work: &'a Path,
    at: &'a Path,
}

impl Stack<'_> {
    fn mount(&self, entered: Entered) -> Result<(), String> {
        let lower = self.lower.iter().map(|dir| open_dir(dir)).collect::<Result<Vec<_>, _>>()?;
        let changes = open_dir(self.changes)?;
        let work = open_dir(self.work)?;
        // The layers are named by descriptor: no path then needs escaping of commas, colons and backslashes,
        // which overlayfs has read differently from version to version, nor hits its limit on length.
        let layer = |dir: &OwnedFd| format!("/proc/self/fd/{}", dir.as_raw_fd());
        let lower: Vec<String> = lower.iter().map(layer).collect();
        let mut options =
            format!("lowerdir={},upperdir={},workdir={}", lower.join(":"), layer(&changes), layer(&work));
        // Neither lets a directory of the lower layer be renamed, and so none around one that is read-only.
        options.push_str(if entered.user_namespace { ",userxattr" } else { ",redirect_dir=off" });
        // `volatile` (5.10) spares the flush of changes that nobody will ever read again.
        mount_overlay(self.at, &format!("{options},volatile"))
            .or_else(|_| mount_overlay(self.at, &options))
            .map_err(|error| {
                format!("cannot mount {} at {}: {error}", self.changes.display(), self.at.display())
            })
    }
}

/// Mounts a directory of the tree over itself. What is mounted cannot be moved or removed.
fn close(tree: &OwnedFd, dir: &Path) -> std::io::Result<()> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let inside = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    let dir = openat2(tree, dir, flags, Mode::empty(), inside)?;
    let copied =
        OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_EMPTY_PATH;
    let closed = open_tree(&dir, c"", copied)?;
    set_mount_attributes(closed.as_fd(), MountExtent::ThisMount, MountAttributes::RDONLY)?;
    let onto = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    Ok(move_mount(&closed, c"", &dir, c"", onto)?)
}

fn mount_overlay(at: &Path, options: &str) -> std::io::Result<()> {
    let options = CString::new(options)?;
    Ok(mount("overlay", at, "overlay", MountFlags::empty(), options.as_c_str())?)
}

fn hide(path: &Path) -> std::io::Result<()> {
    if !std::fs::metadata(path)?.is_dir() {
        return Ok(mount_bind("/dev/null", path)?);
    }
    let flags = MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    Ok(mount("none", path, "tmpfs", flags, c"size=4k,mode=0555")?)
}

fn open_dir(path: &Path) -> Result<OwnedFd, String> {
    openat(CWD, path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        .map_err(|error| format!("cannot open {}: {error}", path.display()))
}
