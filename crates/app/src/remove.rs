//! Removing a loop with everything that windlass keeps of it.

use windlass_core::view::View;
use windlass_driver::remove_loop::{self, OnlyHere, RemovalError, RemovalRule, RemovedLoop};
use windlass_driver::setup;
use windlass_store::LeaseError;

use crate::{AppError, ErrorKind, OpenProject, StoredLoop};

impl OpenProject {
    pub fn remove(&self, stored: &StoredLoop, rule: RemovalRule) -> Result<RemovedLoop, AppError> {
        if self.caller.is_inside_attempt {
            return Err(AppError::refused("`windlass rm` inside an attempt of a loop is refused")
                .hint("an attempt does its task; it removes no loops"));
        }
        let view = stored.view()?;
        if rule == RemovalRule::OnlyWhatIsElsewhere {
            self.refuse_other_repository(&view)?;
        }
        let removed = remove_loop::remove(&self.store()?, &self.site(&stored.name), &view, rule);
        removed.map_err(|error| of_removal(&error, &view))
    }

    /// A loop that is half removed is only to be removed.
    pub(crate) fn refuse_removed(&self, view: &View) -> Result<(), AppError> {
        if !remove_loop::is_being_removed(&self.vault, view) {
            return Ok(());
        }
        let name = &view.name;
        Err(AppError::new(ErrorKind::NeedsOperator, format!("loop {name} is being removed"))
            .hint(format!("`windlass rm {name}` finishes that")))
    }

    /// Loops are found by the place of the repository. One that was made anew in the same place has nothing of them,
    /// so they answer for nothing here.
    pub(crate) fn refuse_other_repository(&self, view: &View) -> Result<(), AppError> {
        let (name, base) = (&view.name, view.base.as_str());
        if setup::is_commit(&self.surroundings(), base) {
            return Ok(());
        }
        let base = base.get(..10).unwrap_or(base);
        let why = format!(
            "loop {name} is of another repository that was here: this one does not have its base {base}"
        );
        Err(AppError::refused(why)
            .hint(format!("`windlass rm {name} --force` forgets it"))
            .hint("`windlass run --name NAME` starts a loop of another name"))
    }
}

fn of_removal(error: &RemovalError, view: &View) -> AppError {
    let name = &view.name;
    match error {
        RemovalError::OnlyHere(found) => {
            let mut refused = AppError::refused(format!("{name} is not removed: {}", words(&found[0])));
            for more in &found[1..] {
                refused = refused.hint(format!("also, {}", words(more)));
            }
            let ways = found.iter().filter_map(|only| way_out(only, view));
            let refused = ways.fold(refused, AppError::hint);
            refused.hint(format!("`windlass rm {name} --force` removes it all the same"))
        }
        RemovalError::Lease(LeaseError::Held { .. }) => {
            AppError::new(ErrorKind::NeedsOperator, error).hint(format!("`windlass cancel {name}` ends it"))
        }
        RemovalError::Branch(_) => {
            AppError::broken(error).hint(format!("then `windlass rm {name}` finishes"))
        }
        RemovalError::Lease(LeaseError::Io { .. })
        | RemovalError::History(_)
        | RemovalError::Store(_)
        | RemovalError::Open(_)
        | RemovalError::Repositories(_)
        | RemovalError::Leftovers(_)
        | RemovalError::Trail(_)
        | RemovalError::File { .. } => {
            AppError::broken(error).hint(format!("`windlass rm {name}` tries again once that is mended"))
        }
    }
}

fn words(only: &OnlyHere) -> String {
    match only {
        OnlyHere::OpenIteration => "an iteration is open".to_owned(),
        OnlyHere::Task(task) => format!("task {task} has work that did not land"),
        OnlyHere::Whole => "the final phases have work that did not land".to_owned(),
        OnlyHere::Branch(branch) => format!("no other branch has what landed on {branch}"),
        OnlyHere::Terms => {
            "it landed settings that nobody accepted, and later loops would trust them".to_owned()
        }
    }
}

fn way_out(only: &OnlyHere, view: &View) -> Option<String> {
    let name = &view.name;
    match only {
        OnlyHere::OpenIteration => Some(format!("`windlass run {name}` goes on with it")),
        OnlyHere::Task(task) => Some(format!("`windlass show {name} {task}` shows that work")),
        OnlyHere::Whole => Some(format!("`windlass show {name}` lists the attempts")),
        OnlyHere::Branch(_) if view.branch_gone => {
            let commit = view.commit.as_ref()?;
            Some(format!("`git branch {} {commit}` brings the branch back", view.branch))
        }
        OnlyHere::Branch(_) if view.branch_elsewhere.is_some() => {
            let commit = view.commit.as_ref()?;
            Some(format!("`git branch -f {} {commit}` puts the branch back", view.branch))
        }
        OnlyHere::Branch(_) => Some(format!("`windlass take {name}` brings it into your checkout")),
        OnlyHere::Terms => Some(format!("`windlass trust {name}` accepts them")),
    }
}
