//! Accepted work onto the loop's branch.

use windlass_core::id::CommitId;
use windlass_core::input::Input;
use windlass_core::outcome::{Fault, Reason};
use windlass_workspace::{LandError, LandRequest, land as put};

use super::{EffectRequest, EffectResources, Performed, fault};

pub(super) struct Landing<'a> {
    pub commit: &'a CommitId,
    pub expected: Option<&'a CommitId>,
    pub title: &'a str,
}

pub(super) fn land(resources: &EffectResources, request: &EffectRequest, landing: Landing<'_>) -> Performed {
    let landing_request = LandRequest {
        branch: &format!("refs/heads/{}", request.creation.branch),
        commit: landing.commit,
        expected: landing.expected,
        reflog: &format!("windlass: {}", landing.title.replace(['\n', '\r'], " ")),
        identity: &resources.repository.identity,
    };
    match put(&resources.repository, &resources.vault, &landing_request) {
        Ok(_) => Ok(Input::Landed),
        Err(
            error @ (LandError::CheckedOut { .. }
            | LandError::Moved { .. }
            | LandError::Locked { .. }
            | LandError::NameConflict { .. }),
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
