//! Accepted work onto the loop's branch.

use windlass_core::id::CommitId;
use windlass_core::input::Input;
use windlass_core::outcome::{Fault, Reason};
use windlass_workspace::{LandError, LandRequest, land as put};

use super::{Job, Performed, Workshop, fault};

pub(super) struct What<'a> {
    pub commit: &'a CommitId,
    pub expected: Option<&'a CommitId>,
    pub title: &'a str,
}

pub(super) fn land(shop: &Workshop, job: &Job, what: What<'_>) -> Performed {
    let request = LandRequest {
        branch: &format!("refs/heads/{}", job.creation.branch),
        commit: what.commit,
        expected: what.expected,
        reflog: &format!("windlass: {}", what.title.replace(['\n', '\r'], " ")),
        identity: &shop.repository.identity,
    };
    match put(&shop.repository, &shop.vault, &request) {
        Ok(_) => Ok(Input::Landed),
        Err(
            error @ (LandError::CheckedOut { .. } | LandError::Moved { .. } | LandError::NameConflict { .. }),
        ) => Err(Fault { reason: Reason::BranchMoved, detail: error.to_string() }),
        Err(
            error @ (LandError::BadBranch { .. }
            | LandError::BaseGone { .. }
            | LandError::Id(_)
            | LandError::Object(_)
            | LandError::Git(_)
            | LandError::File(_)),
        ) => Err(fault(&error)),
    }
}
