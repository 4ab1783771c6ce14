//! `windlass show`, `findings`: one loop, in full.

use serde_json::json;
use windlass_app::StoredLoop;
use windlass_core::finding::Finding;
use windlass_core::history::{AttemptRecord, HistoryLimits, Keep};
use windlass_core::id::{BlobId, FindingId};
use windlass_core::summary::Summary;

use super::diff;
use super::status::behind;
use crate::args::{FindingsArgs, ShowArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::place::Locations;
use crate::show::out::{say, say_part};
use crate::show::{json as print_json, text, view};

pub fn show(locations: &Locations, asked: &ShowArgs) -> Result<Exit, Failure> {
    let place = locations.open_project()?;
    let row = place.find(asked.name.as_deref())?;
    if asked.diff {
        return diff::show(&place, &row, asked);
    }
    let Some(item) = &asked.item else {
        let seen = row.view()?;
        if asked.json {
            print_json::print(&seen);
        } else {
            say_part!("{}", view::status(&seen, &behind(&place, &row, &seen)));
        }
        return Ok(Exit::Done);
    };
    if let Some(number) = item.strip_prefix("attempt:") {
        return attempt(&row, number, asked.json);
    }
    if let Some(number) = item.strip_prefix("check:") {
        return check(&row, number, asked.json);
    }
    let history = row.history(HistoryLimits { findings: Keep::All, ..HistoryLimits::NOTHING })?;
    if let Some(found) = history.finding(&FindingId::new(item)) {
        if asked.json {
            print_json::print(&found.finding);
        } else {
            say!("{}", view::finding(&found.finding));
        }
        return Ok(Exit::Done);
    }
    let seen = row.view()?;
    let task = seen.tasks.iter().find(|task| task.id.as_str() == item).ok_or_else(|| {
        Failure::usage(format!("{} has no task, finding, attempt or check {item}", row.name))
            .hint("try a task id, a finding such as F1, attempt:1 or check:1")
    })?;
    let body = row.text(&task.text)?;
    if asked.json {
        print_json::print(&json!({ "task": task, "text": body }));
    } else {
        say!("{}", body.lines().map(text::clean).collect::<Vec<_>>().join("\n"));
    }
    Ok(Exit::Done)
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

fn attempt(row: &StoredLoop, number: &str, as_json: bool) -> Result<Exit, Failure> {
    let found = row.attempt(number)?;
    let read = |id: &Option<BlobId>| id.as_ref().map(|id| row.text(id)).transpose();
    let (brief, transcript) = (read(&found.brief)?, read(&found.transcript)?);
    if as_json {
        print_json::print(&json!({ "attempt": found, "brief": brief, "transcript": transcript }));
        return Ok(Exit::Done);
    }
    say!("attempt {}  {}  {}  {}", found.attempt, found.role, found.agent, found.end);
    say_summary(&found);
    for (title, body) in [("brief", brief), ("transcript", transcript)] {
        say!("\n---- {title} ----");
        for line in body.unwrap_or_default().lines() {
            say!("{}", text::clean(line));
        }
    }
    Ok(Exit::Done)
}

/// What it did, as its own stream told.
fn say_summary(found: &AttemptRecord) {
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

fn check(row: &StoredLoop, number: &str, as_json: bool) -> Result<Exit, Failure> {
    let found = number.parse().map_or(Ok(None), |event| row.check(event))?.ok_or_else(|| {
        Failure::usage(format!("there is no check result {number}"))
            .hint("`windlass log` numbers them by event")
    })?;
    let body = row.text(&found.result.output)?;
    if as_json {
        print_json::print(&json!({ "check": found.line, "output": body }));
        return Ok(Exit::Done);
    }
    say!("{}", found.line);
    for line in body.lines() {
        say!("{}", text::clean(line));
    }
    Ok(Exit::Done)
}
