//! GitHub issues as `gh issue list --json number,title,body,…` prints them: a
//! list of objects, each a task, in the order of their numbers. A file, and no
//! network.

use std::path::Path;

use windlass_core::id::TaskId;

use crate::error::PlanError;
use crate::fault::SyntaxFault;
use crate::format::PlanFormat;
use crate::json::{Json, JsonFault, JsonObject, JsonText};
use crate::link::{BadPlan, Frame, MAX_TASKS, Slot, finish};
use crate::markdown::MarkdownText;
use crate::outline::outline;
use crate::place::Placed;
use crate::{Planned, PlannedCriterion, PlannedTask, title_line};

/// Those that windlass understands; the others are told to the agent as they stand.
const KEYS: [&str; 6] = ["number", "title", "body", "labels", "state", "closed"];

pub(crate) fn parse(file: &Path, text: &str) -> Result<Planned, BadPlan> {
    let json = JsonText::new(file, text);
    let one = |error| vec![error];
    let issues = json.root().and_then(|root| json.list(root, "the export")).map_err(one)?;
    if issues.is_empty() {
        let format = PlanFormat::GithubIssues;
        return Err(vec![PlanError::NoTasksInFile { file: file.to_owned(), format }].into());
    }
    if issues.len() > MAX_TASKS {
        return Err(vec![PlanError::TooManyInFile { file: file.to_owned(), count: issues.len() }].into());
    }
    let unread = |error| (0, Slot::unread(None, file.to_owned(), vec![error]));
    let mut slots: Vec<(u64, Slot)> =
        issues.into_iter().map(|issue| slot(&json, issue).unwrap_or_else(unread)).collect();
    slots.sort_by_key(|(number, _)| *number);
    finish(slots.into_iter().map(|(_, slot)| slot).collect(), Frame::new(PlanFormat::GithubIssues))
}

fn slot<'a>(json: &JsonText<'a>, issue: Json<'a>) -> Result<(u64, Slot), PlanError> {
    let (object, mut problems) = json.object(issue, "an issue")?;
    let needed =
        |key| object.get(key).ok_or_else(|| json.fault(issue, JsonFault::NoKey { key, instead: None }));
    let number: u64 = json.number(needed("number")?, "number")?;
    let title = json.text(needed("title")?, "title")?;
    let body = match object.get("body") {
        Some(body) => json.text(body, "body")?,
        None => String::new(),
    };
    let body_at = object.get("body").unwrap_or(issue);
    let labels = labels(json, &object, &mut problems);
    let done = is_closed(json, &object)?;
    let markdown = MarkdownText::new(&body, 0);
    let (read, faults) = outline(&markdown, &(0..markdown.text.len()));
    // Inside of a JSON text nothing has a line of its own: its start is the place.
    let at_body = |fault: SyntaxFault| PlanError::Syntax { place: json.place(body_at), fault };
    problems.extend(faults.into_iter().map(at_body));
    let commented = read.depends_on.into_iter().map(|name| match name.value.strip_prefix('#') {
        Some(number) => format!("issue-{number}"),
        None => name.value,
    });
    let links: Vec<Placed<String>> = dependencies(&markdown)
        .into_iter()
        .map(id_text)
        .chain(commented)
        .map(|name| json.placed(body_at, name))
        .collect();
    let mut text = format!("# {}\n\n{}\n", title.trim(), body.trim());
    if !labels.is_empty() {
        text += &format!("\nLabels: {}\n", labels.join(", "));
    }
    let others = object.others(&KEYS);
    if !others.is_empty() {
        text += &format!("\n{others}");
    }
    let at = json.place(issue);
    let silent_at = (title.trim().is_empty() && body.trim().is_empty()).then(|| at.clone());
    let task = PlannedTask {
        acceptance: read.acceptance.into_iter().map(PlannedCriterion::plain).collect(),
        done,
        ..PlannedTask::new(TaskId::new(id_text(number)), title_line(&title), text)
    };
    Ok((number, Slot { links, problems, silent_at, ..Slot::new(at, task) }))
}

fn id_text(number: u64) -> String {
    format!("issue-{number}")
}

/// Each label is an object with a name, or only its name.
fn labels<'a>(json: &JsonText<'a>, object: &JsonObject<'a>, problems: &mut Vec<PlanError>) -> Vec<String> {
    let Some(labels) = object.get("labels") else { return Vec::new() };
    let name = |label: Json<'a>| {
        if label.0.starts_with('"') {
            return json.text(label, "labels");
        }
        let (object, _) = json.object(label, "labels")?;
        let name = object
            .get("name")
            .ok_or_else(|| json.fault(label, JsonFault::NoKey { key: "name", instead: None }))?;
        json.text(name, "name")
    };
    let names = json.list(labels, "labels").and_then(|labels| labels.into_iter().map(name).collect());
    names.unwrap_or_else(|error| {
        problems.push(error);
        Vec::new()
    })
}

fn is_closed<'a>(json: &JsonText<'a>, object: &JsonObject<'a>) -> Result<bool, PlanError> {
    if let Some(state) = object.get("state") {
        let word = json.text(state, "state")?;
        return match word.to_lowercase().as_str() {
            "open" => Ok(false),
            "closed" => Ok(true),
            _ => Err(json.fault(
                state,
                JsonFault::WrongKind { what: "`state`".to_owned(), expected: "\"OPEN\" or \"CLOSED\"" },
            )),
        };
    }
    object.get("closed").map_or(Ok(false), |closed| json.flag(closed, "closed"))
}

/// The numbers after "depends on" or "blocked by" on a line that is no code.
fn dependencies(body: &MarkdownText<'_>) -> Vec<u64> {
    let mut found = Vec::new();
    let mut offset = 0;
    for line in body.text.split_inclusive('\n') {
        // Only ASCII letters change, so every byte keeps its place.
        let lower = line.to_ascii_lowercase();
        for words in ["depends on", "depends-on", "blocked by", "blocked-by"] {
            for (at, _) in lower.match_indices(words) {
                if !body.is_code(offset + at) && !is_denied(&lower[..at]) {
                    numbers(&lower[at + words.len()..], &mut found);
                }
            }
        }
        offset += line.len();
    }
    found
}

/// “This is not blocked by #1”, “no longer depends on #1”.
fn is_denied(before: &str) -> bool {
    let clause = before.rsplit(['.', ',', ';', ':', '!', '?', '(']).next().unwrap_or_default();
    let mut last = clause.split_whitespace().rev().take(3);
    last.any(|word| {
        matches!(word, "not" | "no" | "never" | "longer" | "without" | "neither" | "nor")
            || word.ends_with("n't")
            || word.ends_with("n’t")
    })
}

/// `: #1, #2 and #3`, up to the first word that is something else.
fn numbers(text: &str, found: &mut Vec<u64>) {
    let words = text.split([' ', '\t', ',', '\r', '\n']).map(|word| word.trim_matches([':', '*', '_']));
    for word in words.filter(|word| !word.is_empty()) {
        match number(word) {
            Some(number) => found.push(number),
            None if matches!(word, "and" | "&" | "or" | "issue" | "issues" | "-") => {}
            None => return,
        }
    }
}

/// `#1`, `[#1](https://…)`, `<https://…/issues/1>`. Of a link the number is read, whatever repository it names: an
/// export does not always say of which one it is, and one that is not in it is refused with its place.
fn number(word: &str) -> Option<u64> {
    let word = word.trim_start_matches(['[', '(', '<']);
    let digits = match word.strip_prefix('#') {
        Some(digits) => digits,
        None => word.strip_prefix("http").and_then(|link| link.split_once("/issues/"))?.1,
    };
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    let is_whole = !digits[end..].starts_with(|c: char| c.is_alphanumeric() || matches!(c, '-' | '_'));
    digits[..end].parse().ok().filter(|_| is_whole)
}
