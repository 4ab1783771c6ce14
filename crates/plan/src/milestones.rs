//! A Markdown document with section markers: each section is a task that
//! depends on the one before. What stands before the first marker, and under
//! the headings that end a section, is about all of them.
//!
//! A marker is a comment on a line of its own, `<!-- windlass-task -->` or
//! forge's `<!-- forge-section -->`; inside of code it is text.

use std::ops::Range;
use std::path::Path;

use windlass_core::id::TaskId;
use windlass_core::nearest::nearest;
use windlass_core::task::task_slug;

use crate::criterion::merged;
use crate::error::PlanError;
use crate::format::PlanFormat;
use crate::link::{BadPlan, Frame, MAX_TASKS, Slot, finish};
use crate::markdown::{Comment, Heading, MarkdownText, Opened};
use crate::outline::{outline, parts};
use crate::place::Placed;
use crate::slug::{Titled, ids_of_parts};
use crate::{Planned, PlannedTask, shared_text, title_line};

const MARKERS: [&str; 2] = ["windlass-task", "forge-section"];

/// Comments of forge that mark nothing here: the ends of a whole plan, and
/// pairs around a section that older versions wrote.
const FORGE_ENDS: [&str; 4] =
    ["forge-plan:start", "forge-plan:end", "forge-section:start", "forge-section:end"];

/// Headings that end a section where they are as high as its own, at most of the second level.
const STOPS: [&str; 4] = ["verification", "decisions", "conventions", "key context"];

/// Headings that name a part of a section, and so are never its title.
const PARTS: [&str; 5] = ["files", "edits", "acceptance", "acceptance criteria", "verification"];

/// Headings that are the title of a section only where it has no other.
const INNER: [&str; 11] = [
    "background",
    "context",
    "decisions",
    "conventions",
    "details",
    "goal",
    "key context",
    "notes",
    "objective",
    "overview",
    "steps",
];

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SectionFault {
    #[error("the marker is not alone on its line")]
    NotAlone,
    #[error("`{0}` is not a marker")]
    Misspelt(String),
    #[error("`{0}` marks no section: forge reads only `forge-section`")]
    OldMarker(String),
    #[error("the marker that starts here is never closed")]
    NeverClosed,
    #[error("the {what} that starts here is never closed: it hides the marker on line {line}")]
    Hidden { what: Opened, line: usize },
    #[error("a marker has nothing but its name")]
    MoreThanAName,
    #[error("there is nothing under “{0}”")]
    EmptyPart(String),
}

impl SectionFault {
    /// What the operator can do about it.
    pub fn remedy(&self) -> String {
        match self {
            Self::NotAlone => "put it on a line of its own, before the heading of the section".to_owned(),
            Self::Misspelt(word) => {
                let meant = nearest(word, MARKERS).unwrap_or(MARKERS[0]);
                format!("did you mean `<!-- {meant} -->`?")
            }
            Self::OldMarker(_) => "write `<!-- forge-section -->` before each section".to_owned(),
            Self::NeverClosed => "close it with `-->` on the same line".to_owned(),
            Self::Hidden { what, line } => what.remedy(*line),
            Self::MoreThanAName => {
                "write `<!-- windlass-task -->`; the heading below it gives the title and the id".to_owned()
            }
            Self::EmptyPart(_) => "write what belongs there, or remove the heading".to_owned(),
        }
    }
}

/// Whether anything in it is a marker, or was meant to be one.
pub(crate) fn has_markers(text: &MarkdownText<'_>) -> bool {
    let is_mark = |comment: &Comment| {
        let word = word(text, comment);
        starts_as_marker(word) || word.starts_with("forge-section:") || is_misspelt(word)
    };
    text.comments.iter().any(is_mark) || !text.hidden_lines(is_marker_line).is_empty()
}

pub(crate) fn parse(file: &Path, source: &str) -> Result<Planned, BadPlan> {
    let text = MarkdownText::new(source, 0);
    let mut document = SectionReader { file, text: &text, problems: Vec::new() };
    let markers = document.markers();
    let file = file.to_owned();
    if markers.is_empty() && document.problems.is_empty() {
        return Err(vec![PlanError::NoTasksInFile { file, format: PlanFormat::Milestones }].into());
    }
    if markers.len() > MAX_TASKS {
        return Err(vec![PlanError::TooManyInFile { file, count: markers.len() }].into());
    }
    let preamble = 0..markers.first().map_or(text.text.len(), |marker| marker.start);
    let mut about_all: Vec<Range<usize>> = Vec::from([preamble.clone()]);
    let mut bodies: Vec<Range<usize>> = Vec::with_capacity(markers.len());
    for (number, marker) in markers.iter().enumerate() {
        let next = markers.get(number + 1).map_or(text.text.len(), |next| next.start);
        let top = text.headings_in(&(marker.end..next)).next().map_or(2, |heading| heading.level.min(2));
        let stop = text
            .headings_in(&(marker.end..next))
            .find(|heading| heading.level <= top && STOPS.contains(&heading.text.to_lowercase().as_str()));
        let end = stop.map_or(next, |stop| stop.range.start);
        about_all.push(end..next);
        bodies.push(marker.end..end);
    }
    let mut slots = document.sections(&markers, &bodies);
    let told = about_all.iter().map(|range| document.told(range.clone()));
    let shared: Vec<String> = told.filter(|said| !said.is_empty()).collect();
    let goal = document.goal(&preamble);
    shared_text::add_to_all(&file, &mut slots, &shared.join("\n\n")).map_err(|error| vec![error])?;
    finish(slots, Frame { goal, problems: document.problems, ..Frame::new(PlanFormat::Milestones) })
}

struct SectionReader<'a> {
    file: &'a Path,
    text: &'a MarkdownText<'a>,
    problems: Vec<PlanError>,
}

impl SectionReader<'_> {
    fn error(&self, offset: usize, fault: SectionFault) -> PlanError {
        PlanError::Section { place: self.text.index.placed(offset, ()).in_file(self.file), fault }
    }

    /// The markers, and what is wrong with those that are none.
    fn markers(&mut self) -> Vec<Range<usize>> {
        let text = self.text;
        let mut found = Vec::new();
        let mut old = None;
        for comment in &text.comments {
            let word = word(text, comment);
            let start = comment.range.start;
            if MARKERS.contains(&word) && comment.closed && is_alone(text, comment) {
                found.push(comment.range.clone());
            } else if MARKERS.contains(&word) && comment.closed {
                self.problems.push(self.error(start, SectionFault::NotAlone));
            } else if starts_as_marker(word) && (!comment.closed || word.contains('\n')) {
                self.problems.push(self.error(start, SectionFault::NeverClosed));
            } else if starts_as_marker(word) {
                self.problems.push(self.error(start, SectionFault::MoreThanAName));
            } else if word.starts_with("forge-section:") {
                old.get_or_insert((start, word));
            } else if is_misspelt(word) {
                self.problems.push(self.error(start, SectionFault::Misspelt(word.to_owned())));
            }
        }
        // What starts as a marker itself is told as that.
        let is_other = |start: usize| {
            let comment = text.comments.iter().find(|comment| comment.range.start == start);
            comment.is_none_or(|comment| !starts_as_marker(word(text, comment)))
        };
        for (runaway, line) in text.hidden_lines(is_marker_line) {
            let (start, what) = (runaway.range.start, runaway.what);
            if is_other(start) {
                self.problems.push(self.error(start, SectionFault::Hidden { what, line }));
            }
        }
        if let Some((start, word)) = old.filter(|_| found.is_empty()) {
            self.problems.push(self.error(start, SectionFault::OldMarker(word.to_owned())));
        }
        found
    }

    fn sections(&self, markers: &[Range<usize>], bodies: &[Range<usize>]) -> Vec<Slot> {
        let titled = |body: &Range<usize>| Titled {
            id: self.title(body).and_then(|title| task_slug(&title)),
            text: self.words(body),
        };
        let titled: Vec<Titled> = bodies.iter().map(titled).collect();
        let mut slots: Vec<Slot> = Vec::with_capacity(markers.len());
        for ((marker, body), id) in markers.iter().zip(bodies).zip(ids_of_parts(&titled, "section")) {
            let before = slots.last().and_then(|slot| slot.id.clone());
            let mut slot = self.section(id, self.text.index.placed(marker.start, ()), body.clone());
            let on_the_one_before =
                |id: TaskId| Placed { value: id.to_string(), line: slot.at.line, column: slot.at.column };
            slot.links.extend(before.map(on_the_one_before));
            slots.push(slot);
        }
        slots
    }

    fn section(&self, id: TaskId, at: Placed<()>, body: Range<usize>) -> Slot {
        let text = self.text;
        let (read, faults) = outline(text, &body);
        let mut problems: Vec<PlanError> = faults.into_iter().map(|fault| fault.in_file(self.file)).collect();
        let title = self.title(&body).unwrap_or_else(|| self.first_line(&body));
        let mut part = |names: &[&str]| -> Vec<String> {
            let found = parts(text, &body, names);
            let lines: Vec<String> = found.iter().flat_map(|range| self.lines(range)).collect();
            if let Some(range) = found.first().filter(|_| lines.is_empty()) {
                let heading = text.headings_in(&(body.start..range.start)).last();
                let (offset, name) = heading.map_or((range.start, ""), |h| (h.range.start, h.text.as_str()));
                problems.push(self.error(offset, SectionFault::EmptyPart(name.to_owned())));
            }
            lines
        };
        let [files, edits, verification] = [["files"], ["edits"], ["verification"]].map(|name| part(&name));
        let criteria = part(&["acceptance", "acceptance criteria"]);
        let told = self.told(body.clone());
        let is_silent = told.trim().is_empty();
        let task = PlannedTask {
            acceptance: merged(Vec::new(), criteria),
            files,
            edits,
            verification,
            ..PlannedTask::new(id, title_line(&title), format!("{told}\n"))
        };
        let at = at.in_file(self.file);
        let silent_at = is_silent.then(|| at.clone());
        Slot { links: read.depends_on, problems, silent_at, ..Slot::new(at, task) }
    }

    /// The first heading that names no part.
    fn title(&self, body: &Range<usize>) -> Option<String> {
        let name = |heading: &Heading| heading.text.trim_end_matches(':').trim().to_lowercase();
        let headings = || {
            let headings = self.text.headings_in(body).filter(|heading| !heading.text.is_empty());
            headings.filter(|heading| !PARTS.contains(&name(heading).as_str()))
        };
        let own = headings().find(|heading| !INNER.contains(&name(heading).as_str()));
        own.or_else(|| headings().next()).map(|heading| heading.text.clone())
    }

    /// All but headings: those that give no title name a part, as another section's do.
    fn words(&self, body: &Range<usize>) -> String {
        let shown = self.text.visible(body.clone());
        let lines = shown.lines().filter(|line| !line.trim_start().starts_with('#'));
        lines.collect::<Vec<_>>().join("\n")
    }

    /// What stands for a title where there is none.
    fn first_line(&self, body: &Range<usize>) -> String {
        let words = self.words(body);
        let lines = words.lines().map(|line| line.trim_start_matches(['-', '*', '+', '>', ' ', '\t']));
        let mut said = lines.filter(|line| line.contains(char::is_alphanumeric));
        said.next().unwrap_or_default().trim().to_owned()
    }

    /// The items of a part, or its lines where it has none; a fence is no line.
    fn lines(&self, range: &Range<usize>) -> Vec<String> {
        let text = self.text;
        let items: Vec<String> = text
            .items_in(range)
            .filter(|item| item.depth == 0)
            .map(|item| text.item_text(item.range.clone()))
            .filter(|item| !item.is_empty())
            .collect();
        if !items.is_empty() {
            return items;
        }
        let shown = text.visible(range.clone());
        let is_fence = |line: &str| line.starts_with("```") || line.starts_with("~~~");
        let lines = shown.lines().map(str::trim).filter(|line| !line.is_empty() && !is_fence(line));
        lines.map(str::to_owned).collect()
    }

    /// A part of the text without forge's own marks.
    fn told(&self, range: Range<usize>) -> String {
        let mut out = String::new();
        let mut from = range.start;
        for comment in self.text.comments_in(&range) {
            if FORGE_ENDS.contains(&word(self.text, comment)) && comment.range.end <= range.end {
                out.push_str(&self.text.text[from..comment.range.start]);
                from = comment.range.end;
            }
        }
        out.push_str(&self.text.text[from..range.end]);
        out.trim().to_owned()
    }

    /// The first line under “Objective”, or else the title of the document.
    fn goal(&self, preamble: &Range<usize>) -> Option<String> {
        let objective = parts(self.text, preamble, &["objective", "goal"]);
        let lines = objective.iter().flat_map(|range| self.lines(range)).next();
        let title = || self.text.headings_in(preamble).map(|heading| heading.text.clone()).next();
        lines.or_else(title).map(|line| title_line(&line)).filter(|line| !line.is_empty())
    }
}

fn word<'a>(text: &MarkdownText<'a>, comment: &Comment) -> &'a str {
    text.text[comment.inner()].trim()
}

/// Whether the first word is a marker, whatever follows it.
fn starts_as_marker(word: &str) -> bool {
    let rest = MARKERS.iter().find_map(|marker| word.strip_prefix(marker));
    rest.is_some_and(|rest| {
        let old = FORGE_ENDS.iter().any(|end| word.starts_with(end));
        rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n', ':', '=']) && !old
    })
}

/// A line that is nothing but a marker.
fn is_marker_line(line: &str) -> bool {
    let inner = line.strip_prefix("<!--").and_then(|rest| rest.strip_suffix("-->"));
    inner.is_some_and(|inner| MARKERS.contains(&inner.trim()))
}

/// One word that is nearly a marker, such as `windlass_task`.
fn is_misspelt(word: &str) -> bool {
    !word.contains(char::is_whitespace)
        && !MARKERS.contains(&word)
        && !FORGE_ENDS.contains(&word)
        && nearest(word, MARKERS).is_some()
}

fn is_alone(text: &MarkdownText<'_>, comment: &Comment) -> bool {
    let before = text.text[..comment.range.start].rsplit('\n').next().unwrap_or_default();
    let after = text.text[comment.range.end..].split('\n').next().unwrap_or_default();
    before.trim().is_empty() && after.trim().is_empty()
}
