//! `windlass show`, `findings`: one loop, in full.

use serde_json::json;
use windlass_app::{LoggedItem, OpenProject, StoredLoop};
use windlass_core::finding::Finding;
use windlass_core::history::{AttemptRecord, HistoryLimits, Keep};
use windlass_core::id::{AttemptId, BlobId, FindingId};
use windlass_core::view::TaskView;

use super::diff;
use super::status::{behind, next};
use crate::args::{FindingsArgs, ShowArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::place::Locations;
use crate::show::out::{say, say_part};
use crate::show::{json as print_json, story, text, view};

/// How many attempts are listed.
const LISTED: usize = 20;

pub fn show(locations: &Locations, asked: &ShowArgs) -> Result<Exit, Failure> {
    let place = locations.open_project()?;
    let (row, item) = named(&place, asked)?;
    if asked.diff {
        return diff::show(&place, &row, item, asked.json);
    }
    let shown = ShownLoop { place: &place, row: &row, asked };
    match item {
        None => shown.whole(),
        Some(item) => shown.item(item),
    }
}

/// With a single loop its name may be left out.
fn named<'a>(place: &OpenProject, asked: &'a ShowArgs) -> Result<(StoredLoop, Option<&'a str>), Failure> {
    let (name, item) = (asked.name.as_deref(), asked.item.as_deref());
    match (place.find(name), item) {
        (Ok(row), item) => Ok((row, item)),
        (Err(error), Some(_)) => Err(error.into()),
        (Err(error), None) => match place.find(None) {
            Ok(only) => Ok((only, name)),
            Err(_) => Err(error.into()),
        },
    }
}

struct ShownLoop<'a> {
    place: &'a OpenProject,
    row: &'a StoredLoop,
    asked: &'a ShowArgs,
}

impl ShownLoop<'_> {
    /// The status, every attempt with what it changed, and what else can be asked for.
    fn whole(&self) -> Result<Exit, Failure> {
        let seen = self.row.view()?;
        if self.asked.json {
            print_json::print(&seen);
            return Ok(Exit::Done);
        }
        say_part!("{}", view::page(&seen, &behind(self.place, self.row, &seen)));
        let (attempts, total) = self.place.last_attempts(self.row, LISTED)?;
        match total {
            0 => {}
            total if total > LISTED as u64 => say!("\nthe last {LISTED} of {total} attempts"),
            _ => say!("\nattempts"),
        }
        for attempt in &attempts {
            say_part!("{}", story::attempt_line(attempt));
        }
        let name = &self.row.name;
        let first = seen.tasks.first().map_or("TASK", |task| task.id.as_str());
        say!("\n{}", next(self.place, &seen));
        say!("      windlass show {name} {first}   (the whole story of a task)");
        if let Some(last) = attempts.last() {
            let attempt = last.attempt.attempt;
            say!("      windlass show {name} attempt:{attempt}   (what an agent said and did)");
        }
        Ok(Exit::Done)
    }

    fn item(&self, item: &str) -> Result<Exit, Failure> {
        if let Some(number) = item.strip_prefix("attempt:") {
            return self.attempt(number);
        }
        if let Some(number) = item.strip_prefix("check:") {
            return self.check(number);
        }
        let finding = FindingId::new(item);
        if let Some(found) = self.finding(&finding)? {
            return Ok(found);
        }
        if let Some(task) = self.row.task(item)? {
            return self.task(task);
        }
        let logged: Option<u64> = item.strip_prefix("event:").unwrap_or(item).parse().ok();
        let logged = logged.filter(|number| item.ends_with(&number.to_string()) && !item.starts_with('0'));
        match logged.map_or(Ok(None), |number| self.row.item_of_event(number))? {
            Some(LoggedItem::Attempt(attempt)) => self.attempt(&attempt.to_string()),
            Some(LoggedItem::Check(number)) => self.check(&number.to_string()),
            Some(LoggedItem::Task(task)) => match self.row.task(task.as_str())? {
                Some(task) => self.task(task),
                None => Err(self.unknown(item)),
            },
            Some(LoggedItem::Finding(finding)) => self.finding(&finding)?.ok_or_else(|| self.unknown(item)),
            None => match self.row.task_beginning(item)? {
                Some(task) => self.task(task),
                None => Err(self.unknown(item)),
            },
        }
    }

    fn unknown(&self, item: &str) -> Failure {
        let name = &self.row.name;
        let refused = Failure::usage(format!("{name} has no task, finding, attempt or check {item}"));
        let refused = match self.row.nearest_task(item) {
            Ok(Some(task)) => refused.hint(format!("did you mean {task}?")),
            Ok(None) | Err(_) => refused,
        };
        refused
            .hint(format!("`windlass show {name}` lists its tasks and attempts"))
            .hint(format!("`windlass log {name}` numbers all that happened: `windlass show {name} NUMBER`"))
    }

    fn finding(&self, id: &FindingId) -> Result<Option<Exit>, Failure> {
        let limits = HistoryLimits { findings: Keep::All, ..HistoryLimits::NOTHING };
        let history = self.row.history(limits)?;
        let Some(found) = history.finding(id) else { return Ok(None) };
        if self.asked.json {
            print_json::print(&found.finding);
        } else {
            say!("{}", view::finding(&found.finding));
        }
        Ok(Some(Exit::Done))
    }

    fn task(&self, task: TaskView) -> Result<Exit, Failure> {
        let story = self.place.task_story(self.row, task)?;
        if self.asked.json {
            print_json::print(&story);
        } else {
            let seen = self.row.view()?;
            say_part!("{}", story::task(&seen, &story, &next(self.place, &seen)));
        }
        Ok(Exit::Done)
    }

    fn attempt(&self, number: &str) -> Result<Exit, Failure> {
        let id = number.parse().ok().map(AttemptId);
        let found = id.map_or(Ok(None), |id| self.place.attempt_story(self.row, id))?;
        let found = found.ok_or_else(|| {
            let name = &self.row.name;
            Failure::usage(format!("{name} has no attempt {number}"))
                .hint(format!("`windlass show {name}` lists them"))
        })?;
        let (brief, transcript) = (self.text(&found.attempt.brief)?, self.text(&found.attempt.transcript)?);
        let report = self.text(&found.attempt.report)?;
        if self.asked.json {
            let attempt = &found.attempt;
            print_json::print(&json!({
                "attempt": attempt, "changed": found.changed, "review": found.review, "brief": brief,
                "transcript": transcript, "report": report,
            }));
        } else if self.asked.raw {
            raw(&found.attempt, &[("brief", &brief), ("transcript", &transcript), ("report", &report)]);
        } else {
            let heard = self.row.heard(&found.attempt)?;
            say_part!("{}", story::attempt(&found, heard.as_deref(), &transcript));
            say_part!("{}", story::report(&report));
            say!(
                "\nnext: windlass show {} attempt:{number} --raw   (its brief and stored lines)",
                self.row.name
            );
        }
        Ok(Exit::Done)
    }

    fn text(&self, id: &Option<BlobId>) -> Result<String, Failure> {
        Ok(id.as_ref().map(|id| self.row.text(id)).transpose()?.unwrap_or_default())
    }

    fn check(&self, number: &str) -> Result<Exit, Failure> {
        let found = number.parse().map_or(Ok(None), |number| self.row.check(number))?.ok_or_else(|| {
            let name = &self.row.name;
            Failure::usage(format!("{name} has no check {number}"))
                .hint(format!("`windlass log {name} --kind check` lists them"))
        })?;
        let body = self.row.text(&found.result.output)?;
        if self.asked.json {
            print_json::print(&json!({ "check": found.line, "number": found.number, "output": body }));
            return Ok(Exit::Done);
        }
        say!("{}", found.line);
        for line in body.lines() {
            say!("{}", text::clean(line));
        }
        Ok(Exit::Done)
    }
}

pub fn findings(locations: &Locations, asked: &FindingsArgs) -> Result<Exit, Failure> {
    let place = locations.open_project()?;
    let row = place.find(asked.name.as_deref())?;
    let limits = HistoryLimits { findings: Keep::All, ..HistoryLimits::NOTHING };
    let history = row.history(limits)?;
    let shown = |finding: &&Finding| asked.all || finding.is_open();
    let found: Vec<&Finding> = history.findings().map(|of| &of.finding).filter(shown).collect();
    if asked.json {
        print_json::print(&found);
    } else if found.is_empty() {
        say!("{} has no open findings.", row.name);
    } else {
        for finding in found {
            say!("{}", view::finding(finding));
        }
    }
    Ok(Exit::Done)
}

/// What is stored of an attempt, as it is stored.
fn raw(attempt: &AttemptRecord, texts: &[(&str, &str)]) {
    say!("attempt {}  {}  {}  {}", attempt.attempt, attempt.role, attempt.agent, attempt.end);
    for (title, body) in texts.iter().filter(|(title, body)| *title != "report" || !body.is_empty()) {
        say!("\n---- {title} ----");
        for line in body.lines() {
            say!("{}", text::clean(line));
        }
    }
}
