//! `windlass show`, `findings`: one loop, in full.

use std::collections::BTreeMap;

use serde_json::json;
use windlass_core::event::{Decision, Event};
use windlass_core::finding::Finding;
use windlass_core::id::BlobId;
use windlass_core::state::State;
use windlass_core::summary::Summary;
use windlass_core::usage::{ModelUsage, Usage};
use windlass_store::{ReadStore, Record, fold_with};

use crate::args::{FindingsArgs, ShowArgs};
use crate::exit::Exit;
use crate::failure::{Failure, OrFail};
use crate::place::{Locations, StoredLoop};
use crate::show::out::{say, say_part};
use crate::show::{json as print_json, text, view};

const SHOWN_BYTES: u64 = 4 << 20;

pub fn show(locations: &Locations, asked: &ShowArgs) -> Result<Exit, Failure> {
    let place = locations.project_store()?;
    let (reader, row) = place.find(asked.name.as_deref())?;
    let Some(item) = &asked.item else {
        let seen = place.view(&row)?;
        if asked.json {
            print_json::print(&seen);
        } else {
            say_part!("{}", view::status(&seen));
        }
        return Ok(Exit::Done);
    };
    let history = LoopHistory::read(&*reader, &row)?;
    if let Some(number) = item.strip_prefix("attempt:") {
        return attempt(&*reader, &history, number, asked.json);
    }
    if let Some(number) = item.strip_prefix("check:") {
        return check(&*reader, &history, number, asked.json);
    }
    if let Some(finding) = history.state.findings.values().find(|finding| finding.id.as_str() == item) {
        if asked.json {
            print_json::print(finding);
        } else {
            say!("{}", view::finding(finding));
        }
        return Ok(Exit::Done);
    }
    let task = history.state.tasks.iter().find(|task| task.task.id.as_str() == item).ok_or_else(|| {
        Failure::usage(format!("{} has no task, finding, attempt or check {item}", row.name))
            .hint("try a task id, a finding such as F1, attempt:1 or check:1")
    })?;
    let body = blob(&*reader, &task.task.text)?;
    if asked.json {
        let seen = place.view(&row)?;
        let seen = seen.tasks.into_iter().find(|seen| seen.id == task.task.id);
        print_json::print(&json!({ "task": seen, "text": body }));
    } else {
        say!("{}", body.lines().map(text::clean).collect::<Vec<_>>().join("\n"));
    }
    Ok(Exit::Done)
}

pub fn findings(locations: &Locations, asked: &FindingsArgs) -> Result<Exit, Failure> {
    let place = locations.project_store()?;
    let (reader, row) = place.find(asked.name.as_deref())?;
    let history = LoopHistory::read(&*reader, &row)?;
    let shown = |finding: &&Finding| asked.all || finding.is_open();
    let found: Vec<&Finding> = history.state.findings.values().filter(shown).collect();
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

fn attempt(
    reader: &dyn ReadStore,
    history: &LoopHistory,
    number: &str,
    as_json: bool,
) -> Result<Exit, Failure> {
    let found = history.attempts.iter().find(|attempt| attempt.attempt.to_string() == number);
    let found = found.ok_or_else(|| Failure::usage(format!("there is no finished attempt {number}")))?;
    let read = |id: &Option<BlobId>| id.as_ref().map(|id| blob(reader, id)).transpose();
    let (brief, transcript) = (read(&found.brief)?, read(&found.transcript)?);
    if as_json {
        print_json::print(&json!({ "attempt": found, "brief": brief, "transcript": transcript }));
        return Ok(Exit::Done);
    }
    say!("attempt {}  {}  {}  {}", found.attempt, found.role, found.agent, found.end);
    say_summary(found);
    for (title, body) in [("brief", brief), ("transcript", transcript)] {
        say!("\n---- {title} ----");
        for line in body.unwrap_or_default().lines() {
            say!("{}", text::clean(line));
        }
    }
    Ok(Exit::Done)
}

/// What it did, as its own stream told.
fn say_summary(found: &AttemptRow) {
    let Summary { commands, created, edited, read: _, errors, refused } = &found.summary;
    for note in &found.notes {
        say!("  {}", text::clean(note));
    }
    for ran in commands {
        let ending = ran.exit.map_or_else(|| ran.ok.to_string(), |code| format!("exit {code}"));
        say!("  ran      {}  ({ending})", text::clean(&ran.what));
    }
    let lists = [("created", created), ("edited", edited), ("error", errors), ("refused", refused)];
    for (what, item) in lists.into_iter().flat_map(|(what, list)| list.iter().map(move |item| (what, item))) {
        say!("  {what:<8} {}", text::clean(item));
    }
}

fn check(
    reader: &dyn ReadStore,
    history: &LoopHistory,
    number: &str,
    as_json: bool,
) -> Result<Exit, Failure> {
    let found = history.checks.get(number);
    let (title, output) = found.ok_or_else(|| {
        Failure::usage(format!("there is no check result {number}"))
            .hint("`windlass log` numbers them by event")
    })?;
    let body = blob(reader, output)?;
    if as_json {
        print_json::print(&json!({ "check": title, "output": body }));
        return Ok(Exit::Done);
    }
    say!("{title}");
    for line in body.lines() {
        say!("{}", text::clean(line));
    }
    Ok(Exit::Done)
}

fn blob(reader: &dyn ReadStore, id: &BlobId) -> Result<String, Failure> {
    let bytes = reader.blob(id, SHOWN_BYTES).or_error()?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A loop's log, folded, with what the state does not keep.
pub struct LoopHistory {
    state: State,
    pub attempts: Vec<AttemptRow>,
    /// Each check's result by the number of its event.
    checks: BTreeMap<String, (String, BlobId)>,
}

/// What is kept of each record while the log is folded.
#[derive(Default)]
struct Kept {
    attempts: Vec<AttemptRow>,
    checks: BTreeMap<String, (String, BlobId)>,
    /// What each attempt was about.
    tasks: BTreeMap<u64, String>,
}

#[derive(serde::Serialize)]
pub struct AttemptRow {
    pub attempt: u64,
    pub role: &'static str,
    /// None for the whole.
    pub task: Option<String>,
    /// When it ended, in UTC.
    pub day: String,
    pub agent: String,
    end: String,
    pub usage: Option<Usage>,
    pub models: Vec<ModelUsage>,
    summary: Summary,
    notes: Vec<String>,
    brief: Option<BlobId>,
    transcript: Option<BlobId>,
}

impl LoopHistory {
    pub fn read(reader: &dyn ReadStore, row: &StoredLoop) -> Result<Self, Failure> {
        let mut kept = Kept::default();
        let look = |_: &State, record: &Record, decision: &Decision| kept.keep(record.first_event, decision);
        let state = fold_with(reader, &row.name, look).or_error()?;
        Ok(Self { state, attempts: kept.attempts, checks: kept.checks })
    }
}

impl Kept {
    fn keep(&mut self, first: u64, decision: &Decision) {
        for (seq, event) in (first..).zip(&decision.events) {
            if let Event::AttemptStarted { attempt, task: Some(task), .. } = event {
                self.tasks.insert(attempt.0, task.to_string());
            }
            if let Event::AttemptFinished(finished) = event {
                self.attempts.push(AttemptRow {
                    attempt: finished.attempt.0,
                    role: finished.role.name(),
                    task: self.tasks.get(&finished.attempt.0).cloned(),
                    day: decision.at.to_string().get(..10).unwrap_or_default().to_owned(),
                    agent: finished.agent.clone(),
                    models: finished.models.clone(),
                    summary: finished.summary.clone(),
                    notes: finished.notes.clone(),
                    end: finished.end.to_string(),
                    usage: finished.usage,
                    brief: finished.brief.clone(),
                    transcript: finished.transcript.clone(),
                });
            }
            if let Event::CheckFinished { output, .. } = event {
                self.checks.insert(seq.to_string(), (event.to_string(), output.clone()));
            }
        }
    }
}
