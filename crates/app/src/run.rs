//! A drive of a loop that is on record.

use windlass_core::id::{LoopName, TaskId};
use windlass_core::input::Asked;
use windlass_core::state::{TaskState, TaskStatus};
use windlass_driver::drive_loop::{self, SiteWorlds};
use windlass_driver::local_world::Observer;
use windlass_driver::{Ended, Interrupts, setup};

use crate::command::RetryChoice;
use crate::revise::{of_setup, wanted_policy};
use crate::{AppError, ErrorKind, OpenProject, asked_tasks};

/// What a drive is to do, who watches it, and how it is told to stop.
pub struct RunStart<'o> {
    pub asked: Asked,
    pub observer: &'o mut dyn Observer,
    pub interrupts: Interrupts,
}

impl OpenProject {
    /// Drives a loop until it rests.
    pub fn run(&self, name: &LoopName, start: RunStart<'_>) -> Result<Ended, AppError> {
        self.refuse_inside_attempt()?;
        let mut worlds = SiteWorlds::new(self.site(name), start.interrupts, start.observer);
        drive_loop::drive(&self.store()?, name, start.asked, &mut worlds).map_err(|error| {
            let waits = error.is_disk_full() || error.is_driven_elsewhere();
            let kind = if waits { ErrorKind::NeedsOperator } else { ErrorKind::Broken };
            AppError::new(kind, &error).with_hints(error.hints())
        })
    }

    /// Asked before a loop is gone on with, as it is before one is created.
    pub fn check_signed_in(&self, name: &LoopName, asked: &Asked) -> Result<(), AppError> {
        let state = self.state_of(name)?;
        let policy = wanted_policy(&state);
        setup::check_signed_in(policy, &setup::called_roles(policy, asked), &self.surroundings())
            .map_err(|error| of_setup(&error, &|_| None))
    }

    /// Whether each open task of a loop that explores can be judged in this drive.
    pub fn check_explorers(&self, name: &LoopName, asked: &Asked) -> Result<(), AppError> {
        let state = self.state_of(name)?;
        let is_open = |task: &&TaskState| matches!(task.status, TaskStatus::Pending | TaskStatus::Active);
        let open = state.tasks.iter().filter(is_open).map(|task| (&task.task.id, task.task.mode.clone()));
        asked_tasks::check_explorers(asked, wanted_policy(&state), open)
    }

    /// The tasks of a loop that neither a check nor a review could prove in this drive, which is refused if there are
    /// no others. With `retry`, what is blocked is done, too.
    pub fn unprovable_tasks(
        &self,
        name: &LoopName,
        asked: &Asked,
        retry: RetryChoice,
    ) -> Result<Vec<TaskId>, AppError> {
        let state = self.state_of(name)?;
        let is_open = |task: &&TaskState| match task.status {
            TaskStatus::Pending | TaskStatus::Active => true,
            TaskStatus::Blocked => retry == RetryChoice::BlockedTasks,
            TaskStatus::Done | TaskStatus::Waived => false,
        };
        let open = state.tasks.iter().filter(is_open).map(|task| &*task.task);
        asked_tasks::unprovable(asked, wanted_policy(&state), open)
    }

    pub(crate) fn refuse_inside_attempt(&self) -> Result<(), AppError> {
        if self.caller.is_inside_attempt {
            return Err(AppError::refused("inside an attempt of a loop this is refused")
                .hint("an attempt does its task; it starts no loops and changes no plan"));
        }
        Ok(())
    }
}
