//! Which paths a program may reach, and what that means once links and nesting are resolved.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::program::{os_path, os_path_option, os_paths};
use crate::sandbox::closed::{OF_THIS_MACHINE, closed_to_others};

/// Everything that is not named here does not exist for the program. Paths are absolute; they may be
/// symbolic links, and may lie inside one another: the longest path that holds a file decides about it, and
/// at one and the same path `hide` outweighs `write`, and `write` outweighs `read`.
///
/// Ignored at [`SandboxLevel::None`](windlass_core::policy::SandboxLevel::None).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reach {
    /// Readable and executable, with everything below. One that is missing is skipped.
    #[serde(with = "os_paths")]
    pub read: Vec<PathBuf>,
    /// The program may change these and everything below. They must exist.
    #[serde(with = "os_paths")]
    pub write: Vec<PathBuf>,
    /// Even below a readable path: an empty directory or an empty file at
    /// [`SandboxLevel::Namespaces`](windlass_core::policy::SandboxLevel::Namespaces), refused at [`SandboxLevel::Landlock`](windlass_core::policy::SandboxLevel::Landlock).
    /// One that is missing is skipped.
    #[serde(with = "os_paths")]
    pub hide: Vec<PathBuf>,
    /// Writable too, and at [`SandboxLevel::Namespaces`](windlass_core::policy::SandboxLevel::Namespaces) also what the program finds as
    /// `/tmp` and `/var/tmp`; without one it finds a small one in memory there.
    #[serde(with = "os_path_option")]
    pub scratch: Option<PathBuf>,
    /// Another name of one of these, at [`SandboxLevel::Namespaces`](windlass_core::policy::SandboxLevel::Namespaces)
    /// only, where nothing of the host is.
    #[serde(default)]
    pub alias: Option<Alias>,
}

/// A link that only the program finds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Alias {
    #[serde(with = "os_path")]
    pub name: PathBuf,
    #[serde(with = "os_path")]
    pub of: PathBuf,
}

/// Where systems keep their programs, libraries and settings. `/etc/resolv.conf` and the like are named
/// because they are links into places that are not readable as a whole.
const SYSTEM: [&str; 16] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc",
    "/opt",
    "/nix",
    "/gnu",
    "/run/current-system",
    "/etc/resolv.conf",
    "/etc/localtime",
    "/var/lib/ca-certificates",
    "/var/cache/fontconfig",
];

/// Nobody's business, but in `/etc`.
const SECRETS: [&str; 16] = [
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/security/opasswd",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/doas.conf",
    "/etc/krb5.keytab",
    "/etc/ssl/private",
    "/etc/pki/tls/private",
    "/etc/letsencrypt",
    "/etc/wireguard",
    "/etc/NetworkManager/system-connections",
    "/etc/wpa_supplicant",
    "/etc/docker",
];

impl Reach {
    /// What programs need of this machine, without its secrets.
    pub fn system() -> Reach {
        let there = |paths: &[&str]| -> Vec<PathBuf> {
            paths.iter().map(PathBuf::from).filter(|path| path.symlink_metadata().is_ok()).collect()
        };
        let keys = std::fs::read_dir("/etc/ssh").into_iter().flatten().flatten();
        let keys = keys.map(|entry| entry.path()).filter(|path| is_host_key(path));
        let mut hide: Vec<PathBuf> = SECRETS.iter().map(PathBuf::from).chain(keys).collect();
        // What this user may not read needs no hiding, and hiding costs time at every start.
        hide.retain(|path| is_readable(path));
        if rustix::process::geteuid().is_root() {
            hide.extend(closed_to_others(&OF_THIS_MACHINE.map(PathBuf::from)));
        }
        hide.sort();
        hide.dedup();
        Reach { read: there(&SYSTEM), hide, ..Reach::default() }
    }
}

/// Of a directory, by what is in it too: names can be guessed.
fn is_readable(path: &Path) -> bool {
    use rustix::fs::{Access, AtFlags, CWD, accessat};
    let may = |access| accessat(CWD, path, access, AtFlags::EACCESS).is_ok();
    may(Access::READ_OK) || (path.is_dir() && may(Access::EXEC_OK))
}

fn is_host_key(path: &Path) -> bool {
    path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.ends_with("_key"))
}

/// What happens at one path of a program's world. In this order, the later one wins at the same path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReachRule {
    Read,
    Write,
    Hide,
    /// The throwaway tree.
    Tree,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReachEntry {
    /// Free of links.
    pub path: PathBuf,
    pub rule: ReachRule,
    pub is_dir: bool,
}

/// A reach without links and without anything that changes nothing, in the order in which it is laid out: a
/// path comes after all that hold it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResolvedReach {
    pub places: Vec<ReachEntry>,
    /// The links by which the paths were named, and where each points.
    pub links: BTreeMap<PathBuf, PathBuf>,
    pub scratch: Option<PathBuf>,
    /// The throwaway tree, and where the program finds it instead.
    pub moved_tree: Option<(PathBuf, PathBuf)>,
}

impl ResolvedReach {
    /// Shows the throwaway tree elsewhere, where nothing of the host is.
    pub fn show_tree_at(&mut self, shown_at: &Path) {
        let tree =
            self.places.iter().find(|place| place.rule == ReachRule::Tree).map(|place| place.path.clone());
        if let Some(tree) = tree.filter(|_| self.is_free(shown_at)) {
            self.moved_tree = Some((tree, shown_at.to_owned()));
        }
    }

    /// Nothing of the host is here, around it or below.
    fn is_free(&self, path: &Path) -> bool {
        self.around(path).is_none() && self.below(path).next().is_none()
    }

    /// By which path the program finds what is here.
    pub fn seen_as(&self, path: &Path) -> PathBuf {
        match &self.moved_tree {
            Some((from, to)) if path == from => to.clone(),
            Some((from, to)) => {
                path.strip_prefix(from).map_or_else(|_| path.to_owned(), |rest| to.join(rest))
            }
            None => path.to_owned(),
        }
    }

    /// `tree` is where a throwaway tree appears, which must exist.
    pub fn of(reach: &Reach, tree: Option<&Path>) -> Result<ResolvedReach, String> {
        let mut resolved = ResolvedReach::default();
        let mut walk = Walk::default();
        let mut found: BTreeMap<PathBuf, (ReachRule, bool)> = BTreeMap::new();
        let scratch = reach.scratch.as_slice();
        let lists = [
            (ReachRule::Read, &reach.read[..]),
            (ReachRule::Write, &reach.write),
            (ReachRule::Write, scratch),
            (ReachRule::Hide, &reach.hide),
        ];
        let named =
            lists.into_iter().flat_map(|(rule, paths)| paths.iter().map(move |path| (rule, path.as_path())));
        for (rule, path) in named.chain(tree.map(|at| (ReachRule::Tree, at))) {
            if !path.is_absolute() {
                return Err(format!("cannot confine to {}: the path is not absolute", path.display()));
            }
            match walk.resolve(path) {
                Ok((path, is_dir)) => {
                    let entry = found.entry(path).or_insert((rule, is_dir));
                    entry.0 = entry.0.max(rule);
                }
                Err(_) if matches!(rule, ReachRule::Read | ReachRule::Hide) => {}
                Err(error) => return Err(format!("cannot make {} writable: {error}", path.display())),
            }
        }
        resolved.scratch = scratch.first().and_then(|path| walk.resolve(path).ok()).map(|(path, _)| path);
        resolved.links = walk.links;
        let mut places: Vec<ReachEntry> =
            found.into_iter().map(|(path, (rule, is_dir))| ReachEntry { path, rule, is_dir }).collect();
        places.sort_by_cached_key(|place| (place.path.components().count(), place.path.clone()));
        for place in places {
            // Nothing is readable that was not named, so what lies in nothing needs no hiding.
            let changes_nothing = match resolved.around(&place.path) {
                Some(outer) => outer.rule == place.rule && !is_covered_between(&outer.path, &place.path),
                None => place.rule == ReachRule::Hide,
            };
            if !changes_nothing {
                resolved.places.push(place);
            }
        }
        if let Some(alias) = reach.alias.as_ref().filter(|alias| resolved.is_free(&alias.name)) {
            resolved.links.insert(alias.name.clone(), alias.of.clone());
        }
        Ok(resolved)
    }

    /// No confinement of files at all: for tests that must see an attack succeed.
    pub fn whole_host() -> ResolvedReach {
        let root = ReachEntry { path: "/".into(), rule: ReachRule::Write, is_dir: true };
        ResolvedReach { places: vec![root], ..ResolvedReach::default() }
    }

    pub fn is_whole_host(&self) -> bool {
        self.places
            .first()
            .is_some_and(|place| place.rule == ReachRule::Write && place.path == Path::new("/"))
    }

    /// The innermost place that holds `path`, other than `path` itself.
    pub fn around(&self, path: &Path) -> Option<&ReachEntry> {
        self.places.iter().rev().find(|place| place.path != path && path.starts_with(&place.path))
    }

    /// Places strictly below `path`.
    pub fn below<'a>(&'a self, path: &'a Path) -> impl Iterator<Item = &'a ReachEntry> {
        self.places.iter().filter(move |place| place.path != path && place.path.starts_with(path))
    }
}

/// What a program finds at these is its own, even where it may reach the host's directory around them.
pub const OWN: [&str; 4] = ["/proc", "/dev", "/tmp", "/var/tmp"];

fn is_covered_between(outer: &Path, inner: &Path) -> bool {
    OWN.iter().map(Path::new).any(|own| own.starts_with(outer) && inner.starts_with(own))
}

/// Walks paths as the kernel would, and looks at each directory on the way once.
#[derive(Default)]
struct Walk {
    /// Every link that led somewhere, and where it points.
    links: BTreeMap<PathBuf, PathBuf>,
    seen: BTreeMap<PathBuf, Seen>,
}

#[derive(Clone)]
enum Seen {
    Dir,
    File,
    Link(PathBuf),
}

impl Walk {
    /// Fails if there is nothing there.
    fn resolve(&mut self, path: &Path) -> io::Result<(PathBuf, bool)> {
        const MOST_LINKS: usize = 40;
        let words = |path: &Path| -> Vec<OsString> {
            path.components()
                .filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir))
                .map(|part| part.as_os_str().to_owned())
                .collect()
        };
        let mut passed = Vec::new();
        let mut pending = VecDeque::from(words(path));
        let mut at = PathBuf::from("/");
        let mut is_dir = true;
        while let Some(word) = pending.pop_front() {
            if word == ".." {
                at.pop();
                continue;
            }
            let there = at.join(&word);
            let target = match self.look(&there)? {
                Seen::Dir => {
                    (at, is_dir) = (there, true);
                    continue;
                }
                Seen::File => {
                    (at, is_dir) = (there, false);
                    continue;
                }
                Seen::Link(target) => target,
            };
            if passed.len() == MOST_LINKS {
                return Err(io::Error::from_raw_os_error(libc::ELOOP));
            }
            if target.is_absolute() {
                at = PathBuf::from("/");
            }
            words(&target).into_iter().rev().for_each(|word| pending.push_front(word));
            passed.push((there, target));
        }
        self.links.extend(passed);
        Ok((at, is_dir))
    }

    fn look(&mut self, path: &Path) -> io::Result<Seen> {
        if let Some(seen) = self.seen.get(path) {
            return Ok(seen.clone());
        }
        let found = std::fs::symlink_metadata(path)?;
        let seen = match (found.is_symlink(), found.is_dir()) {
            (true, _) => Seen::Link(std::fs::read_link(path)?),
            (false, true) => Seen::Dir,
            (false, false) => Seen::File,
        };
        self.seen.insert(path.to_owned(), seen.clone());
        Ok(seen)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    struct Tree(tempfile::TempDir);

    impl Tree {
        fn new(dirs: &[&str]) -> Tree {
            let tree = Tree(tempfile::tempdir().unwrap());
            dirs.iter().for_each(|dir| std::fs::create_dir_all(tree.at(dir)).unwrap());
            tree
        }

        fn at(&self, path: &str) -> PathBuf {
            self.0.path().canonicalize().unwrap().join(path)
        }

        fn resolved(&self, read: &[&str], write: &[&str], hide: &[&str]) -> Vec<(ReachRule, String)> {
            let all = |paths: &[&str]| paths.iter().map(|path| self.at(path)).collect();
            let reach = Reach { read: all(read), write: all(write), hide: all(hide), ..Reach::default() };
            let root = self.at("");
            let resolved = ResolvedReach::of(&reach, None).unwrap();
            let name = |place: &ReachEntry| place.path.strip_prefix(&root).unwrap().display().to_string();
            resolved.places.iter().map(|place| (place.rule, name(place))).collect()
        }
    }

    #[test]
    fn the_longest_path_comes_last_and_what_changes_nothing_is_left_out() {
        let tree = Tree::new(&["a/b/c/d", "e"]);
        let resolved = tree.resolved(&["a/b/c", "a", "e", "a/b"], &["a/b/c/d"], &["a/b", "gone"]);
        let expected = [
            (ReachRule::Read, "a"),
            (ReachRule::Read, "e"),
            (ReachRule::Hide, "a/b"),
            (ReachRule::Read, "a/b/c"),
            (ReachRule::Write, "a/b/c/d"),
        ];
        assert_eq!(resolved, expected.map(|(rule, path)| (rule, path.to_owned())));
        assert_eq!(tree.resolved(&["a", "a/b", "a/b/c"], &[], &["e"]), [(ReachRule::Read, "a".to_owned())]);
    }

    #[test]
    fn at_one_path_write_outweighs_read_and_hide_both() {
        let tree = Tree::new(&["a/b"]);
        assert_eq!(tree.resolved(&["a"], &["a"], &[]), [(ReachRule::Write, "a".to_owned())]);
        assert_eq!(
            tree.resolved(&["a", "a/b"], &["a/b"], &["a/b"]),
            [(ReachRule::Read, "a".to_owned()), (ReachRule::Hide, "a/b".to_owned())]
        );
    }

    #[test]
    fn links_are_followed_and_remembered() {
        let tree = Tree::new(&["real/dir"]);
        symlink("real", tree.at("short")).unwrap();
        symlink(tree.at("short/dir"), tree.at("long")).unwrap();
        symlink("loop", tree.at("loop")).unwrap();
        let reach = Reach { read: vec![tree.at("long"), tree.at("loop")], ..Reach::default() };
        let resolved = ResolvedReach::of(&reach, None).unwrap();
        let [place] = &resolved.places[..] else { panic!("{resolved:?}") };
        assert_eq!(place.path, tree.at("real/dir"));
        let links = BTreeMap::from([
            (tree.at("long"), tree.at("short/dir")),
            (tree.at("short"), PathBuf::from("real")),
        ]);
        assert_eq!(resolved.links, links);
    }

    #[test]
    fn another_name_is_a_link_where_nothing_of_the_host_is() {
        let tree = Tree::new(&["work", "lib"]);
        let linked = |name: PathBuf| {
            let alias = Some(Alias { name, of: tree.at("work") });
            let reach =
                Reach { read: vec![tree.at("lib")], write: vec![tree.at("work")], alias, ..Reach::default() };
            ResolvedReach::of(&reach, None).unwrap().links
        };
        let name = PathBuf::from("/windlass/tree");
        assert_eq!(linked(name.clone()), BTreeMap::from([(name, tree.at("work"))]));
        assert!(linked(tree.at("lib/work")).is_empty(), "it would lie in a place of the host");
    }

    #[test]
    fn what_must_be_writable_must_exist_and_be_named_whole() {
        let tree = Tree::new(&[]);
        let reach = Reach { write: vec![tree.at("gone")], ..Reach::default() };
        assert!(ResolvedReach::of(&reach, None).unwrap_err().contains("gone"));
        let reach = Reach { read: vec!["usr".into()], ..Reach::default() };
        assert!(ResolvedReach::of(&reach, None).unwrap_err().contains("not absolute"));
    }

    #[test]
    fn the_system_has_a_shell_and_no_passwords() {
        let system = Reach::system();
        assert!(system.read.contains(&PathBuf::from("/usr")), "{system:?}");
        assert!(!system.read.iter().any(|path| path.starts_with("/home") || path.starts_with("/root")));
        let shadow = PathBuf::from("/etc/shadow");
        assert_eq!(system.hide.contains(&shadow), std::fs::File::open(&shadow).is_ok(), "{system:?}");
    }
}
