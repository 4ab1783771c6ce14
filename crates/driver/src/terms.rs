//! What a tree makes of the terms of its trial: measured when it is recorded, and
//! again when a proof is looked at.

use windlass_core::id::TreeId;
use windlass_core::input::PathList;
use windlass_core::policy::Policy;
use windlass_gate::{BadGlob, BaseTerms, GuardedBy, PathKind, PathRules, is_never_product, only_adds_lines};
use windlass_workspace::{BString, ChangeKind, ItemKind, TreeChange, Vault, VaultError};

use crate::hidden;
use crate::surroundings::Surroundings;

/// How many paths of a kind are told.
const LISTED: usize = 100;

/// Above what the names of modules and outputs take.
pub const BASE_TERMS_LIMIT: u64 = 64 << 20;

/// A tree that will land, and the tree whose terms are trusted.
#[derive(Clone, Copy)]
pub struct TermsRequest<'a> {
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
    let mut measured = TermsMeasured::default();
    let mut put_back: Vec<BString> = Vec::new();
    for TreeChange { path, .. } in &changes {
        let list = match rules.kind(path.as_ref()) {
            PathKind::Allowed | PathKind::Product { .. } => continue,
            _ if is_term(rules, path.as_ref()) => &mut measured.changed,
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

/// Whether a changed path needs somebody's word before it is trusted: all that is neither product nor a
/// plain test.
pub fn is_term(rules: &PathRules, path: &[u8]) -> bool {
    match rules.kind(path) {
        PathKind::Allowed | PathKind::Product { .. } => false,
        PathKind::Test { .. } => is_never_product(path),
        PathKind::Term(_) | PathKind::Guarded(_) => true,
    }
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
    let rules = PathRules::new(policy, &[], &|file| std::fs::read(top.join(file)).ok())?.with_base_terms(shown);
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
