//! A Markdown document with boxes to check. Either each outermost box is a
//! task, and the boxes below it are its acceptance; or, as ralphex has it,
//! each `### Task N: title` is one, and the boxes under it are its acceptance.
//! What is checked is done. All other text is about all of the tasks.

use std::ops::Range;
use std::path::Path;

use windlass_core::id::TaskId;
use windlass_core::task::task_slug;

use crate::criterion::PlannedCriterion;
use crate::error::PlanError;
use crate::format::PlanFormat;
use crate::link::{Frame, MAX_TASKS, Slot, finish};
use crate::markdown::{Heading, ListItem, MarkdownText};
use crate::outline::{outline, parts};
use crate::{Planned, PlannedTask, shared_text, title_line};

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChecklistFault {
    #[error("this is checked, but the box below it on line {0} is not")]
    CheckedTooEarly(usize),
    #[error("`{0}` is not a box")]
    NotABox(String),
}

impl ChecklistFault {
    /// What the operator can do about it.
    pub fn remedy(&self) -> String {
        match self {
            Self::CheckedTooEarly(_) => "check the box below it, or clear this one".to_owned(),
            Self::NotABox(_) => "write `- [ ] text`, or `- [x] text` for what is done".to_owned(),
        }
    }
}

/// The number and the title of a heading `### Task 1: Title`.
pub(crate) fn task_heading(heading: &Heading) -> Option<(&str, &str)> {
    let rest = ["Task ", "Iteration "].iter().find_map(|word| heading.text.strip_prefix(word))?;
    let (number, title) = rest.split_once(':').unwrap_or((rest, ""));
    let number = number.trim();
    let is_number = number.starts_with(|c: char| c.is_ascii_digit()) && !number.contains(char::is_whitespace);
    (heading.level == 3 && is_number).then_some((number, title.trim()))
}

pub(crate) fn parse(file: &Path, source: &str) -> Result<Planned, Vec<PlanError>> {
    let text = MarkdownText::new(source, 0);
    let whole = 0..text.text.len();
    let list = BoxReader { file, text: &text };
    let has_tasks = text.headings_in(&whole).any(|heading| task_heading(heading).is_some());
    let found = if has_tasks { list.sections() } else { list.items() };
    if found.is_empty() {
        let problems = list.bad_boxes(&whole);
        let none = PlanError::NoTasksInFile { file: file.to_owned(), format: PlanFormat::Checklist };
        return Err(if problems.is_empty() { vec![none] } else { problems });
    }
    if found.len() > MAX_TASKS {
        return Err(vec![PlanError::TooManyInFile { file: file.to_owned(), count: found.len() }]);
    }
    let commands = list.commands(&whole);
    let (ranges, mut slots): (Vec<Range<usize>>, Vec<Slot>) = found.into_iter().unzip();
    for task in slots.iter_mut().filter_map(|slot| slot.task.as_mut()) {
        task.verification.clone_from(&commands);
    }
    let mut about_all = String::new();
    let mut from = 0;
    for range in ranges {
        about_all.push_str(&text.text[from..range.start]);
        from = range.end;
    }
    about_all.push_str(&text.text[from..]);
    shared_text::add_to_all(file, &mut slots, &about_all).map_err(|error| vec![error])?;
    let title =
        text.headings.iter().find(|heading| heading.level == 1).map(|heading| title_line(&heading.text));
    let goal = title.filter(|title| !title.is_empty());
    finish(slots, Frame { goal, problems: list.bad_boxes(&whole), ..Frame::new(PlanFormat::Checklist) })
}

struct BoxReader<'a> {
    file: &'a Path,
    text: &'a MarkdownText<'a>,
}

impl BoxReader<'_> {
    fn error(&self, offset: usize, fault: ChecklistFault) -> PlanError {
        PlanError::Checklist { place: self.text.index.placed(offset, ()).in_file(self.file), fault }
    }

    /// Each `### Task`, up to the next one or to a higher heading.
    fn sections(&self) -> Vec<(Range<usize>, Slot)> {
        let headings = &self.text.headings;
        let mut found = Vec::new();
        for (at, heading) in headings.iter().enumerate() {
            let Some((number, title)) = task_heading(heading) else { continue };
            let ends = |next: &&Heading| next.level < 3 || task_heading(next).is_some();
            let next = headings[at + 1..].iter().find(ends);
            let end = next.map_or(self.text.text.len(), |next| next.range.start);
            let range = heading.range.start..end;
            found.push((range.clone(), self.section(heading, number, title, range)));
        }
        found
    }

    fn section(&self, heading: &Heading, number: &str, title: &str, range: Range<usize>) -> Slot {
        let text = self.text;
        let boxes: Vec<&ListItem> = text.items_in(&range).filter(|item| item.checked.is_some()).collect();
        let criteria = boxes.iter().map(|item| text.item_text(item.range.start..item.own_end));
        let body = text.visible(heading.range.end..range.end);
        let id =
            task_slug(&format!("task {number}")).unwrap_or_else(|| TaskId::new(format!("task-{number}")));
        let shown = if title.is_empty() { heading.text.as_str() } else { title };
        let task = PlannedTask {
            acceptance: criteria.filter(|item| !item.is_empty()).map(PlannedCriterion::plain).collect(),
            done: !boxes.is_empty() && boxes.iter().all(|item| item.checked == Some(true)),
            ..PlannedTask::new(id, title_line(shown), text.text[range.clone()].trim().to_owned() + "\n")
        };
        let silent = title.is_empty() && body.trim().is_empty();
        self.slot(range, task, silent)
    }

    /// Each box that is in no other box.
    fn items(&self) -> Vec<(Range<usize>, Slot)> {
        let mut found: Vec<(Range<usize>, Slot)> = Vec::new();
        for item in &self.text.items {
            let inside = found.last().is_some_and(|(range, _)| item.range.start < range.end);
            if let Some(done) = item.checked.filter(|_| !inside) {
                found.push((item.range.clone(), self.item(item, done)));
            }
        }
        found
    }

    fn item(&self, item: &ListItem, done: bool) -> Slot {
        let text = self.text;
        let range = item.range.clone();
        let own = text.item_text(range.start..item.own_end);
        let inner = || text.items_in(&(range.start + 1..range.end)).filter(|inner| inner.checked.is_some());
        let criteria = inner().map(|inner| text.item_text(inner.range.start..inner.own_end));
        let line = text.index.placed(range.start, ()).line;
        let id = task_slug(&own).unwrap_or_else(|| TaskId::new(format!("line-{line}")));
        let task = PlannedTask {
            acceptance: criteria.filter(|item| !item.is_empty()).map(PlannedCriterion::plain).collect(),
            done,
            ..PlannedTask::new(id, title_line(&own), text.text[range.clone()].trim().to_owned() + "\n")
        };
        let open = inner().find(|inner| done && inner.checked == Some(false));
        let open_line = open.map(|open| text.index.placed(open.range.start, ()).line);
        let mut slot = self.slot(range.clone(), task, own.is_empty());
        let early = open_line.map(|line| self.error(range.start, ChecklistFault::CheckedTooEarly(line)));
        slot.problems.extend(early);
        slot
    }

    fn slot(&self, range: Range<usize>, task: PlannedTask, is_silent: bool) -> Slot {
        let at = self.text.index.placed(range.start, ()).in_file(self.file);
        let (read, faults) = outline(self.text, &range);
        let problems = faults.into_iter().map(|fault| fault.in_file(self.file)).collect();
        let silent_at = is_silent.then(|| at.clone());
        Slot { links: read.depends_on, problems, silent_at, ..Slot::new(at, task) }
    }

    /// What ralphex has under "Validation Commands".
    fn commands(&self, whole: &Range<usize>) -> Vec<String> {
        let found = parts(self.text, whole, &["validation commands"]);
        let items = found.iter().flat_map(|range| self.text.items_in(range));
        let commands = items.map(|item| self.text.item_text(item.range.clone()));
        commands
            .map(|command| command.trim_matches('`').to_owned())
            .filter(|command| !command.is_empty())
            .collect()
    }

    /// Lines that were meant to be boxes: they would be taken for plain text.
    fn bad_boxes(&self, whole: &Range<usize>) -> Vec<PlanError> {
        let mut problems = Vec::new();
        let mut offset = whole.start;
        for line in self.text.text[whole.clone()].split_inclusive('\n') {
            let start = offset + (line.len() - line.trim_start().len());
            offset += line.len();
            let Some(rest) = line.trim().strip_prefix(['-', '*', '+']) else { continue };
            let item = rest.trim_start();
            let glued =
                rest.len() == item.len() && ["[ ]", "[x]", "[X]"].iter().any(|mark| item.starts_with(mark));
            let odd = ["[]", "[-]", "[ x]", "[x ]", "[✓]", "[✔]"].iter().any(|mark| {
                item.strip_prefix(mark).is_some_and(|after| after.is_empty() || after.starts_with(' '))
            });
            if (glued || odd) && !self.text.is_code(start) {
                let shown = line.trim().chars().take(20).collect();
                problems.push(self.error(start, ChecklistFault::NotABox(shown)));
            }
        }
        problems
    }
}
