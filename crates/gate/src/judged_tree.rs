//! A tree, and which of its paths judge: what no command may write while a check runs.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use windlass_core::finding::Touch;
use windlass_core::tally::Names;

use crate::exempt::{ExemptPaths, ancestors, written_text};
use crate::outputs_beside::OutputsBeside;
use crate::paths::{PathKind, PathRole, PathRules, as_path};
use crate::steering;
use crate::tree_watch::{DirectoryKind, TouchSink};

pub struct JudgedTree {
    rules: PathRules,
    roles: Arc<TreeRoles>,
    /// In the order of their paths, so that a directory comes after the one it is in.
    dirs: BTreeMap<Vec<u8>, DirectoryFacts>,
    exempt: ExemptPaths,
    beside: OutputsBeside,
}

/// Of a directory with everything below it.
#[derive(Clone, Copy)]
struct DirectoryFacts {
    judges: bool,
    only_protected: bool,
}

impl DirectoryFacts {
    fn with(self, other: Self) -> Self {
        let judges = self.judges || other.judges;
        Self { judges, only_protected: self.only_protected && other.only_protected }
    }
}

/// On which side of the trial each file of a tree is. To find out takes longer than anything else here, so it is
/// kept from tree to tree.
#[derive(Clone, Debug)]
pub struct TreeRoles(BTreeMap<Vec<u8>, PathRole>);

impl TreeRoles {
    pub fn of<'p>(rules: &PathRules, paths: impl IntoIterator<Item = &'p [u8]>) -> Self {
        Self(paths.into_iter().map(|path| (path.to_owned(), rules.role(path))).collect())
    }

    /// The tree has this file as well, under the same rules.
    pub fn add(&mut self, rules: &PathRules, path: &[u8]) {
        self.0.entry(path.to_owned()).or_insert_with(|| rules.role(path));
    }

    pub fn remove(&mut self, path: &[u8]) {
        self.0.remove(path);
    }
}

impl JudgedTree {
    pub fn new(rules: PathRules, roles: Arc<TreeRoles>, exempt: ExemptPaths) -> Self {
        let mut dirs: BTreeMap<Vec<u8>, DirectoryFacts> = BTreeMap::new();
        // Most files lie beside the one before them.
        let mut last: Option<(&[u8], DirectoryFacts)> = None;
        for (path, role) in &roles.0 {
            let Some(above) = ancestors(path).nth(1) else { continue };
            let facts = facts_of(*role);
            last = match last {
                Some((dir, so_far)) if dir == above => Some((dir, so_far.with(facts))),
                other => {
                    other.into_iter().for_each(|(dir, facts)| note(&mut dirs, dir, facts));
                    Some((above, facts))
                }
            };
        }
        last.into_iter().for_each(|(dir, facts)| note(&mut dirs, dir, facts));
        // In this order all that is in a directory comes before it.
        let inner_first: Vec<Vec<u8>> = dirs.keys().rev().cloned().collect();
        for dir in inner_first {
            if let Some(above) = ancestors(&dir).nth(1) {
                let facts = dirs[&dir];
                note(&mut dirs, above, facts);
            }
        }
        let beside = OutputsBeside::of(exempt.written(), &roles.0);
        Self { rules, roles, dirs, exempt, beside }
    }

    /// The outermost directories of which everything is protected and nothing is to be written.
    pub fn read_only_dirs(&self) -> Vec<PathBuf> {
        let closed = |dir: &[u8]| {
            let is_written_to = self.exempt.has_below(dir) || self.rules.allows_below(dir);
            self.dirs.get(dir).is_some_and(|facts| facts.only_protected) && !is_written_to
        };
        let outermost = |dir: &&Vec<u8>| closed(dir) && !ancestors(dir).skip(1).any(closed);
        self.dirs.keys().filter(outermost).map(|dir| as_path(dir).to_owned()).collect()
    }

    /// Every directory in which a name could matter: those with something that judges first, and the outer ones
    /// before those in them.
    pub fn watched_dirs(&self, read_only: &[PathBuf]) -> Vec<PathBuf> {
        let closed: BTreeSet<&[u8]> = read_only.iter().map(|dir| dir.as_os_str().as_bytes()).collect();
        let open =
            |dir: &&Vec<u8>| !ancestors(dir).any(|above| closed.contains(above)) && !self.exempt.cover(dir);
        let mut dirs: Vec<&Vec<u8>> = self.dirs.keys().filter(open).collect();
        dirs.sort_by_key(|dir| (!self.dirs[*dir].judges, ancestors(dir).count()));
        dirs.into_iter().map(|dir| as_path(dir).to_owned()).collect()
    }

    pub fn judging_files(&self) -> impl Iterator<Item = &Path> {
        let judging = |(path, role): (_, &PathRole)| (*role != PathRole::Judged).then_some(path);
        self.roles.0.iter().filter_map(judging).map(|path: &Vec<u8>| as_path(path))
    }

    pub fn exempt(&self) -> &ExemptPaths {
        &self.exempt
    }

    /// What was done to a path that judges, in words; none where it may be written.
    fn offence(&self, path: &[u8], touch: Touch) -> Option<String> {
        let done = match (self.has(path), touch) {
            (true, Touch::Deleted) => "removed",
            (true, Touch::Added | Touch::Edited) => "written",
            (false, Touch::Added | Touch::Edited) => "created",
            // What was there when it was removed had been made before.
            (false, Touch::Deleted) => return None,
        };
        let judges = match (self.roles.0.get(path), self.dirs.get(path)) {
            (Some(role), _) => *role != PathRole::Judged,
            // Its mode or its times: whatever is in it stays what it is.
            (None, Some(_)) if touch == Touch::Edited => false,
            (None, Some(facts)) => facts.judges,
            (None, None) => self.would_judge(path),
        };
        let is_new_output = || self.exempt.cover_new(path) || self.beside.cover(path, &self.roles.0);
        let matters = judges && !self.exempt.cover(path) && (self.has(path) || !is_new_output());
        matters.then(|| format!("{} ({done})", String::from_utf8_lossy(path)))
    }

    fn has(&self, path: &[u8]) -> bool {
        self.roles.0.contains_key(path) || self.dirs.contains_key(path)
    }

    /// Of a path that the tree does not have.
    fn would_judge(&self, path: &[u8]) -> bool {
        let source = steering::compiled_from(path).and_then(|source| self.roles.0.get(&source));
        if source.is_some_and(|role| *role != PathRole::Judged) {
            return true;
        }
        let first_new = self.first_new(path);
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
        match self.rules.kind(first_new) {
            PathKind::Allowed => false,
            PathKind::Guarded(_) | PathKind::Test { .. } => true,
            PathKind::Term(_) | PathKind::Product { .. } if first_new == path => steering::steers(name),
            PathKind::Term(_) | PathKind::Product { .. } => {
                steering::steers_runner(name) && !steering::is_installed(path)
            }
        }
    }

    /// The outermost part of a path that the tree does not have; the path itself where it has it.
    fn first_new<'p>(&self, path: &'p [u8]) -> &'p [u8] {
        let missing = |part: &&[u8]| !self.dirs.contains_key(*part) && !self.roles.0.contains_key(*part);
        ancestors(path).take_while(missing).last().unwrap_or(path)
    }
}

fn facts_of(role: PathRole) -> DirectoryFacts {
    DirectoryFacts { judges: role != PathRole::Judged, only_protected: role == PathRole::Protected }
}

/// With the directories around it, which have nothing of their own until they are told.
fn note(dirs: &mut BTreeMap<Vec<u8>, DirectoryFacts>, dir: &[u8], below: DirectoryFacts) {
    const NOTHING: DirectoryFacts = DirectoryFacts { judges: false, only_protected: true };
    for above in ancestors(dir) {
        if dirs.contains_key(above) {
            break;
        }
        dirs.insert(above.to_owned(), NOTHING);
    }
    if let Some(facts) = dirs.get_mut(dir) {
        *facts = facts.with(below);
    }
}

/// Keeps what judges and was written.
pub struct WriteJudge {
    tree: Arc<JudgedTree>,
    found: BTreeSet<String>,
    more: u32,
}

impl WriteJudge {
    const KEPT: usize = 1_000;

    pub fn of(tree: &Arc<JudgedTree>) -> Self {
        Self { tree: Arc::clone(tree), found: BTreeSet::new(), more: 0 }
    }

    /// With others, in words as well.
    pub fn names(&self, others: &[String]) -> Names {
        let mut names = Names::of(others.iter().chain(&self.found).map(String::as_str));
        names.count = names.count.saturating_add(self.more);
        names
    }
}

impl TouchSink for WriteJudge {
    fn touched(&mut self, path: &Path, touch: Touch) {
        let Some(offence) = self.tree.offence(path.as_os_str().as_bytes(), touch) else { return };
        match self.found.len() < Self::KEPT {
            true => drop(self.found.insert(offence)),
            false => self.more = self.more.saturating_add(1),
        }
    }

    fn directory(&self, path: &Path) -> DirectoryKind {
        let path = path.as_os_str().as_bytes();
        if self.tree.dirs.contains_key(path) {
            return DirectoryKind::Known;
        }
        let tree = &self.tree;
        match tree.exempt.cover(path) || tree.exempt.cover_new(path) || steering::is_installed(path) {
            true => DirectoryKind::Output,
            false => DirectoryKind::New,
        }
    }
}

/// Keeps everything that the base's own check writes.
pub struct WriteRecorder {
    tree: Arc<JudgedTree>,
    written: BTreeSet<Vec<u8>>,
}

impl WriteRecorder {
    pub fn of(tree: &Arc<JudgedTree>) -> Self {
        Self { tree: Arc::clone(tree), written: BTreeSet::new() }
    }

    /// With others.
    pub fn text<'o>(&self, others: impl Iterator<Item = &'o str>) -> String {
        let others = others.map(|path| path.as_bytes().to_owned());
        written_text(&self.written.iter().cloned().chain(others).collect())
    }
}

impl TouchSink for WriteRecorder {
    fn touched(&mut self, path: &Path, touch: Touch) {
        let path = path.as_os_str().as_bytes();
        if touch == Touch::Edited && self.tree.dirs.contains_key(path) {
            return;
        }
        self.written.insert(self.tree.first_new(path).to_owned());
    }

    fn directory(&self, path: &Path) -> DirectoryKind {
        match self.tree.dirs.contains_key(path.as_os_str().as_bytes()) {
            true => DirectoryKind::Known,
            false => DirectoryKind::Output,
        }
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::policy::Policy;

    use super::*;

    const TREE: [&str; 9] = [
        "conftest.py",
        "data/input.csv",
        "src/app.py",
        "src/deep/er/mod.py",
        "tests/a.sh",
        "tests/unit/b.sh",
        "tests-of/x.py",
        "vendored/tests/c.sh",
        "windlass.toml",
    ];

    fn tree(written: &[&str]) -> Arc<JudgedTree> {
        tree_of_task(written, &["allowed/**"])
    }

    fn tree_of_task(written: &[&str], allow: &[&str]) -> Arc<JudgedTree> {
        let allow: Vec<String> = allow.iter().map(|glob| (*glob).to_owned()).collect();
        let mut policy = Policy::default();
        policy.gate.protect = vec!["tests/**".to_owned(), "**/tests/**".to_owned()];
        policy.gate.product = vec!["**/*.py".to_owned()];
        let rules = PathRules::new(&policy, &allow, &|_| None).unwrap();
        let written = written.iter().map(|path| path.as_bytes().to_owned()).collect();
        let exempt = ExemptPaths::new([written_text(&written).as_str()], &[]).unwrap();
        let mut roles = TreeRoles::of(&rules, TREE.iter().skip(1).map(|path| path.as_bytes()));
        roles.add(&rules, TREE[0].as_bytes());
        roles.add(&rules, b"gone/conftest.py");
        roles.remove(b"gone/conftest.py");
        Arc::new(JudgedTree::new(rules, Arc::new(roles), exempt))
    }

    fn offences(written: &[&str], touches: &[(&str, Touch)]) -> Vec<String> {
        let mut judge = WriteJudge::of(&tree(written));
        touches.iter().for_each(|(path, touch)| judge.touched(Path::new(path), *touch));
        judge.names(&[]).first
    }

    #[test]
    fn what_judges_may_not_be_written_and_what_is_judged_may() {
        let found = offences(
            &[],
            &[
                ("tests/a.sh", Touch::Edited),
                ("conftest.py", Touch::Deleted),
                ("data/input.csv", Touch::Added),
                ("tests", Touch::Deleted),
                ("src/app.py", Touch::Edited),
                ("src", Touch::Deleted),
                ("tests", Touch::Edited),
            ],
        );
        assert_eq!(
            found,
            ["conftest.py (removed)", "data/input.csv (written)", "tests (removed)", "tests/a.sh (written)"]
        );
    }

    #[test]
    fn outputs_may_be_made_and_what_would_judge_may_not() {
        let made = |paths: &[&str]| {
            let touches: Vec<_> = paths.iter().map(|path| (*path, Touch::Added)).collect();
            offences(&[], &touches)
        };
        let outputs = [
            "target",
            "target/tests/x",
            "src/new.py",
            "out.o",
            "junit.xml",
            "node_modules/x/conftest.py",
            "src/__pycache__/app.cpython-312.pyc",
            "build/Makefile",
            ".pytest_cache/README.md",
            "allowed/conftest.py",
        ];
        assert_eq!(made(&outputs), Vec::<String>::new());
        for path in [
            "pytest.ini",
            "src/conftest.py",
            "tests/new.sh",
            "tests/sub/new.sh",
            "Makefile",
            ".npmrc",
            "AGENTS.md",
            "new/conftest.py",
            "tests/__pycache__/a.pyc",
            "__pycache__/conftest.cpython-312.pyc",
        ] {
            assert_eq!(made(&[path]), [format!("{path} (created)")]);
        }
        assert_eq!(offences(&[], &[("Makefile", Touch::Deleted)]), Vec::<String>::new());
    }

    #[test]
    fn what_the_base_writes_is_free() {
        let written = ["tests/unit/b.sh", "tests/log-17.txt", "gen"];
        let free = [
            ("tests/unit/b.sh", Touch::Edited),
            ("tests/log-18.txt", Touch::Added),
            ("gen/conftest.py", Touch::Added),
        ];
        assert_eq!(offences(&written, &free), Vec::<String>::new());
        assert_eq!(offences(&written, &[("tests/a.sh", Touch::Edited)]), ["tests/a.sh (written)"]);
    }

    #[test]
    fn what_the_base_writes_beside_a_file_may_be_written_beside_another() {
        // Both a.sh and b.sh of this tree are protected, and the base wrote beside one of them.
        let made = |path| offences(&["tests/a.log"], &[(path, Touch::Added)]);
        assert_eq!(made("tests/a.log"), Vec::<String>::new());
        assert_eq!(made("tests/zero.log"), ["tests/zero.log (created)"], "there is no zero.sh");
        assert_eq!(made("tests/a.o"), ["tests/a.o (created)"], "the base wrote no .o");
        assert_eq!(made("tests/unit/b.log"), ["tests/unit/b.log (created)"], "the base wrote none there");
        let written = ["tests-of/y.log", "tests/unit/c.log"];
        assert_eq!(offences(&written, &[("tests/a.sh", Touch::Edited)]), ["tests/a.sh (written)"]);
    }

    #[test]
    fn whole_directories_of_protected_files_are_closed() {
        let dirs = |written: &[&str]| {
            let tree = tree(written);
            let closed = tree.read_only_dirs();
            let shown = |dirs: &[PathBuf]| {
                dirs.iter().map(|dir| dir.display().to_string()).collect::<Vec<_>>().join(" ")
            };
            (shown(&closed), shown(&tree.watched_dirs(&closed)))
        };
        assert_eq!(
            dirs(&[]),
            ("tests vendored".to_owned(), "data src tests-of src/deep src/deep/er".to_owned())
        );
        assert_eq!(
            dirs(&["tests/out", "src/deep"]),
            ("tests/unit vendored".to_owned(), "data tests src tests-of".to_owned())
        );
    }

    #[test]
    fn a_directory_in_which_the_task_may_make_something_is_open() {
        let closed = |allow: &str| {
            let dirs = tree_of_task(&[], &[allow]).read_only_dirs();
            dirs.iter().map(|dir| dir.display().to_string()).collect::<Vec<_>>().join(" ")
        };
        for allow in ["tests/out", "tests/*.log", "./tests/out/**"] {
            assert_eq!(closed(allow), "tests/unit vendored", "{allow}");
        }
        assert_eq!(closed("tests/unit/c"), "vendored");
        for allow in ["**/out", "test", "tests2/x"] {
            assert_eq!(closed(allow), "tests vendored", "{allow}");
        }
    }

    #[test]
    fn of_what_is_new_the_outermost_is_recorded() {
        let mut recorder = WriteRecorder::of(&tree(&[]));
        for path in ["target/debug/x", "target/y", "tests/a.sh", "tests/out/1", "src/deep/er/x"] {
            recorder.touched(Path::new(path), Touch::Added);
        }
        recorder.touched(Path::new("src"), Touch::Edited);
        assert_eq!(
            recorder.text(std::iter::once("~/.npmrc")),
            "src/deep/er/x\0target\0tests/a.sh\0tests/out\0~/.npmrc\0"
        );
    }
}
