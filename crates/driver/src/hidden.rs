//! Files that judge the work and that no agent sees: of the base, by `gate.hidden`, and of a
//! directory outside the repository, by `gate.hidden_dir`. The trees on record have those of the base
//! in them, since they land with the work; those of the directory are in the judged trees alone.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use windlass_core::id::TreeId;
use windlass_core::policy::{Policy, SandboxPolicy};
use windlass_gate::{GuardedBy, PathKind, PathRules};
use windlass_workspace::{BString, PlainFile, Repository, Vault, VaultError};

use crate::confine::{expand, resolved};
use crate::surroundings::Surroundings;
use crate::terms::graft;

/// More is no directory of tests.
const MOST_FILES: usize = 10_000;
const MOST_BYTES: u64 = 64 << 20;

#[derive(Debug, thiserror::Error)]
#[error("{key}: {why}")]
pub struct BadHidden {
    pub key: &'static str,
    why: String,
    remedy: &'static str,
}

impl BadHidden {
    fn dir(why: String, remedy: &'static str) -> Self {
        Self { key: "gate.hidden_dir", why, remedy }
    }

    pub fn hints(&self) -> Vec<String> {
        vec![self.remedy.to_owned()]
    }
}

/// Where the directory is, if there is one.
pub fn dir(policy: &Policy, surroundings: &Surroundings) -> Option<PathBuf> {
    let named = &policy.gate.hidden.dir;
    (!named.is_empty()).then(|| surroundings.project.join(expand(named, surroundings)))
}

/// What no program may read, whatever else the policy lends it.
pub fn places(policy: &Policy, surroundings: &Surroundings) -> Vec<PathBuf> {
    let project = Some(surroundings.project.clone()).filter(|_| !policy.gate.hidden.globs.is_empty());
    dir(policy, surroundings).into_iter().chain(project).collect()
}

/// Looks at what a policy hides, before anything is written. `in_base` are the paths of the base.
pub fn check(
    policy: &Policy,
    surroundings: &Surroundings,
    repository: &Repository,
    in_base: &[Vec<u8>],
) -> Result<(), BadHidden> {
    let hidden = &policy.gate.hidden;
    let files = hidden_of_base(policy, in_base)?;
    let in_checkout = files.iter().map(|path| repository.toplevel.join(OsStr::from_bytes(path)));
    let dir = dir(policy, surroundings);
    check_reach(policy, surroundings, &in_checkout.chain(dir.clone()).collect::<Vec<_>>())?;
    let Some(dir) = dir else { return Ok(()) };
    if resolved(&dir).starts_with(resolved(&repository.toplevel)) {
        return Err(BadHidden::dir(
            format!("{} is inside the repository", hidden.dir),
            "hide paths of the repository with `gate.hidden`, or name a directory outside of it",
        ));
    }
    let files = read(&dir)?;
    match files.iter().find(|file| in_base.iter().any(|path| path == file.path.as_slice())) {
        Some(file) => Err(BadHidden::dir(
            format!("{} has {}, and so has the base", hidden.dir, file.path),
            "give the hidden file another name: what is judged must be what lands",
        )),
        None => Ok(()),
    }
}

/// The files of the base that the policy hides: some, and not all that agents are to change.
fn hidden_of_base<'b>(policy: &Policy, in_base: &'b [Vec<u8>]) -> Result<Vec<&'b Vec<u8>>, BadHidden> {
    let globs = &policy.gate.hidden.globs;
    if globs.is_empty() {
        return Ok(Vec::new());
    }
    let bad = |why: String, remedy| BadHidden { key: "gate.hidden", why, remedy };
    let rules =
        |policy| PathRules::new(policy, &[], &|_| None).map_err(|error| bad(error.to_string(), "correct it"));
    let hiding = rules(policy)?;
    let files: Vec<&Vec<u8>> = in_base.iter().filter(|path| is_hidden(&hiding, path)).collect();
    if files.is_empty() {
        let why = format!("the base has no file of {}", globs.join(", "));
        return Err(bad(why, "commit the files it names, or take it out"));
    }
    let mut open = policy.clone();
    open.gate.hidden.globs.clear();
    let open = rules(&open)?;
    let has_product =
        |rules: &PathRules| in_base.iter().any(|path| matches!(rules.kind(path), PathKind::Product { .. }));
    match has_product(&open) && !has_product(&hiding) {
        true => Err(bad(
            format!("{} hides all the product", globs.join(", ")),
            "hide tests alone: agents have to see what they change",
        )),
        false => Ok(files),
    }
}

/// What agents are lent must not be where hidden files are: what they may write cannot be closed in part, and
/// what is lent below a closed directory is open.
fn check_reach(policy: &Policy, surroundings: &Surroundings, hidden: &[PathBuf]) -> Result<(), BadHidden> {
    let hidden: Vec<PathBuf> = hidden.iter().map(|path| resolved(path)).collect();
    let closed: Vec<PathBuf> = places(policy, surroundings).iter().map(|place| resolved(place)).collect();
    let place = |path: &String| resolved(&surroundings.project.join(expand(path, surroundings)));
    let is_in = |place: &Path| hidden.iter().any(|file| file.starts_with(place) || place.starts_with(file));
    let SandboxPolicy { extra_read, extra_write, .. } = &policy.sandbox;
    let written = extra_write.iter().find(|path| is_in(&place(path)));
    let read = || {
        extra_read.iter().find(|path| {
            let place = place(path);
            is_in(&place) && closed.iter().any(|closed| place != *closed && place.starts_with(closed))
        })
    };
    match written.or_else(read) {
        Some(named) => Err(BadHidden {
            key: "gate.hidden",
            why: format!("agents could reach hidden files through {named:?}"),
            remedy: "take it out of sandbox.extra_read or sandbox.extra_write",
        }),
        None => Ok(()),
    }
}

/// Puts what the directory holds into the vault and into the policy, unless it is known.
pub fn store(policy: &mut Policy, surroundings: &Surroundings, vault: &Vault) -> Result<(), HiddenNotStored> {
    let Some(dir) = dir(policy, surroundings).filter(|_| policy.gate.hidden.files.is_none()) else {
        return Ok(());
    };
    policy.gate.hidden.files = Some(vault.put_files(&read(&dir)?)?);
    Ok(())
}

#[derive(Debug, thiserror::Error)]
pub enum HiddenNotStored {
    #[error(transparent)]
    Bad(#[from] BadHidden),
    #[error(transparent)]
    Vault(#[from] VaultError),
}

/// Every file below a directory, by its path from there.
fn read(dir: &Path) -> Result<Vec<PlainFile>, BadHidden> {
    let remedy = "name a directory with your hidden tests, as an absolute path or one that begins with ~/";
    let unread = |path: &Path, why: String| BadHidden::dir(format!("{}: {why}", path.display()), remedy);
    let (mut files, mut bytes, mut waiting) = (Vec::new(), 0, vec![dir.to_owned()]);
    while let Some(next) = waiting.pop() {
        let entries = fs::read_dir(&next).map_err(|error| unread(&next, error.to_string()))?;
        for entry in entries {
            let path = entry.map_err(|error| unread(&next, error.to_string()))?.path();
            let found = fs::symlink_metadata(&path).map_err(|error| unread(&path, error.to_string()))?;
            let name = path.file_name().unwrap_or_default();
            if found.is_dir() && name != "__pycache__" && name != ".git" {
                waiting.push(path);
                continue;
            }
            if found.is_symlink() {
                return Err(unread(&path, "it is a symbolic link".to_owned()));
            }
            if !found.is_file() {
                continue;
            }
            bytes += found.len();
            if files.len() >= MOST_FILES || bytes > MOST_BYTES {
                return Err(unread(dir, "it has more than 10,000 files or 64 MiB".to_owned()));
            }
            let text = fs::read(&path).map_err(|error| unread(&path, error.to_string()))?;
            let below = path.strip_prefix(dir).expect("it was found below it");
            files.push(PlainFile {
                path: below.as_os_str().as_bytes().into(),
                bytes: text,
                executable: found.permissions().mode() & 0o100 != 0,
            });
        }
    }
    if files.is_empty() {
        return Err(unread(dir, "there is no file in it".to_owned()));
    }
    files.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(files)
}

/// Whether no agent sees what is at a path.
pub fn is_hidden(rules: &PathRules, path: &[u8]) -> bool {
    matches!(rules.kind(path), PathKind::Guarded(GuardedBy::Hidden { .. }))
}

/// The rules with the files of the directory.
pub fn extend(rules: PathRules, policy: &Policy, vault: &Vault) -> Result<PathRules, VaultError> {
    let Some(files) = &policy.gate.hidden.files else { return Ok(rules) };
    let paths: BTreeSet<Vec<u8>> =
        vault.list_paths(files)?.into_iter().map(|(path, _)| path.into()).collect();
    Ok(rules.with_hidden(paths))
}

/// A tree as agents may see it.
pub fn visible(vault: &Vault, rules: &PathRules, tree: &TreeId) -> Result<TreeId, VaultError> {
    let hidden = hidden_paths(vault, rules, tree)?;
    match hidden.as_slice() {
        [] => Ok(tree.clone()),
        [_, ..] => vault.without(tree, &hidden),
    }
}

/// What an agent left, with the hidden files of the base. Where it put something in their place, that
/// stays, to be found.
pub fn filled(vault: &Vault, rules: &PathRules, left: &TreeId, base: &TreeId) -> Result<TreeId, VaultError> {
    let mut missing = hidden_paths(vault, rules, base)?;
    if missing.is_empty() {
        return Ok(left.clone());
    }
    let there: BTreeSet<BString> = vault.list_paths(left)?.into_iter().map(|(path, _)| path).collect();
    let is_taken = |path: &BString| {
        let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
        ends.chain([path.len()]).any(|end| there.contains(&BString::from(&path[..end])))
    };
    missing.retain(|path| !is_taken(path));
    graft(vault, left, base, &missing)
}

/// A tree with the files of the directory: what a gate judges.
pub fn judged(vault: &Vault, policy: &Policy, tree: &TreeId) -> Result<TreeId, VaultError> {
    let Some(files) = &policy.gate.hidden.files else { return Ok(tree.clone()) };
    let paths: Vec<BString> = vault.list_paths(files)?.into_iter().map(|(path, _)| path).collect();
    graft(vault, tree, files, &paths)
}

fn hidden_paths(vault: &Vault, rules: &PathRules, tree: &TreeId) -> Result<Vec<BString>, VaultError> {
    let paths = vault.list_paths(tree)?.into_iter().map(|(path, _)| path);
    Ok(paths.filter(|path| is_hidden(rules, path.as_ref())).collect())
}
