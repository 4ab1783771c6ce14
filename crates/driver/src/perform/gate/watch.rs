//! What a check writes, seen from outside: what judges must not be written while it judges.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirBuilder};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use windlass_core::effect::Effect;
use windlass_core::finding::Touch;
use windlass_core::gate::{Purpose, Trial};
use windlass_core::id::TreeId;
use windlass_core::outcome::Fault;
use windlass_core::writes::ObservedWrites;
use windlass_gate::{
    ExemptPaths, HomeSettings, JudgedTree, PathKind, PathRules, TouchSink, TreeRoles, TreeWatch, WatchPlace,
    WriteJudge, WriteRecorder, installed_dir, literal, look_through_layer,
};

use windlass_workspace::VaultError;

use super::GateTarget;
use super::dirs::GateDirs;
use crate::perform::snapshot::path_rules;
use crate::perform::{EffectRequest, EffectResources, fault, file_fault, lock};
use crate::weaken::Defence;

/// Above what the paths of the largest tree take.
pub const WRITTEN_LIMIT: u64 = 256 << 20;

/// How many directories are made in a layer before a check runs; deeper ones of larger trees are watched from when
/// they appear. File systems take ever longer to make as many as were just removed.
const MOST_MADE: usize = 400;

/// How many descriptors wait to be closed: a user has 128 of this kind.
const MOST_WAITING: usize = 8;

/// How the checks on one tree are watched.
pub struct GateWatch {
    tree: Arc<JudgedTree>,
    purpose: Purpose,
    /// Closed to every check; empty at the baseline, which shows what has to be written.
    read_only: Vec<PathBuf>,
    dirs: Vec<PathBuf>,
    home: HomeUse,
    /// Closed when nobody waits any more.
    ended: RefCell<Vec<OwnedFd>>,
}

/// Whose home a check finds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum HomeUse {
    /// Its own, empty at first.
    Own,
    /// The operator's, where nothing is confined.
    Operators,
}

impl GateWatch {
    /// None without this defence.
    pub fn new(
        resources: &EffectResources,
        request: &EffectRequest,
        target: &GateTarget<'_>,
    ) -> Result<Option<Self>, Fault> {
        if resources.is_weak(Defence::Watch) {
            return Ok(None);
        }
        let purpose = target.purpose;
        let rules = path_rules(resources, request, &request.creation.base_tree)?;
        let roles = roles(resources, &rules, target.tree).map_err(|error| fault(&error))?;
        let packages =
            packages_of_landing(resources, request, target, &rules).map_err(|error| fault(&error))?;
        let tree = JudgedTree::new(rules, roles, exempt(resources, request, &packages)?);
        let read_only = match purpose {
            Purpose::Baseline => Vec::new(),
            Purpose::Task | Purpose::Final if resources.safeguards.overlay => tree.read_only_dirs(),
            Purpose::Task | Purpose::Final => Vec::new(),
        };
        let mut dirs = tree.watched_dirs(&read_only);
        if resources.safeguards.overlay {
            dirs.truncate(MOST_MADE);
        }
        let home = if resources.safeguards.confine.is_on() { HomeUse::Own } else { HomeUse::Operators };
        Ok(Some(Self { tree: Arc::new(tree), purpose, read_only, dirs, home, ended: RefCell::default() }))
    }

    /// The next command, whose directories are ready, is watched from here on.
    pub fn begin(&self, dirs: &mut GateDirs) -> Result<RunningWatch<'_>, Fault> {
        let root = dirs.go_on()?;
        let place = match &mut dirs.private.tree {
            Some(layers) => {
                layers.read_only.clone_from(&self.read_only);
                copy_dirs(&layers.lower, &root, &self.dirs)?;
                WatchPlace::Layer
            }
            None => WatchPlace::Tree,
        };
        let home = dirs.private.home();
        let home = match self.home {
            HomeUse::Own => Some(watch_home(&home)),
            HomeUse::Operators => None,
        };
        let watcher = match self.purpose {
            Purpose::Baseline => TreeWatch::begin(&root, &self.dirs, place, WriteRecorder::of(&self.tree))
                .map(Watcher::Recording),
            Purpose::Task | Purpose::Final => {
                TreeWatch::begin(&root, &self.dirs, place, WriteJudge::of(&self.tree)).map(Watcher::Judging)
            }
        };
        let stamps = match place {
            WatchPlace::Layer => None,
            WatchPlace::Tree => Some(stamps(&root, &self.tree)),
        };
        Ok(RunningWatch { of: self, root, watcher, stamps, home })
    }

    /// What the author of a check is told that wrote into a closed directory, by what it printed.
    pub fn refused_words(&self, printed: &str) -> Option<String> {
        // The last is SQLite's.
        let words = ["read-only file system", "readonly database"];
        let refused = words.iter().any(|word| printed.to_lowercase().contains(word));
        let closed: Vec<String> = self.read_only.iter().map(|dir| dir.display().to_string()).collect();
        (refused && !closed.is_empty()).then(|| {
            format!(
                "While a check runs, directories of nothing but protected files are read-only: {}. A test may \
                 write to a temporary directory, or to a path that the task's file allows.",
                closed.join(", ")
            )
        })
    }

    /// What is left to be closed.
    pub fn take_ended(&self) -> Vec<OwnedFd> {
        self.ended.take()
    }

    fn close_later(&self, events: OwnedFd) {
        let mut ended = self.ended.borrow_mut();
        if ended.len() < MOST_WAITING {
            ended.push(events);
        }
    }
}

/// Found anew only for what differs from the tree before.
fn roles(
    resources: &EffectResources,
    rules: &PathRules,
    tree: &TreeId,
) -> Result<Arc<TreeRoles>, VaultError> {
    let mut cached = lock(&resources.rules);
    let before = cached.as_mut().and_then(|cached| cached.roles.take());
    let roles = match before {
        Some((of, mut roles)) => {
            let own = Arc::make_mut(&mut roles);
            for change in resources.vault.diff(&of, tree)? {
                match change.new {
                    Some(_) => own.add(rules, change.path.as_ref()),
                    None => own.remove(change.path.as_ref()),
                }
            }
            roles
        }
        None => {
            let paths = resources.vault.list_paths(tree)?;
            Arc::new(TreeRoles::of(rules, paths.iter().map(|(path, _)| path.as_ref())))
        }
    };
    if let Some(cached) = cached.as_mut() {
        cached.roles = Some((tree.clone(), Arc::clone(&roles)));
    }
    Ok(roles)
}

/// Directories of packages that will land and trusted terms lack, say because nobody ignores them. A set-up puts
/// its own in their place, as it may where there are none, and the trial on trusted terms has none.
fn packages_of_landing(
    resources: &EffectResources,
    request: &EffectRequest,
    target: &GateTarget<'_>,
    rules: &PathRules,
) -> Result<BTreeSet<String>, VaultError> {
    let (Effect::RunGate { trusted: Some(trusted), .. }, Trial::Landing) = (&request.effect, target.trial)
    else {
        return Ok(BTreeSet::new());
    };
    let dir = |path: &[u8]| Some(str::from_utf8(installed_dir(path)?).ok()?.to_owned());
    let is_term = |path: &[u8]| matches!(rules.kind(path), PathKind::Term(_));
    let mut packages = BTreeSet::new();
    for change in resources.vault.diff(trusted, target.tree)? {
        let path: &[u8] = change.path.as_ref();
        packages.extend(dir(path).filter(|_| change.old.is_none() && is_term(path)));
    }
    if !packages.is_empty() {
        let trusted: BTreeSet<String> =
            resources.vault.list_paths(trusted)?.iter().filter_map(|(path, _)| dir(path.as_ref())).collect();
        packages.retain(|dir| !trusted.contains(dir));
    }
    Ok(packages)
}

/// What the base's own checks wrote, what the policy says that checks write, and these packages.
fn exempt(
    resources: &EffectResources,
    request: &EffectRequest,
    packages: &BTreeSet<String>,
) -> Result<ExemptPaths, Fault> {
    let texts = request.written_at_baseline.iter().map(|id| resources.blobs.text(id, WRITTEN_LIMIT));
    let texts = texts.collect::<Result<Vec<String>, Fault>>()?;
    let gate = &request.policy.gate;
    let junit = gate.checks.iter().map(|check| &check.junit).filter(|junit| !junit.is_empty());
    let names = gate.cache.iter().chain(packages).map(|name| literal(name));
    let outputs: Vec<String> = names.chain(junit.cloned()).collect();
    ExemptPaths::new(texts.iter().map(String::as_str), &outputs).map_err(|error| fault(&error))
}

/// A directory that is in the upper layer already does not appear there while a check runs, and can be watched
/// before it runs.
fn copy_dirs(lower: &Path, upper: &Path, dirs: &[PathBuf]) -> Result<(), Fault> {
    for dir in dirs {
        copy_dir(&lower.join(dir), &upper.join(dir)).map_err(|error| file_fault(&upper.join(dir), &error))?;
    }
    Ok(())
}

/// What an earlier check of the chain put in its place stays.
fn copy_dir(from: &Path, to: &Path) -> io::Result<()> {
    let found = fs::metadata(from)?;
    match DirBuilder::new().mode(0o700).create(to) {
        Ok(()) => {}
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::AlreadyExists | io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            return Ok(());
        }
        Err(error) => return Err(error),
    }
    fs::set_permissions(to, fs::Permissions::from_mode(found.mode() & 0o7777))
}

/// What of a file no program can set back.
type FileStamp = (u64, u64, i64, i64);

/// A write through another name of a file is told of nowhere else.
fn stamps(root: &Path, tree: &JudgedTree) -> BTreeMap<PathBuf, FileStamp> {
    let stamp = |path: &Path| Some((path.to_owned(), stamp(&root.join(path))?));
    tree.judging_files().filter_map(stamp).collect()
}

fn stamp(path: &Path) -> Option<FileStamp> {
    let found = fs::symlink_metadata(path).ok()?;
    Some((found.dev(), found.ino(), found.ctime(), found.ctime_nsec()))
}

pub struct RunningWatch<'w> {
    of: &'w GateWatch,
    root: PathBuf,
    watcher: io::Result<Watcher>,
    stamps: Option<BTreeMap<PathBuf, FileStamp>>,
    home: Option<io::Result<TreeWatch<HomeSettings>>>,
}

enum Watcher {
    Judging(TreeWatch<WriteJudge>),
    Recording(TreeWatch<WriteRecorder>),
}

impl RunningWatch<'_> {
    /// Nothing of the command is alive any more.
    pub fn end(self, resources: &EffectResources, dirs: &mut GateDirs) -> Result<ObservedWrites, Fault> {
        if let Some(layers) = &mut dirs.private.tree {
            layers.read_only.clear();
        }
        let Self { of, root, watcher, stamps, home } = self;
        let after = Afterwards { root: &root, stamps: stamps.as_ref() };
        let (home, home_missed) = seen_of_home(of, home, &dirs.private.home());
        let lost =
            |error: io::Error| ObservedWrites { missed: error.to_string(), ..ObservedWrites::default() };
        let mut writes = match watcher {
            Err(error) => lost(error),
            Ok(Watcher::Judging(watch)) => match watch.end() {
                Err(error) => lost(error),
                Ok(mut end) => {
                    after.tell(&mut end.sink);
                    let judging = end.sink.names(&home.offences(of.tree.exempt()));
                    of.close_later(end.events);
                    ObservedWrites { judging, missed: end.missed, ..ObservedWrites::default() }
                }
            },
            Ok(Watcher::Recording(watch)) => {
                let mut end = watch.end().map_err(|error| fault(&error))?;
                after.tell(&mut end.sink);
                // A set-up that was kept wrote these on a base as well.
                for layer in dirs.private.tree.iter().flat_map(|tree| &tree.over) {
                    look_through_layer(layer, &mut end.sink);
                }
                let all = Some(resources.blobs.put(end.sink.text(home.written()).into_bytes())?);
                of.close_later(end.events);
                ObservedWrites { all, missed: end.missed, ..ObservedWrites::default() }
            }
        };
        if writes.missed.is_empty() {
            writes.missed = home_missed;
        }
        Ok(writes)
    }
}

/// Begins when its directories of settings are there.
fn watch_home(home: &Path) -> io::Result<TreeWatch<HomeSettings>> {
    let places: Vec<PathBuf> = HomeSettings::places().map(Path::to_owned).collect();
    for place in &places {
        match DirBuilder::new().mode(0o700).create(home.join(place)) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            Ok(()) | Err(_) => {}
        }
    }
    TreeWatch::begin(home, &places, WatchPlace::Layer, HomeSettings::default())
}

/// The settings that were written there, and why some may have been missed.
fn seen_of_home(
    of: &GateWatch,
    watch: Option<io::Result<TreeWatch<HomeSettings>>>,
    home: &Path,
) -> (HomeSettings, String) {
    match watch.map(|watch| watch.and_then(TreeWatch::end)) {
        None => (HomeSettings::default(), String::new()),
        Some(Err(error)) => (HomeSettings::default(), error.to_string()),
        Some(Ok(mut end)) => {
            look_through_layer(home, &mut end.sink);
            of.close_later(end.events);
            (end.sink, end.missed)
        }
    }
}

/// What can still be seen when the command is over.
struct Afterwards<'w> {
    root: &'w Path,
    stamps: Option<&'w BTreeMap<PathBuf, FileStamp>>,
}

impl Afterwards<'_> {
    fn tell(&self, sink: &mut impl TouchSink) {
        let Some(stamps) = self.stamps else { return look_through_layer(self.root, sink) };
        for (path, before) in stamps {
            match stamp(&self.root.join(path)) {
                Some(now) if now == *before => {}
                Some(_) => sink.touched(path, Touch::Edited),
                None => sink.touched(path, Touch::Deleted),
            }
        }
    }
}
