//! What a loop landed, brought into the operator's checkout where that is plain.

use windlass_core::id::CommitId;
use windlass_workspace::{NotTaken, Repository, TakeResult, take as take_branch};

pub use windlass_workspace::{FilterRule, FilterUse};

use crate::setup::{SetupError, locate_git};
use crate::surroundings::Surroundings;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TakeOutcome {
    Done {
        commit: CommitId,
    },
    /// The checkout has it already.
    Already {
        head: CommitId,
    },
    ByHand {
        why: String,
        command: String,
    },
    /// It would run these filters of the operator's git configuration. Nothing was done.
    WouldFilter {
        filters: Vec<FilterUse>,
    },
}

/// Brings a loop's branch into the operator's checkout, if that is plain.
pub fn take(
    surroundings: &Surroundings,
    branch: &str,
    filters: FilterRule,
) -> Result<TakeOutcome, SetupError> {
    let git = locate_git(surroundings)?;
    let repository = Repository::discover(&git, &surroundings.project)?;
    let full = format!("refs/heads/{branch}");
    Ok(match take_branch(&repository, &full, filters)? {
        TakeResult::FastForwarded { to, .. } => TakeOutcome::Done { commit: to },
        TakeResult::Already => TakeOutcome::Already { head: repository.head },
        TakeResult::ByHand { why, command } => TakeOutcome::ByHand { why: not_taken(&why, branch), command },
        TakeResult::WouldFilter { filters } => TakeOutcome::WouldFilter { filters },
    })
}

fn not_taken(why: &NotTaken, branch: &str) -> String {
    match why {
        NotTaken::Dirty { files } => {
            format!("your checkout has changes that are not committed: {}", listed(files))
        }
        NotTaken::Diverged { both } if both.is_empty() => {
            format!("your branch has commits that {branch} does not have; no file was changed on both sides")
        }
        NotTaken::Diverged { both } => {
            format!("your branch and {branch} have diverged; both changed {}", listed(both))
        }
        NotTaken::InTheWay { files } => {
            format!("your checkout has {} of its own, and git does not know it", listed(files))
        }
        NotTaken::Trail => format!("{branch} changes .windlass, which windlass itself writes"),
    }
}

fn listed(files: &[String]) -> String {
    const SHOWN: usize = 5;
    let mut words = files.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    if files.len() > SHOWN {
        words.push_str(&format!(" and {} more", files.len() - SHOWN));
    }
    words
}
