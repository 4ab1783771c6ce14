//! Turns what an operator wrote into a plan: tasks, in order, that may depend
//! on one another. One file per format, all read into [`Planned`]:
//!
//! - `tasks_dir`: a directory of `*.md`, one task a file;
//! - `task_file`: one Markdown file, one task;
//! - `milestones`: a Markdown document with section markers;
//! - `checklist`: a Markdown document with boxes to check;
//! - `prd`: a `prd.json` with user stories;
//! - `github_issues`: what `gh issue list --json` printed;
//! - `codescribe`: a CodeScribe task in TOML;
//! - `goal`: one sentence, one task.
//!
//! It writes no file (what a task file is to say, `front_matter` puts into words), knows nothing of stores, agents or git, and
//! refuses what it does not understand with the place and a remedy, instead of
//! guessing. Texts leave here as text; whoever stores them makes
//! `windlass_core::task::Task` of them.

mod checklist;
mod codescribe;

mod criterion;
mod draw;
mod error;
mod fault;
mod format;
mod front_matter;
pub mod fuzzed;
mod github_issues;
pub mod goal;
mod graph;
mod json;
mod jsonc;
mod link;
mod markdown;
mod milestones;
mod outline;
mod place;
mod prd;
mod proposal;
mod scope;
mod shared_text;
mod slug;
mod source;
mod task_file;
pub mod tasks_dir;
mod yaml;

use std::path::PathBuf;

use windlass_core::acceptance::CriterionCheck;
use windlass_core::id::{BlobId, TaskId};
use windlass_core::nearest::nearest;
use windlass_core::task::{Task, TaskMode};

pub use checklist::ChecklistFault;
pub use codescribe::ChatFault;
pub use criterion::PlannedCriterion;
pub use draw::{TaskMark, dot, mermaid, tree};
pub use error::PlanError;
pub use fault::{FaultKind, SyntaxFault};
pub use format::{PlanFormat, UnknownPlanFormat};
pub use front_matter::{
    FrontMatter, FrontValue, KEYS, UnwritableFrontMatter, body_of, read_front_matter, task_text, with_keys,
};
pub use graph::TaskGraph;
pub use json::JsonFault;
pub use link::{BadPlan, MAX_TASKS};
pub use markdown::Opened;
pub use milestones::SectionFault;
pub use place::{FilePosition, Placed};
pub use proposal::{MOST_PROPOSED, PlanProposal, ProposedCheck, ProposedTask, file_words};
pub use scope::TaskScope;
pub use source::{MAX_FILE_BYTES, MAX_JSON_BYTES, check, look, read};
pub use task_file::{task_of_text, with_commented_dependencies};

/// A plan as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    pub tasks: Vec<PlannedTask>,
    /// What the loop is for, in one line.
    pub goal: String,
    /// What it was read as; none for a goal sentence.
    pub format: Option<PlanFormat>,
    /// The programs that a CodeScribe task lets its author run.
    pub tools: Vec<Placed<String>>,
}

/// One task as it was read, its text not yet stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedTask {
    pub id: TaskId,
    pub title: String,
    /// All that the agent is told. Of a task file the whole file, front matter
    /// included, as the operator wrote it; of a larger document the part about
    /// this task, and below it what the document says about all of them.
    pub text: String,
    /// The part about this task alone, where the text has more.
    pub own_text: Option<String>,
    pub depends_on: Vec<TaskId>,
    /// Lower goes first.
    pub priority: i64,
    pub allow: Vec<Placed<String>>,
    pub checks: Vec<Placed<String>>,
    pub acceptance: Vec<PlannedCriterion>,
    /// It was done before windlass came.
    pub done: bool,
    /// It was blocked before windlass came.
    pub blocked: bool,
    /// How often it was rejected before windlass came.
    pub rejections: u64,
    /// The way of working its briefs are made for.
    pub mode: Option<Placed<String>>,
    pub scope: TaskScope,
    /// The files a milestone says it is about, what it says of edits to them,
    /// and how its author means to verify it.
    pub files: Vec<String>,
    pub edits: Vec<String>,
    pub verification: Vec<String>,
    /// Where the task was written; none for a goal sentence.
    pub file: Option<PathBuf>,
    /// The line of that file it starts on, from 1.
    pub line: usize,
}

impl PlannedTask {
    pub fn new(id: TaskId, title: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            id,
            title: title.into(),
            text: text.into(),
            own_text: None,
            depends_on: Vec::new(),
            priority: 0,
            allow: Vec::new(),
            checks: Vec::new(),
            acceptance: Vec::new(),
            done: false,
            blocked: false,
            rejections: 0,
            mode: None,
            scope: TaskScope::default(),
            files: Vec::new(),
            edits: Vec::new(),
            verification: Vec::new(),
            file: None,
            line: 1,
        }
    }

    /// The task as core knows it, once its text is stored.
    /// `stored` keeps a text, or only names it.
    pub fn into_task<E>(self, mut stored: impl FnMut(&str) -> Result<BlobId, E>) -> Result<Task, E> {
        let text = stored(&self.text)?;
        let own_text = self.own_text.as_deref().map(stored).transpose()?;
        let plain = |items: Vec<Placed<String>>| items.into_iter().map(|item| item.value).collect();
        let criterion_checks = self.criterion_checks();
        Ok(Task {
            own_text,
            depends_on: self.depends_on,
            priority: self.priority,
            allow: plain(self.allow),
            checks: plain(self.checks),
            criterion_checks,
            acceptance: self.acceptance.into_iter().map(|criterion| criterion.text).collect(),
            mode: self.mode.map_or_else(TaskMode::default, |mode| TaskMode::from(mode.value)),
            scope: self.scope.into(),
            done_before: self.done,
            blocked_before: self.blocked && !self.done,
            rejected_before: u32::try_from(self.rejections).unwrap_or(u32::MAX),
            ..Task::plain(self.id, self.title, text)
        })
    }

    /// The commands that its criteria bring along.
    pub fn criterion_checks(&self) -> Vec<CriterionCheck> {
        criterion_checks(&self.acceptance)
    }

    /// Where one of its `allow` or `checks` items stands.
    pub fn place_of(&self, item: &Placed<String>) -> FilePosition {
        let file = self.file.clone().unwrap_or_else(|| PathBuf::from(self.id.as_str()));
        item.in_file(&file)
    }
}

fn criterion_checks(criteria: &[PlannedCriterion]) -> Vec<CriterionCheck> {
    let numbered = (1..).zip(criteria);
    let own = |(criterion, of): (u32, &PlannedCriterion)| {
        Some(CriterionCheck { criterion, run: of.check.as_ref()?.value.clone() })
    };
    numbered.filter_map(own).collect()
}

impl From<TaskScope> for windlass_core::scope::OwnScope {
    fn from(written: TaskScope) -> Self {
        let limit = |written: Option<Placed<u64>>| written.map(|limit| limit.value);
        Self {
            files_changed: limit(written.files_changed),
            lines_written: limit(written.lines_written),
            files_read: limit(written.files_read),
            within: written.within.into_iter().map(|glob| glob.value).collect(),
        }
    }
}

impl Planned {
    /// Each check that a task asks to be judged by and nobody defined.
    pub fn unknown_checks(&self, known: &[&str]) -> Vec<PlanError> {
        let unknown = |task: &PlannedTask| {
            let names = task.checks.iter().filter(|check| !known.contains(&check.value.as_str()));
            let error = |check: &Placed<String>| PlanError::UnknownCheck {
                place: task.place_of(check),
                check: check.value.clone(),
                nearest: nearest(&check.value, known.iter().copied()).map(str::to_owned),
            };
            names.map(error).collect::<Vec<_>>()
        };
        self.tasks.iter().flat_map(unknown).collect()
    }
}

/// A title as surfaces show it: one line, no control characters, bounded.
fn title_line(text: &str) -> String {
    const LONGEST: usize = 120;
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let line = line.trim();
    if line.chars().count() <= LONGEST {
        return line.to_owned();
    }
    let mut short: String = line.chars().take(LONGEST - 1).collect();
    short.truncate(short.trim_end().len());
    short.push('…');
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_one_bounded_line() {
        assert_eq!(title_line(" a\tb\u{1b}[31m "), "a b [31m");
        assert_eq!(title_line(&"é".repeat(200)).chars().count(), 120);
    }
}
