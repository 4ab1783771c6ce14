//! What a tree makes of the terms of its trial: measured when it is recorded, and
//! again when a proof is looked at.

use std::collections::BTreeSet;

use windlass_core::id::TreeId;
use windlass_core::input::PathList;
use windlass_core::policy::Policy;
use windlass_gate::{
    BadGlob, BaseTerms, GuardedBy, PathKind, PathRules, is_loaded_with_tests, is_never_product,
    only_adds_lines,
};
use windlass_workspace::{BString, ChangeKind, ItemKind, TreeChange, Vault, VaultError};

use crate::hidden;
use crate::surroundings::Surroundings;

/// How many paths of a kind are told.
const LISTED: usize = 100;

/// How many tests the line to paste has beside what runs them.
const NAMED_TESTS: usize = 20;

/// Above what the names of modules and outputs take.
pub const BASE_TERMS_LIMIT: u64 = 64 << 20;

/// A tree that will land, and the tree whose terms are trusted.
#[derive(Clone, Copy)]
pub struct TermsRequest<'a> {
    /// What the work began from.
    pub base: &'a TreeId,
    pub trusted: &'a TreeId,
    pub landing: &'a TreeId,
}

#[derive(Debug, Default)]
pub struct TermsMeasured {
    /// The product on trusted terms, where that is another tree.
    pub trusted_tree: Option<TreeId>,
    pub changed: PathList,
    pub added_tests: PathList,
}

pub fn measure(
    vault: &Vault,
    rules: &PathRules,
    request: TermsRequest<'_>,
) -> Result<TermsMeasured, VaultError> {
    let changes = vault.diff(request.trusted, request.landing)?;
    let own: BTreeSet<BString> =
        vault.diff(request.base, request.landing)?.into_iter().map(|change| change.path).collect();
    let mut measured = TermsMeasured::default();
    let mut put_back: Vec<BString> = Vec::new();
    for TreeChange { path, .. } in &changes {
        let list = match rules.kind(path.as_ref()) {
            PathKind::Product { .. } => continue,
            PathKind::Allowed if own.contains(path) => continue,
            // A task may change it, and did not: it is as somebody else planted it.
            PathKind::Allowed => &mut measured.changed,
            _ if is_term(vault, rules, request.landing, path.as_ref())? => &mut measured.changed,
            PathKind::Test { .. } | PathKind::Term(_) | PathKind::Guarded(_) => &mut measured.added_tests,
        };
        list.count += 1;
        if list.paths.len() < LISTED {
            list.paths.push(String::from_utf8_lossy(path.as_ref()).into_owned());
        }
        put_back.push(path.clone());
    }
    let tree = graft(vault, request.landing, request.trusted, &put_back)?;
    measured.trusted_tree = Some(tree).filter(|tree| tree != request.landing);
    Ok(measured)
}

/// What a fix began with, with the tests that it adds, and nothing else of it. None: it adds none.
pub fn with_added_tests(
    vault: &Vault,
    rules: &PathRules,
    base: &TreeId,
    landing: &TreeId,
) -> Result<Option<TreeId>, VaultError> {
    let changes = vault.diff(base, landing)?;
    let is_added =
        |change: &TreeChange| change.kind != ChangeKind::Deleted && rules.is_test(change.path.as_ref());
    let added: Vec<BString> = changes.into_iter().filter(is_added).map(|change| change.path).collect();
    let tree = graft(vault, base, landing, &added)?;
    Ok(Some(tree).filter(|tree| tree != base))
}

/// Whether a changed path needs somebody's word before it is trusted: all that is neither product nor a
/// plain test. What every test beside it loads is no plain test.
pub fn is_term(vault: &Vault, rules: &PathRules, tree: &TreeId, path: &[u8]) -> Result<bool, VaultError> {
    Ok(match rules.kind(path) {
        PathKind::Allowed | PathKind::Product { .. } => false,
        PathKind::Test { .. } if is_never_product(path) => true,
        PathKind::Test { .. } => {
            vault.read_blob(tree, path)?.is_some_and(|content| is_loaded_with_tests(path, &content))
        }
        PathKind::Term(_) | PathKind::Guarded(_) => true,
    })
}

/// What a path of a project is to its gate, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathExplained {
    pub path: String,
    /// Product, protected, or term.
    pub class: &'static str,
    pub why: String,
}

/// Of paths from the top of the project, by the files as they are there, and by texts of what a base showed to be no product.
pub fn explain(
    policy: &Policy,
    surroundings: &Surroundings,
    shown_by_base: &[String],
    paths: &[String],
) -> Result<Vec<PathExplained>, BadGlob> {
    let top = &surroundings.project;
    let shown = BaseTerms::read(shown_by_base.iter().map(String::as_str));
    let read = |file: &str| {
        let path = top.join(file);
        path.is_file().then(|| std::fs::read(path).unwrap_or_default())
    };
    let rules = PathRules::new(policy, &[], &read)?.with_base_terms(shown);
    let hidden = hidden::dir(policy, surroundings);
    let outside = paths.iter().filter(|path| hidden.as_ref().is_some_and(|dir| dir.join(path).is_file()));
    let rules = rules.with_hidden(outside.map(|path| path.clone().into_bytes()).collect());
    let of = |path: &String| {
        let (class, why) = rules.kind(path.as_bytes()).words();
        PathExplained { path: path.clone(), class, why }
    };
    Ok(paths.iter().map(of).collect())
}

/// Two trees, and the paths in which they differ.
pub struct TreeDiff<'a> {
    pub base: &'a TreeId,
    pub tree: &'a TreeId,
    pub changes: &'a [TreeChange],
}

/// The changed paths that no task may change so: to tests a file or lines may be
/// added, and nothing else.
pub fn forbidden(vault: &Vault, rules: &PathRules, diff: &TreeDiff<'_>) -> Result<Vec<BString>, VaultError> {
    let mut touched = Vec::new();
    for change in diff.changes {
        let free = match rules.kind(change.path.as_ref()) {
            PathKind::Allowed | PathKind::Product { .. } | PathKind::Term(_) => true,
            PathKind::Guarded(_) => false,
            PathKind::Test { .. } => match change.kind {
                ChangeKind::Added => true,
                ChangeKind::Deleted | ChangeKind::TypeChanged => false,
                ChangeKind::Modified => only_added_to(vault, diff, change)?,
            },
        };
        if !free {
            touched.push(change.path.clone());
        }
    }
    Ok(touched)
}

/// A change of a protected path that the operator can allow.
pub struct ForbiddenChange {
    pub done: &'static str,
    /// What to allow.
    pub paths: Vec<String>,
}

/// What is told of such a change beyond its path; none where nobody can allow it.
pub fn told_of_forbidden(
    vault: &Vault,
    rules: &PathRules,
    diff: &TreeDiff<'_>,
    change: &TreeChange,
) -> Result<Option<ForbiddenChange>, VaultError> {
    let (may_be_allowed, runs_tests) = match rules.kind(change.path.as_ref()) {
        PathKind::Guarded(GuardedBy::Check | GuardedBy::Recipe) => (true, true),
        PathKind::Test { .. } => (true, false),
        PathKind::Guarded(
            GuardedBy::Target | GuardedBy::Name { .. } | GuardedBy::Policy | GuardedBy::Hidden { .. },
        )
        | PathKind::Allowed
        | PathKind::Product { .. }
        | PathKind::Term(_) => (false, false),
    };
    if !may_be_allowed {
        return Ok(None);
    }
    let is_same_kind = change.old.map(|item| item.kind) == change.new.map(|item| item.kind);
    let done = match change.kind {
        // A new line can switch tests off there, as any other change can.
        ChangeKind::Modified if runs_tests && only_added_to(vault, diff, change)? => {
            "lines were added to what runs the tests"
        }
        ChangeKind::Added => "a protected path was added",
        ChangeKind::Modified if !runs_tests && is_same_kind => {
            "a protected path was edited: lines may be added to it, but here lines were changed or removed"
        }
        ChangeKind::Modified | ChangeKind::TypeChanged => "a protected path was edited",
        ChangeKind::Deleted => "a protected path was deleted",
    };
    let mut paths = vec![String::from_utf8_lossy(change.path.as_ref()).into_owned()];
    if runs_tests {
        paths.extend(added_tests_named_in(vault, rules, diff, change)?);
    }
    Ok(Some(ForbiddenChange { done, paths }))
}

/// The tests that the work added and that this file names: on trusted terms it would not find them.
fn added_tests_named_in(
    vault: &Vault,
    rules: &PathRules,
    diff: &TreeDiff<'_>,
    change: &TreeChange,
) -> Result<Vec<String>, VaultError> {
    let Some(text) = vault.read_blob(diff.tree, change.path.as_ref())? else { return Ok(Vec::new()) };
    let text = String::from_utf8_lossy(&text);
    let is_named = |path: &str| {
        let name = path.rsplit('/').next().unwrap_or(path);
        let stem = name.split('.').next().filter(|stem| !stem.is_empty()).unwrap_or(name);
        text.contains(stem)
    };
    let is_added_test = |change: &&TreeChange| {
        change.kind == ChangeKind::Added && matches!(rules.kind(change.path.as_ref()), PathKind::Test { .. })
    };
    let added = diff.changes.iter().filter(is_added_test);
    let paths = added.map(|change| String::from_utf8_lossy(change.path.as_ref()).into_owned());
    Ok(paths.filter(|path| is_named(path)).take(NAMED_TESTS).collect())
}

fn only_added_to(vault: &Vault, diff: &TreeDiff<'_>, change: &TreeChange) -> Result<bool, VaultError> {
    let kinds = (change.old.map(|item| item.kind), change.new.map(|item| item.kind));
    let same = matches!(
        kinds,
        (Some(ItemKind::File), Some(ItemKind::File))
            | (Some(ItemKind::Executable), Some(ItemKind::Executable))
    );
    if !same {
        return Ok(false);
    }
    let read = |tree| vault.read_blob(tree, change.path.as_ref());
    Ok(match (read(diff.base)?, read(diff.tree)?) {
        (Some(before), Some(after)) => only_adds_lines(&before, &after),
        (_, _) => false,
    })
}

/// `tree` with these paths as they are in `from`.
pub fn graft(vault: &Vault, tree: &TreeId, from: &TreeId, paths: &[BString]) -> Result<TreeId, VaultError> {
    match paths {
        [] => Ok(tree.clone()),
        [_, ..] => vault.graft(tree, from, paths),
    }
}

/// Whether a tree has a test of the project's, or what runs one.
pub fn has_tests(vault: &Vault, rules: &PathRules, tree: &TreeId) -> Result<bool, VaultError> {
    let is_test = |path: &BString| {
        matches!(
            rules.kind(path.as_ref()),
            PathKind::Test { .. } | PathKind::Guarded(GuardedBy::Check | GuardedBy::Hidden { .. })
        )
    };
    Ok(vault.list_paths(tree)?.iter().any(|(path, _)| is_test(path)))
}
