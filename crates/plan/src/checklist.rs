//! A Markdown document with boxes to check. Either each outermost box is a
//! task, and the boxes below it are its acceptance; or, as ralphex has it,
//! each `### Task N: title` is one, and the boxes under it are its acceptance.
//! Such a heading may be of another level, where one is of the third.
//! What is checked is done. All other text is about all of the tasks.

use std::ops::Range;
use std::path::Path;

use windlass_core::id::TaskId;
use windlass_core::nearest::nearest;
use windlass_core::task::task_slug;

use crate::criterion::PlannedCriterion;
use crate::error::PlanError;
use crate::format::PlanFormat;
use crate::link::{BadPlan, Frame, MAX_TASKS, Slot, finish};
use crate::markdown::{Heading, ListItem, MarkdownText, Opened};
use crate::outline::{outline, parts};
use crate::slug::{Titled, ids_of_parts};
use crate::{Planned, PlannedTask, shared_text, title_line};

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChecklistFault {
    #[error("this is checked, but the box below it on line {0} is not")]
    CheckedTooEarly(usize),
    #[error("`{0}` is not a box")]
    NotABox(String),
    #[error("`{heading}` is nearly the heading of a task")]
    NearlyATask { heading: String, written: String },
    #[error("the {what} that starts here is never closed: it hides what is on line {line}")]
    Hidden { what: Opened, line: usize },
}

impl ChecklistFault {
    /// What the operator can do about it.
    pub fn remedy(&self) -> String {
        match self {
            Self::CheckedTooEarly(_) => "check the box below it, or clear this one".to_owned(),
            Self::NearlyATask { written, .. } => {
                format!("write `{written}`, or another word than “Task” at its start")
            }
            Self::Hidden { what, line } => what.remedy(*line),
            Self::NotABox(_) => "write `- [ ] text`, or `- [x] text` for what is done".to_owned(),
        }
    }
}

/// What a heading says of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TaskHeading<'a> {
    /// `Task 1: Title`, `task 1 - Title`, `Iteration 2b. Title`.
    Numbered { number: &'a str, title: &'a str },
    /// `Task three: Title`, or `Task 3 Title`.
    Nearly { number: &'a str, title: &'a str },
}

/// Whether a text with this heading has its tasks under such headings.
pub(crate) fn is_task_heading(heading: &Heading) -> bool {
    heading.level == 3 && matches!(task_heading(heading), Some(TaskHeading::Numbered { .. }))
}

fn task_heading(heading: &Heading) -> Option<TaskHeading<'_>> {
    const SEPARATORS: [char; 4] = [':', '-', '–', '—'];
    const WORDS: [&str; 2] = ["task", "iteration"];
    let starts = |word: &&str| heading.text.get(..word.len()).is_some_and(|it| it.eq_ignore_ascii_case(word));
    if let Some(nearly) = misspelt(heading, &WORDS) {
        return Some(nearly);
    }
    let word = WORDS.into_iter().find(starts)?;
    let glued = &heading.text[word.len()..];
    let rest = glued.trim_start_matches([' ', '\t', '#', '-']);
    let is_number = rest.starts_with(|c: char| c.is_ascii_digit());
    if heading.level < 2 || !(is_number || glued.starts_with([' ', '\t'])) {
        return None;
    }
    let end = rest.find(|c: char| c == ':' || c.is_whitespace()).unwrap_or(rest.len());
    let number = rest[..end].trim_end_matches(['.', ')']);
    let after = rest[end..].trim_start();
    let is_separated = after.starts_with(SEPARATORS) || number.len() < end;
    let title = after.trim_start_matches(SEPARATORS).trim();
    match (is_number, is_separated || after.is_empty()) {
        (true, true) => Some(TaskHeading::Numbered { number, title }),
        (true, false) => Some(TaskHeading::Nearly { number, title }),
        (false, _) => {
            let is_meant = after.starts_with(SEPARATORS) && !title.is_empty() && !number.is_empty();
            is_meant.then_some(TaskHeading::Nearly { number, title })
        }
    }
}

/// `Tasks 2: Title` or `Taks 2: Title`.
fn misspelt<'a>(heading: &'a Heading, words: &[&str]) -> Option<TaskHeading<'a>> {
    let (first, rest) = heading.text.split_once([' ', '\t'])?;
    let is_right = words.iter().any(|word| first.eq_ignore_ascii_case(word));
    if is_right || heading.level < 2 || nearest(first, words.iter().copied()).is_none() {
        return None;
    }
    let (number, title) = rest.trim_start().split_once(':')?;
    let is_number = number.starts_with(|c: char| c.is_ascii_digit()) && !number.contains(char::is_whitespace);
    is_number.then_some(TaskHeading::Nearly { number, title: title.trim() })
}

pub(crate) fn parse(file: &Path, source: &str) -> Result<Planned, BadPlan> {
    let text = MarkdownText::new(source, 0);
    let whole = 0..text.text.len();
    let list = BoxReader { file, text: &text };
    let has_tasks = text.headings_in(&whole).any(is_task_heading);
    let found = if has_tasks { list.sections() } else { list.items() };
    let mut problems = list.hidden();
    problems.extend(if has_tasks { list.nearly_tasks() } else { Vec::new() });
    problems.extend(list.bad_boxes(&whole));
    if found.is_empty() {
        let none = PlanError::NoTasksInFile { file: file.to_owned(), format: PlanFormat::Checklist };
        return Err(if problems.is_empty() { vec![none].into() } else { problems.into() });
    }
    if found.len() > MAX_TASKS {
        return Err(vec![PlanError::TooManyInFile { file: file.to_owned(), count: found.len() }].into());
    }
    let (ranges, mut slots): (Vec<Range<usize>>, Vec<Slot>) = found.into_iter().unzip();
    let commands = list.commands(&whole, &ranges);
    for task in slots.iter_mut().filter_map(|slot| slot.task.as_mut()) {
        task.verification.clone_from(&commands);
    }
    let starts: Vec<usize> = ranges.iter().map(|range| range.start).collect();
    let mut about_all = String::new();
    let mut from = 0;
    for range in ranges {
        about_all.push_str(&text.text[from..range.start]);
        from = range.end;
    }
    about_all.push_str(&text.text[from..]);
    shared_text::add_to_all(file, &mut slots, &about_all).map_err(|error| vec![error])?;
    if !has_tasks {
        tell_headings(&text, &starts, &mut slots);
    }
    let title =
        text.headings.iter().find(|heading| heading.level == 1).map(|heading| title_line(&heading.text));
    let goal = title.filter(|title| !title.is_empty());
    finish(slots, Frame { goal, problems, ..Frame::new(PlanFormat::Checklist) })
}

/// A box says only half of it where a heading above it says whose it is. The document's own heading is its goal.
fn tell_headings(text: &MarkdownText<'_>, starts: &[usize], slots: &mut [Slot]) {
    let mut headings = text.headings.iter().peekable();
    let mut above: Vec<&Heading> = Vec::new();
    for (start, slot) in starts.iter().zip(slots) {
        while let Some(heading) = headings.next_if(|heading| heading.range.start < *start) {
            above.retain(|kept| kept.level < heading.level);
            above.push(heading);
        }
        let named = above.iter().filter(|heading| heading.level > 1);
        let path: Vec<String> = named.map(|heading| title_line(&heading.text)).collect();
        if let Some(task) = slot.task.as_mut().filter(|_| !path.is_empty()) {
            let told = format!("\nIn the document it stands below: {}\n", path.join(" / "));
            task.text.push_str(&told);
        }
    }
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
            let Some(TaskHeading::Numbered { number, title }) = task_heading(heading) else { continue };
            let ends = |next: &&Heading| next.level < heading.level.max(3) || task_heading(next).is_some();
            let next = headings[at + 1..].iter().find(ends);
            let end = next.map_or(self.text.text.len(), |next| next.range.start);
            let range = heading.range.start..end;
            let has_parts = next.is_some_and(|next| next.level > heading.level);
            if has_parts && heading.level < 3 && !self.has_boxes(&range) {
                continue;
            }
            found.push((range.clone(), self.section(heading, number, title, range)));
        }
        found
    }

    fn has_boxes(&self, range: &Range<usize>) -> bool {
        self.text.items_in(range).any(|item| item.checked.is_some())
    }

    /// Headings whose boxes would be taken for those of the task before.
    fn nearly_tasks(&self) -> Vec<PlanError> {
        let mut number = 0;
        let mut problems = Vec::new();
        for heading in &self.text.headings {
            let Some(found) = task_heading(heading) else { continue };
            number += 1;
            let TaskHeading::Nearly { number: own, title } = found else { continue };
            let is_number = own.starts_with(|c: char| c.is_ascii_digit());
            let shown = if is_number { own.to_owned() } else { number.to_string() };
            let written = format!("### Task {shown}: {title}");
            let fault = ChecklistFault::NearlyATask { heading: title_line(&heading.text), written };
            problems.push(self.error(heading.range.start, fault));
        }
        problems
    }

    /// What a fence or a comment that is never closed takes out of the list.
    fn hidden(&self) -> Vec<PlanError> {
        let is_meant: fn(&str) -> bool = |line| {
            let item = line.strip_prefix(['-', '*', '+']).map_or("", str::trim_start);
            let heading = line.strip_prefix("### ").unwrap_or_default();
            ["[ ]", "[x]", "[X]"].iter().any(|mark| item.starts_with(mark)) || heading.starts_with("Task ")
        };
        let hidden = self.text.hidden_lines(is_meant);
        let fault = |what, line| ChecklistFault::Hidden { what, line };
        hidden.into_iter().map(|(of, line)| self.error(of.range.start, fault(of.what, line))).collect()
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
        let mut outermost: Vec<&ListItem> = Vec::new();
        for item in &self.text.items {
            let inside = outermost.last().is_some_and(|outer| item.range.start < outer.range.end);
            if item.checked.is_some() && !inside {
                outermost.push(item);
            }
        }
        let titled = |item: &&ListItem| {
            let own = self.text.item_text(item.range.start..item.own_end);
            Titled { id: task_slug(&own), text: self.text.item_text(item.range.clone()) }
        };
        let titled: Vec<Titled> = outermost.iter().map(titled).collect();
        let ids = ids_of_parts(&titled, "box");
        outermost.into_iter().zip(ids).map(|(item, id)| (item.range.clone(), self.item(item, id))).collect()
    }

    fn item(&self, item: &ListItem, id: TaskId) -> Slot {
        let text = self.text;
        let (range, done) = (item.range.clone(), item.checked == Some(true));
        let own = text.item_text(range.start..item.own_end);
        let inner = || text.items_in(&(range.start + 1..range.end)).filter(|inner| inner.checked.is_some());
        let criteria = inner().map(|inner| text.item_text(inner.range.start..inner.own_end));
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

    /// What ralphex has under "Validation Commands", where the tasks may begin right below.
    fn commands(&self, whole: &Range<usize>, tasks: &[Range<usize>]) -> Vec<String> {
        let found = parts(self.text, whole, &["validation commands"]);
        let items = found.iter().flat_map(|range| self.text.items_in(range));
        let items = items.filter(|item| {
            let before = tasks.partition_point(|task| task.start <= item.range.start);
            tasks[..before].last().is_none_or(|task| item.range.start >= task.end)
        });
        let commands = items.map(|item| self.text.item_text(item.range.clone()));
        commands.map(|command| bare(&command).to_owned()).filter(|command| !command.is_empty()).collect()
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

/// A text that is code as a whole, without its marks.
fn bare(text: &str) -> &str {
    let inner = text.strip_prefix('`').and_then(|rest| rest.strip_suffix('`'));
    inner.filter(|inner| !inner.contains('`')).unwrap_or(text)
}
