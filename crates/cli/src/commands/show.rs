//! `windlass show`, `findings`, `usage`: one loop, in full.

use std::collections::BTreeMap;

use serde_json::json;
use windlass_core::event::{Decision, Event};
use windlass_core::finding::Finding;
use windlass_core::id::{BlobId, Seq};
use windlass_core::state::State;
use windlass_core::usage::Usage;
use windlass_store::Reader;

use crate::args::{Findings, Show, ShowItem};
use crate::exit::Exit;
use crate::failure::{Failure, OrFail};
use crate::place::{Known, Wish};
use crate::show::out::{say, say_part};
use crate::show::{json as print_json, text, view};

const PAGE: usize = 512;
const SHOWN_BYTES: u64 = 4 << 20;

pub fn show(wish: &Wish, asked: &ShowItem) -> Result<Exit, Failure> {
    let place = wish.place()?;
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
    let history = History::read(&reader, &row)?;
    if let Some(number) = item.strip_prefix("attempt:") {
        return attempt(&reader, &history, number, asked.json);
    }
    if let Some(number) = item.strip_prefix("check:") {
        return check(&reader, &history, number, asked.json);
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
    let body = blob(&reader, &task.task.text)?;
    if asked.json {
        let seen = place.view(&row)?;
        let seen = seen.tasks.into_iter().find(|seen| seen.id == task.task.id);
        print_json::print(&json!({ "task": seen, "text": body }));
    } else {
        say!("{}", body.lines().map(text::clean).collect::<Vec<_>>().join("\n"));
    }
    Ok(Exit::Done)
}

pub fn findings(wish: &Wish, asked: &Findings) -> Result<Exit, Failure> {
    let place = wish.place()?;
    let (reader, row) = place.find(asked.name.as_deref())?;
    let history = History::read(&reader, &row)?;
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

pub fn usage(wish: &Wish, asked: &Show) -> Result<Exit, Failure> {
    let place = wish.place()?;
    let (reader, row) = place.find(asked.name.as_deref())?;
    let seen = place.view(&row)?;
    let history = History::read(&reader, &row)?;
    if asked.json {
        print_json::print(&json!({
            "loop": row.name, "total": seen.usage, "by_role": history.state.ledger.by_role, "attempts": history.attempts,
        }));
        return Ok(Exit::Done);
    }
    say!("{}: {}", row.name, view::usage(&seen.usage));
    for (role, used) in &history.state.ledger.by_role {
        say!("  {:<9} {}", role.name(), buckets(used));
    }
    for attempt in &history.attempts {
        let used = attempt.usage.as_ref().map_or_else(|| "unknown".to_owned(), buckets);
        say!("  attempt {:<4} {:<9} {used}", attempt.attempt, attempt.role);
    }
    Ok(Exit::Done)
}

fn buckets(used: &Usage) -> String {
    format!(
        "in {} out {} reasoning {} cache read {} cache write {}  {:.4} USD",
        used.input_tokens,
        used.output_tokens,
        used.reasoning_tokens,
        used.cache_read_tokens,
        used.cache_write_tokens,
        used.cost_usd()
    )
}

fn attempt(reader: &Reader, history: &History, number: &str, as_json: bool) -> Result<Exit, Failure> {
    let found = history.attempts.iter().find(|attempt| attempt.attempt.to_string() == number);
    let found = found.ok_or_else(|| Failure::usage(format!("there is no finished attempt {number}")))?;
    let read = |id: &Option<BlobId>| id.as_ref().map(|id| blob(reader, id)).transpose();
    let (brief, transcript) = (read(&found.brief)?, read(&found.transcript)?);
    if as_json {
        print_json::print(&json!({ "attempt": found, "brief": brief, "transcript": transcript }));
        return Ok(Exit::Done);
    }
    say!("attempt {}  {}  {}", found.attempt, found.role, found.end);
    for (title, body) in [("brief", brief), ("transcript", transcript)] {
        say!("\n---- {title} ----");
        for line in body.unwrap_or_default().lines() {
            say!("{}", text::clean(line));
        }
    }
    Ok(Exit::Done)
}

fn check(reader: &Reader, history: &History, number: &str, as_json: bool) -> Result<Exit, Failure> {
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

fn blob(reader: &Reader, id: &BlobId) -> Result<String, Failure> {
    let bytes = reader.blob(id, SHOWN_BYTES).or_error()?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A loop's log, folded, with what the state does not keep.
struct History {
    state: State,
    attempts: Vec<AttemptRow>,
    /// Each check's result by the number of its event.
    checks: BTreeMap<String, (String, BlobId)>,
}

#[derive(serde::Serialize)]
struct AttemptRow {
    attempt: u64,
    role: &'static str,
    end: String,
    usage: Option<Usage>,
    brief: Option<BlobId>,
    transcript: Option<BlobId>,
}

impl History {
    fn read(reader: &Reader, row: &Known) -> Result<Self, Failure> {
        let mut history: Option<Self> = None;
        let mut after = Seq(0);
        loop {
            let page = reader.read(&row.name, after, PAGE).or_error()?;
            let Some(last) = page.last() else { break };
            after = last.seq;
            for record in page {
                let decision: Decision = serde_json::from_str(&record.body).map_err(|error| {
                    Failure::error(format!("{} record {}: {error}", row.name, record.seq))
                })?;
                match &mut history {
                    Some(history) => history.state.apply(record.seq, &decision),
                    None => {
                        let state = State::found(&decision).or_error()?;
                        history = Some(Self { state, attempts: Vec::new(), checks: BTreeMap::new() });
                    }
                }
                if let Some(history) = &mut history {
                    history.keep(record.first_event, &decision);
                }
            }
        }
        history.ok_or_else(|| Failure::error(format!("{} has no records", row.name)))
    }

    fn keep(&mut self, first: u64, decision: &Decision) {
        for (seq, event) in (first..).zip(&decision.events) {
            if let Event::AttemptFinished(finished) = event {
                self.attempts.push(AttemptRow {
                    attempt: finished.attempt.0,
                    role: finished.role.name(),
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
