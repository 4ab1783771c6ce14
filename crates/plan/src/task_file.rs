//! One Markdown file as one task.

use std::path::Path;

use windlass_core::id::TaskId;

use crate::criterion::merged;
use crate::error::PlanError;
use crate::fault::SyntaxFault;
use crate::format::PlanFormat;
use crate::front_matter::{FrontMatter, read_parts};
use crate::link::{BadPlan, Frame, Slot, finish};
use crate::markdown::MarkdownText;
use crate::outline::{Outline, dependency_comments, outline};
use crate::place::FilePosition;
use crate::slug::id_of_file;
use crate::{Planned, PlannedTask, title_line};

pub(crate) fn parse(file: &Path, text: &str) -> Result<Planned, BadPlan> {
    let id = id_of_file(file).map_err(|why| vec![PlanError::BadId { file: file.to_owned(), why }])?;
    finish(vec![slot(id, file, text.to_owned())], Frame::new(PlanFormat::Task))
}

/// What the text of a task file says, whatever is wrong with its dependencies; none where it cannot be read.
pub fn task_of_text(id: &TaskId, text: &str) -> Option<PlannedTask> {
    let slot = slot(id.clone(), Path::new(id.as_str()), text.to_owned());
    if slot.problems.is_empty() { slot.task } else { None }
}

/// The text with other dependencies, where one comment names all of them; none where none or several do, or the
/// front matter does.
pub fn with_commented_dependencies(text: &str, ids: &[TaskId]) -> Option<String> {
    let (front, _) = read_parts(text).ok()?;
    let markdown = MarkdownText::new(text, front.lines);
    let body = markdown.index.line_start(front.lines + 1)..markdown.text.len();
    let comments = dependency_comments(&markdown, &body);
    let [comment] = &comments[..] else { return None };
    if !front.depends_on.is_empty() {
        return None;
    }
    let mark = &text[..text.len() - markdown.text.len()];
    let (before, after) = (&markdown.text[..comment.start], &markdown.text[comment.end..]);
    let names = ids.iter().map(TaskId::as_str).collect::<Vec<_>>().join(", ");
    let gap = if names.is_empty() { "" } else { " " };
    Some(format!("{mark}{before}<!-- depends_on:{gap}{names} -->{after}"))
}

/// What one task file says, with every fault in it.
pub(crate) fn slot(id: TaskId, file: &Path, text: String) -> Slot {
    let problem = |fault: SyntaxFault| fault.in_file(file);
    let (front, bad_front) = match read_parts(&text) {
        Ok(read) => read,
        Err(fault) => return Slot::unread(Some(id), file.to_owned(), vec![problem(fault)]),
    };
    let markdown = MarkdownText::new(&text, front.lines);
    let body = markdown.index.line_start(front.lines + 1)..markdown.text.len();
    let silent = markdown.visible(body.clone()).trim().is_empty();
    let silent_at = silent.then(|| FilePosition { file: file.to_owned(), line: front.lines + 1, column: 1 });
    let (outline, faults) = outline(&markdown, &body);
    let problems = bad_front.into_iter().chain(faults).map(problem).collect();
    drop(markdown);
    let at = FilePosition { file: file.to_owned(), line: 1, column: 1 };
    let links = front.depends_on.iter().chain(&outline.depends_on).cloned().collect();
    Slot { links, problems, silent_at, ..Slot::new(at, task(id, text, front, outline)) }
}

fn task(id: TaskId, text: String, front: FrontMatter, body: Outline) -> PlannedTask {
    let title = front.title.or(body.title).map(|title| title_line(&title)).filter(|title| !title.is_empty());
    let title = title.unwrap_or_else(|| id.to_string());
    PlannedTask {
        priority: front.priority,
        allow: front.allow,
        checks: front.checks,
        acceptance: merged(front.acceptance, body.acceptance),
        done: front.done,
        mode: front.mode,
        scope: front.scope,
        ..PlannedTask::new(id, title, text)
    }
}
