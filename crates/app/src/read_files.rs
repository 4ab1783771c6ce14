//! What the project's files said when a loop last read them. So what was edited since is told apart from what the
//! operator set for this loop alone.

use std::convert::Infallible;
use std::fs;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use windlass_config::Resolved;
use windlass_core::id::LoopName;
use windlass_core::policy::Policy;
use windlass_core::task::Task;
use windlass_plan::Planned;
use windlass_store::blobs::id_of;

use crate::revise::wanted_policy;
use crate::{AppError, OpenProject, PolicyArguments};

/// One reading, kept beside the loop. Where it is lost, edits are taken by `windlass set --reload` only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ReadFiles {
    /// Of windlass.toml and the user's own file, without what a command line added.
    policy: Policy,
    has_project_file: bool,
    /// None where the loop was made of a sentence.
    plan: Option<ReadPlan>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct ReadPlan {
    source: String,
    digest: String,
}

/// The files as they are, beside an earlier reading.
pub(crate) struct EditedFiles {
    pub before: Policy,
    pub after: Policy,
    /// The plan, where it is another.
    pub planned: Option<Planned>,
    pub now: ReadFiles,
}

impl EditedFiles {
    pub fn is_empty(&self) -> bool {
        self.before == self.after && self.planned.is_none()
    }
}

impl ReadFiles {
    pub fn with_policy(self, resolved: &Resolved) -> Self {
        Self { policy: resolved.policy.clone(), has_project_file: resolved.has_project_file, ..self }
    }

    pub fn with_plan(self, source: &str, planned: &Planned) -> Self {
        Self { plan: Some(ReadPlan { source: source.to_owned(), digest: digest(planned) }), ..self }
    }
}

impl OpenProject {
    /// The files as a new loop reads them, whatever else its policy has.
    pub(crate) fn read_files(&self, plan: Option<(&str, &Planned)>) -> Result<ReadFiles, AppError> {
        let Resolved { policy, has_project_file, .. } = self.policy(&PolicyArguments::default())?;
        let read = ReadFiles { policy, has_project_file, plan: None };
        Ok(match plan {
            Some((source, planned)) => read.with_plan(source, planned),
            None => read,
        })
    }

    fn kept_reading(&self, name: &LoopName) -> PathBuf {
        self.vault.cache_file(name, "files.json")
    }

    pub(crate) fn earlier_reading(&self, name: &LoopName) -> Option<ReadFiles> {
        serde_json::from_slice(&fs::read(self.kept_reading(name)).ok()?).ok()
    }

    pub(crate) fn keep_reading(&self, name: &LoopName, read: &ReadFiles) -> Result<(), AppError> {
        let text = serde_json::to_string(read).expect("a policy is text");
        crate::init::write(&self.kept_reading(name), &text)
    }

    /// Whether the loop's plan is written in files. Of a loop whose reading is lost it is not known, and no.
    pub(crate) fn is_of_files(&self, name: &LoopName) -> bool {
        self.earlier_reading(name).is_some_and(|earlier| earlier.plan.is_some())
    }

    /// Where the loop's plan is written; none for a sentence, and where its reading is lost.
    pub fn plan_source(&self, name: &LoopName) -> Option<String> {
        let earlier = self.earlier_reading(name)?;
        let plan = earlier.plan?;
        if plan.source != earlier.policy.plan.source {
            return Some(plan.source);
        }
        let resolved = self.policy(&PolicyArguments::default()).ok();
        let now = resolved.filter(|resolved| resolved.has_project_file).map(|now| now.policy.plan.source);
        Some(now.filter(|source| !source.trim().is_empty()).unwrap_or(plan.source))
    }

    /// That source, where windlass.toml does not name it: `--plan` did.
    pub fn asked_plan_source(&self, name: &LoopName) -> Option<String> {
        let earlier = self.earlier_reading(name)?;
        let source = earlier.plan?.source;
        (source != earlier.policy.plan.source).then_some(source)
    }

    /// The same, where it is a directory of task files in this checkout.
    pub(crate) fn plan_directory(&self, name: &LoopName) -> Option<String> {
        let source = self.plan_source(name)?.trim().to_owned();
        self.project.top.join(&source).is_dir().then_some(source)
    }

    /// None where nothing is known of an earlier reading. A file that is gone says nothing: the checkout may be that
    /// of another branch.
    pub(crate) fn edited_files(&self, name: &LoopName) -> Result<Option<EditedFiles>, AppError> {
        let Some(earlier) = self.earlier_reading(name) else { return Ok(None) };
        let mut now = earlier.clone();
        let resolved = self.policy(&PolicyArguments::default())?;
        if resolved.has_project_file || !earlier.has_project_file {
            now = now.with_policy(&resolved);
        }
        let mut planned = None;
        if let Some(plan) = &earlier.plan {
            let follows = plan.source == earlier.policy.plan.source;
            let source = if follows { &now.policy.plan.source } else { &plan.source }.clone();
            if self.project.top.join(&source).exists() {
                let is_as_read = source == plan.source
                    && now.policy.plan.format.trim() == earlier.policy.plan.format.trim();
                // What was said of the format for this loop alone goes on to hold.
                let format = match is_as_read {
                    true => wanted_policy(&self.state_of(name)?).plan.format.clone(),
                    false => now.policy.plan.format.clone(),
                };
                let read = self.read_plan(&source, &format)?;
                now = now.with_plan(&source, &read);
                let is_other = now.plan.as_ref().is_some_and(|now| now.digest != plan.digest);
                planned = is_other.then_some(read);
            }
        }
        Ok(Some(EditedFiles { before: earlier.policy, after: now.policy.clone(), planned, now }))
    }
}

/// Of what a loop takes from the plan. Where the files of it are is no part: a checkout may be moved.
fn digest(planned: &Planned) -> String {
    let name = |text: &str| Ok::<_, Infallible>(id_of(text.as_bytes()));
    let tasks: Result<Vec<Task>, _> = planned.tasks.iter().map(|task| task.clone().into_task(name)).collect();
    let Ok(tasks) = tasks;
    let tools: Vec<&str> = planned.tools.iter().map(|tool| tool.value.as_str()).collect();
    let text = serde_json::to_string(&(tasks, tools)).expect("a task is text");
    id_of(text.as_bytes()).to_string()
}

#[cfg(test)]
mod tests {
    use windlass_core::id::TaskId;
    use windlass_plan::PlannedTask;

    use super::*;

    #[test]
    fn a_plan_is_the_same_wherever_its_files_are() {
        let task = PlannedTask::new(TaskId::new("one"), "One", "# One\n");
        let at = |file: &str, line| PlannedTask { file: Some(file.into()), line, ..task.clone() };
        let of = |task: PlannedTask| {
            let (goal, format, tools) = (String::new(), None, Vec::new());
            digest(&Planned { tasks: vec![task], goal, format, tools })
        };
        let here = of(at("/here/tasks/one.md", 1));
        assert_eq!(here, of(at("/there/tasks/one.md", 7)));
        for other in [
            PlannedTask { text: "# Two\n".to_owned(), ..task.clone() },
            PlannedTask { title: "Two".to_owned(), ..task.clone() },
            PlannedTask { depends_on: vec![TaskId::new("two")], ..task.clone() },
            PlannedTask { done: true, ..task.clone() },
        ] {
            assert_ne!(here, of(other));
        }
    }
}
