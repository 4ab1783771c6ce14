//! The use cases that every surface calls: find a project and its loops, read
//! them, create, drive and command them. A surface brings what only its process
//! knows (a [`Caller`]) and shows what it gets.
//!
//! It deliberately has no terminal, reads no environment, installs no signal
//! handler, never prints and never exits. It decides nothing about loops: that
//! is core's. It is the order in which config, plan, store and driver are called.
//!
//! Neighbours: `cli` calls it; `driver` drives, `store` remembers, `config` and
//! `plan` read what the operator wrote.

mod adopt;
mod agents;
mod asked_tasks;
mod attach;
mod caller;
mod check;
mod command;
mod create;
mod debug_log;
mod detach;
mod doctor;
mod error;
mod event_filter;
mod follow;
mod gate;
mod hidden;
mod history;
mod init;
mod plan;
mod plan_files;
mod plan_wait;
mod planning;
mod policy;
mod project;
mod prompts;
mod read_files;
mod red_output;
mod remove;
mod result;
mod revise;
mod run;
mod size;
mod story;
mod task;
mod task_files;
mod try_ways;

pub use adopt::AdoptedLoops;
pub use agents::{agents, probe};
pub use asked_tasks::counted_tasks;
pub use attach::FollowEnd;
pub use caller::Caller;
pub use check::StopCheckReport;
pub use command::{CommandReport, CommandResult, RetryChoice};
pub use create::{RunProposal, RunRequest, RunTarget};
pub use debug_log::{DebugLog, open_debug_log};
pub use detach::{DetachRequest, Detached};
pub use doctor::{DoctorReport, doctor};
pub use error::{AppError, ErrorKind};
pub use event_filter::{EventFilter, ListedEvent};
pub use follow::{FollowNext, FollowedEvent};
pub use hidden::hidden_mode;
pub use history::{LoggedEvent, LoggedItem};
pub use init::{CheckTries, InitReport, InitRequest, PromptPlan, init, make_repository};
pub use plan::{PlanPage, PlanPicture, PlanRequest};
pub use plan_files::PlannedFile;
pub use plan_wait::{OwnPlanWait, PlanWait};
pub use planning::{NotPlanned, PlanWish, PlanningObserver, PlanningReport, PlanningTalk};
pub use policy::{PolicyArguments, policy_format};
pub use project::{OpenProject, StoredLoop};
pub use prompts::Prompt;
pub use result::AttemptBranch;
pub use revise::{PlannedRun, PolicyBelow, ReviseReport, ReviseRequest, ReviseResult, RevisionPreview};
pub use run::RunStart;
pub use story::{AttemptStory, IterationStory, TaskStory};
pub use task::{ListedTask, NewTask, TaskChange, TaskEdit, TaskReport};
pub use try_ways::{StackReport, TriedWay, TryObserver};

pub use windlass_config::TestWay;
pub use windlass_core::live::Live;
/// What the use cases take and give, and the process's own clock.
pub use windlass_driver::agents::{AgentStatus, Login};
pub use windlass_driver::changed_files::ChangedFile;
pub use windlass_driver::clock;
pub use windlass_driver::kept_trees::PrintedDiff;
pub use windlass_driver::local_world::Observer;
pub use windlass_driver::preview::{
    PreviewError, PreviewedBrief, briefs as preview_briefs, view as preview_view,
};
pub use windlass_driver::prove;
pub use windlass_driver::remove_loop::{BranchRemoval, RemovalRule, RemovedLoop};
pub use windlass_driver::setup::{DoctorRow, Proposed};
pub use windlass_driver::take::{FilterRule, FilterUse, TakeOutcome};
pub use windlass_driver::terms::PathExplained;
pub use windlass_driver::{Ended, Interrupts};
pub use windlass_plan::ProposedCheck;
