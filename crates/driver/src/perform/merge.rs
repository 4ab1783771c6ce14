//! Earlier work brought onto what landed since, and what an author is shown of it
//! where that is not possible.

use std::path::{Path, PathBuf};

use windlass_core::id::TreeId;
use windlass_core::input::{Input, PathList, UnmergedWork, WorkMerge};
use windlass_core::outcome::Fault;
use windlass_workspace::TreeMerge;

use super::prepare::visible;
use super::snapshot::{LISTED, shown, summary};
use super::{EffectRequest, EffectResources, Performed, fault, file_fault};

/// How much of the work the brief may take in; it shows less.
const SHOWN_BYTES: usize = 64 << 10;
/// How much of it is put beside the workspace.
const PATCH_BYTES: usize = 16 << 20;

pub(super) struct EarlierWork<'a> {
    pub base: &'a TreeId,
    pub work: &'a TreeId,
    pub head: &'a TreeId,
}

pub(super) fn merge(resources: &EffectResources, earlier: EarlierWork<'_>) -> Performed {
    let EarlierWork { base, work, head } = earlier;
    let vault = &resources.vault;
    let not_merged = |conflicts: PathList, failure: String| {
        let changes = vault.diff(base, work).map_err(|error| fault(&error))?;
        let files = changes.len() as u64;
        let (base, work) = (base.clone(), work.clone());
        Ok(WorkMerge::NotMerged(UnmergedWork { base, work, conflicts, failure, files }))
    };
    let merged = match vault.merge(base, head, work).map_err(|error| fault(&error))? {
        TreeMerge::Clean(tree) => {
            let changes = vault.diff(head, &tree).map_err(|error| fault(&error))?;
            WorkMerge::Clean { tree, change: summary(&changes) }
        }
        TreeMerge::Conflicts(paths) => {
            let count = paths.len() as u64;
            let paths = paths.iter().take(LISTED).map(shown).collect();
            not_merged(PathList { count, paths }, String::new())?
        }
        TreeMerge::Failed(why) => not_merged(PathList::default(), why)?,
    };
    Ok(Input::WorkMerged(Box::new(merged)))
}

/// The work as an author is shown it: the beginning of it in the brief, and all of
/// it in a file.
#[derive(Default)]
pub(super) struct UnmergedText {
    pub diff: String,
    pub file: String,
}

/// Where the file is, in the directory of an attempt.
pub(super) fn patch_dir(attempt_dir: &Path) -> PathBuf {
    attempt_dir.join("earlier")
}

/// Writes the file. What no agent sees is in neither.
pub(super) fn unmerged_text(
    resources: &EffectResources,
    request: &EffectRequest,
    unmerged: &UnmergedWork,
    attempt_dir: &Path,
) -> Result<UnmergedText, Fault> {
    let [base, work] = [&unmerged.base, &unmerged.work].map(|tree| visible(resources, request, tree));
    let (base, work) = (base?, work?);
    let shown = resources.vault.diff_text(&base, &work, SHOWN_BYTES).map_err(|error| fault(&error))?;
    let patch = resources.vault.patch(&base, &work, PATCH_BYTES).map_err(|error| fault(&error))?;
    let dir = patch_dir(attempt_dir);
    let file = dir.join("change.patch");
    let clean = resources.safeguards.redactor.bytes(&patch.bytes);
    std::fs::create_dir_all(&dir).map_err(|error| file_fault(&dir, &error))?;
    std::fs::write(&file, clean).map_err(|error| file_fault(&file, &error))?;
    Ok(UnmergedText {
        diff: String::from_utf8_lossy(&shown.bytes).into_owned(),
        file: file.display().to_string(),
    })
}
