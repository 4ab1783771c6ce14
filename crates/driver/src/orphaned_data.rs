//! What a loop leaves outside the database: its snapshots in the vault and its
//! trail in the project. Both come after the record that creates the loop is
//! durable, so that a loop with either and without a record has lost its
//! history, and is not to begin again as if it never had one.
//!
//! A trail is only evidence against the vault it was written from: a project
//! that was copied, moved, or driven with another state directory brings one
//! along that is of other records.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use windlass_core::id::LoopName;
use windlass_core::time::Timestamp;
use windlass_store::{Refusal, VaultDir};

/// No state of a loop is larger.
const STATE_LIMIT: u64 = 16 << 20;

/// The names of loops that left something.
#[derive(Debug)]
pub struct OrphanedData<'a> {
    vault: &'a VaultDir,
    refs: PathBuf,
    loops: PathBuf,
    snapshots: BTreeSet<LoopName>,
    trails: BTreeSet<LoopName>,
}

impl<'a> OrphanedData<'a> {
    /// To be called before the records are read: what is found later may be of
    /// a loop that was created in between.
    pub fn scan(project: &Path, vault: &'a VaultDir) -> Self {
        let refs = vault.vault_git().join("refs/windlass");
        let loops = project.join(".windlass/loops");
        Self {
            vault,
            snapshots: loop_names(&refs).collect(),
            trails: loop_names(&loops).collect(),
            refs,
            loops,
        }
    }

    /// The first loop that is not among those on record. `is_tracked` is asked about files of the project: a trail
    /// is never under version control, so one that is was put there by somebody else.
    pub fn unknown_loop(&self, known: &[LoopName], is_tracked: &dyn Fn(&Path) -> bool) -> Option<Refusal> {
        let lost = |name: &&LoopName| !known.contains(name);
        let found = self
            .snapshots
            .union(&self.trails)
            .filter(lost)
            .map(|name| (name, self.left_by(name, is_tracked)));
        let (name, left) = found.into_iter().find(|(_, left)| !left.is_empty())?;
        let vault = self.vault.root();
        let away: Vec<String> = left.iter().map(|(path, _)| path.display().to_string()).collect();
        let (place, what) = left.first()?;
        let reason =
            format!("holds {what} of loop {name}, which is not in the records of {}", vault.display());
        let remedy = format!(
            "restore {} from a backup, or move {} away to begin again without this history",
            vault.display(),
            away.join(" and ")
        );
        Some(Refusal::new(place, reason, remedy))
    }

    fn left_by(&self, name: &LoopName, is_tracked: &dyn Fn(&Path) -> bool) -> Vec<(PathBuf, &'static str)> {
        let (snapshots, trail) = (self.refs.join(name.as_str()), self.loops.join(name.as_str()));
        let mut left = Vec::new();
        if holds_snapshots(&snapshots) {
            left.push((snapshots, "snapshots"));
        }
        let lost = is_of(&trail, self.vault, name) && !was_removed(&trail, self.vault, name);
        if lost && !is_tracked(&trail.join("state.json")) {
            left.push((trail, "the trail"));
        }
        left
    }
}

/// Those of a directory's entries that can be the name of a loop.
pub(crate) fn loop_names(dir: &Path) -> impl Iterator<Item = LoopName> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries.filter_map(|entry| LoopName::new(entry.file_name().to_str()?).ok())
}

/// A snapshot is named by its attempt's number; a base, beside them, by a hash.
fn holds_snapshots(dir: &Path) -> bool {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut names = entries.map(|entry| entry.file_name());
    names.any(|name| {
        name.to_str().is_some_and(|name| name.len() < 40 && name.bytes().all(|byte| byte.is_ascii_digit()))
    })
}

/// Whether a trail says that it was written from this vault. One that cannot
/// be read says nothing.
pub(crate) fn is_of(trail: &Path, vault: &VaultDir, name: &LoopName) -> bool {
    trail_state(trail).is_some_and(|state| state.workspace == vault.space(name).display().to_string())
}

/// A trail of a loop that the operator removed is no sign of a loss.
fn was_removed(trail: &Path, vault: &VaultDir, name: &LoopName) -> bool {
    let created = trail_state(trail).and_then(|state| state.created_at);
    created.is_some_and(|at| vault.removal_mark(name, at).exists())
}

/// What a trail says of its loop.
#[derive(serde::Deserialize)]
pub(crate) struct TrailState {
    pub(crate) workspace: String,
    created_at: Option<Timestamp>,
}

pub(crate) fn trail_state(trail: &Path) -> Option<TrailState> {
    // Neither a link is followed nor a pipe waited for: the project is not ours alone.
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let opened =
        OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(trail.join("state.json"));
    let file = opened.ok().filter(|file| file.metadata().is_ok_and(|metadata| metadata.is_file()))?;
    let mut bytes = Vec::new();
    file.take(STATE_LIMIT).read_to_end(&mut bytes).ok()?;
    serde_json::from_slice(&bytes).ok()
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use windlass_store::StateDir;

    use super::*;

    fn name(text: &str) -> LoopName {
        LoopName::new(text).unwrap()
    }

    fn place() -> (tempfile::TempDir, PathBuf, VaultDir) {
        let temp = tempfile::tempdir().unwrap();
        let project = temp.path().join("project");
        let vault = StateDir::new(temp.path().join("state")).vault(OsStr::new("p"), &project.join(".git"));
        (temp, project, vault)
    }

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn trail(project: &Path, of: &VaultDir, text: &str) {
        let told = serde_json::json!({ "workspace": of.space(&name(text)), "loop": text }).to_string();
        write(&project.join(".windlass/loops").join(text).join("state.json"), &told);
    }

    #[test]
    fn where_nothing_was_nothing_is_missed() {
        let (_temp, project, vault) = place();
        assert_eq!(OrphanedData::scan(&project, &vault).unknown_loop(&[], &|_| false), None);
    }

    #[test]
    fn snapshots_without_a_record_are_a_loss() {
        let (_temp, project, vault) = place();
        let refs = vault.vault_git().join("refs/windlass");
        write(&refs.join(format!("base/{}", "1".repeat(40))), "");
        assert_eq!(
            OrphanedData::scan(&project, &vault).unknown_loop(&[], &|_| false),
            None,
            "a base is there before its loop"
        );
        write(&refs.join("base/000001"), "");
        write(&refs.join("demo/000012"), "");
        let orphaned = OrphanedData::scan(&project, &vault);
        assert_eq!(orphaned.unknown_loop(&[name("base"), name("demo"), name("other")], &|_| false), None);
        let refusal = orphaned.unknown_loop(&[name("base")], &|_| false).unwrap();
        assert_eq!(refusal.path, refs.join("demo"));
        assert!(refusal.remedy.contains(&format!("restore {}", vault.root().display())), "{refusal}");
        assert!(orphaned.unknown_loop(&[name("demo")], &|_| false).unwrap().path.ends_with("base"));
    }

    #[test]
    fn a_trail_speaks_for_the_vault_it_was_written_from() {
        let (_temp, project, vault) = place();
        let elsewhere = StateDir::new("/elsewhere").vault(OsStr::new("p"), &project.join(".git"));
        let moved = StateDir::new(vault.state()).vault(OsStr::new("p"), Path::new("/moved/.git"));
        trail(&project, &elsewhere, "other");
        trail(&project, &moved, "copied");
        write(&project.join(".windlass/loops/torn/state.json"), "{\"works");
        std::os::unix::fs::symlink("demo", project.join(".windlass/loops/link")).unwrap();
        assert_eq!(OrphanedData::scan(&project, &vault).unknown_loop(&[], &|_| false), None);
        trail(&project, &vault, "demo");
        let orphaned = OrphanedData::scan(&project, &vault);
        assert_eq!(orphaned.unknown_loop(&[name("demo")], &|_| false), None);
        let refusal = orphaned.unknown_loop(&[name("other")], &|_| false).unwrap();
        assert_eq!(refusal.path, project.join(".windlass/loops/demo"));
        let planted = project.join(".windlass/loops/demo/state.json");
        assert_eq!(orphaned.unknown_loop(&[], &|file| file == planted), None, "under version control");
        let away = format!("move {} away", refusal.path.display());
        assert!(refusal.remedy.contains(&away), "{refusal}");
        write(&vault.vault_git().join("refs/windlass/demo/000001"), "");
        let both = OrphanedData::scan(&project, &vault).unknown_loop(&[], &|_| false).unwrap();
        assert!(both.path.ends_with("refs/windlass/demo"), "{both}");
        assert!(both.remedy.contains(&format!(" and {} away", refusal.path.display())), "{both}");
    }
}
