//! The kinds of plan, and how a file tells which one it is.

use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::str::FromStr;

use windlass_core::nearest::nearest;

use crate::checklist::is_task_heading;
use crate::error::PlanError;
use crate::front_matter::read_all;
use crate::markdown::MarkdownText;
use crate::milestones;

/// What a plan is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PlanFormat {
    /// A directory of Markdown files, one task each.
    Tasks,
    /// One Markdown file, one task.
    Task,
    /// A Markdown document with section markers.
    Milestones,
    /// A `prd.json` with user stories.
    Prd,
    /// A CodeScribe task in TOML.
    Codescribe,
    /// A Markdown document with boxes to check.
    Checklist,
    /// GitHub issues as `gh issue list --json` prints them.
    GithubIssues,
}

impl PlanFormat {
    pub const ALL: [Self; 7] = [
        Self::Tasks,
        Self::Task,
        Self::Milestones,
        Self::Prd,
        Self::Codescribe,
        Self::Checklist,
        Self::GithubIssues,
    ];

    /// The word that names it in `plan.format`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tasks => "tasks",
            Self::Task => "task",
            Self::Milestones => "milestones",
            Self::Prd => "prd",
            Self::Codescribe => "codescribe",
            Self::Checklist => "checklist",
            Self::GithubIssues => "github-issues",
        }
    }
}

impl fmt::Display for PlanFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A word that names no format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no plan format {name:?}")]
pub struct UnknownPlanFormat {
    pub name: String,
    pub nearest: Option<&'static str>,
}

impl UnknownPlanFormat {
    /// What the operator can do about it.
    pub fn remedy(&self) -> String {
        match self.nearest {
            Some(name) => format!("did you mean `{name}`?"),
            None => format!("known formats: {}", PlanFormat::ALL.map(PlanFormat::name).join(", ")),
        }
    }
}

impl FromStr for PlanFormat {
    type Err = UnknownPlanFormat;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|format| format.name() == name);
        found.ok_or_else(|| UnknownPlanFormat {
            name: name.to_owned(),
            nearest: nearest(name, Self::ALL.map(Self::name)),
        })
    }
}

/// The format that a file's name and marks leave no doubt about.
pub(crate) fn of_file(file: &Path, text: &str) -> Result<PlanFormat, PlanError> {
    let extension = file.extension().and_then(|extension| extension.to_str()).map(str::to_lowercase);
    match extension.as_deref() {
        Some("toml") => Ok(PlanFormat::Codescribe),
        // Only a list can be issues; whatever else there is, the reader of stories says what is missing.
        Some("json" | "jsonc") if text.trim_start().starts_with('[') => Ok(PlanFormat::GithubIssues),
        Some("json" | "jsonc") => Ok(PlanFormat::Prd),
        Some("md" | "markdown") => of_markdown(file, text),
        Some(_) | None => Err(PlanError::UnknownFormat { file: file.to_owned() }),
    }
}

fn of_markdown(file: &Path, text: &str) -> Result<PlanFormat, PlanError> {
    let front = read_all(text);
    // Front matter with faults is a task file's: its own reader names them.
    let lines = front.as_ref().map_or(0, |front| front.lines);
    let read = MarkdownText::new(text, lines);
    let whole: Range<usize> = 0..read.text.len();
    let has_front = lines > 0 || front.is_err();
    let has_markers = milestones::has_markers(&read);
    let has_tasks = read.headings_in(&whole).any(is_task_heading);
    let has_boxes = read.items.iter().any(|item| item.checked.is_some());
    let only_boxes = read.prose.is_none()
        && read.items.iter().all(|item| item.depth > 0 || item.checked.is_some())
        && crate::outline::parts(&read, &whole, &["acceptance", "acceptance criteria"]).is_empty();
    let either = |first, second| PlanError::TwoFormats { file: file.to_owned(), first, second };
    match (has_markers, has_tasks) {
        (true, true) => Err(either(PlanFormat::Milestones, PlanFormat::Checklist)),
        (true, false) if has_front => Err(either(PlanFormat::Milestones, PlanFormat::Task)),
        (true, false) => Ok(PlanFormat::Milestones),
        (false, true) if has_front => Err(either(PlanFormat::Checklist, PlanFormat::Task)),
        (false, true) => Ok(PlanFormat::Checklist),
        (false, false) if !has_boxes || has_front => Ok(PlanFormat::Task),
        (false, false) if only_boxes => Ok(PlanFormat::Checklist),
        (false, false) => Err(either(PlanFormat::Task, PlanFormat::Checklist)),
    }
}
