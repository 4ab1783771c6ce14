//! The trail: what a loop's history looks like as files people can read. It is
//! derived from the log, and nothing is decided from it but that a loop is missing
//! (`orphaned_data`).

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use windlass_core::acceptance::CriterionAnswer;
use windlass_core::event::{
    AttemptEvent, Decision, Event, IterationEvent, IterationResult, OperatorEvent, PauseEvent, RunEvent,
    TaskEvent,
};
use windlass_core::history::{History, HistoryLimits, Keep};
use windlass_core::id::{LoopName, TaskId};
use windlass_core::plain::{escaped, plain, plain_line};
use windlass_core::time::Timestamp;
use windlass_core::view::{Status, TaskView, View};
use windlass_store::trail::{Growth, NewTrailFile, Trail, TrailError};
use windlass_store::{HistoryError, ReadLog, StoreError, fold_with};

use crate::clock;

/// Files that only grow.
const LINE_FILES: &[&str] = &[
    "events.jsonl",
    "iterations.jsonl",
    "execution.jsonl",
    "review.jsonl",
    "status-history.jsonl",
    "progress.md",
];

/// One event as a line of JSON: its number, its time, then its own fields.
pub fn event_line(seq: u64, at: Timestamp, event: &Event) -> String {
    let event = serde_json::to_string(event).expect("an event is plain data");
    format!("{{\"seq\":{seq},\"at\":\"{at}\",{}", &escaped(&event)[1..])
}

struct EventLine<'e> {
    seq: u64,
    at: Timestamp,
    event: &'e Event,
    json: String,
}

/// Lines to append, and files to replace, after one decision.
#[derive(Default)]
pub struct Pages {
    pub lines: Vec<(&'static str, String)>,
    pub files: Vec<(String, String)>,
    /// Files that show how things stand: a later version makes an earlier one useless.
    pub standing: Vec<(String, String)>,
    /// The loop rests after this decision, so that nothing may be held back.
    pub rests: bool,
}

/// What the pages tell of the past. A decision may close an iteration and open
/// the next one.
const TOLD: HistoryLimits = HistoryLimits {
    runs: Keep::Last(1),
    iterations: Keep::Last(4),
    findings: Keep::Last(2_000),
    timeline: Keep::Last(5_000),
    ..HistoryLimits::NOTHING
};

/// Turns decisions into pages, in order.
pub struct TrailRenderer {
    past: History,
    last_status: String,
}

impl Default for TrailRenderer {
    fn default() -> Self {
        Self { past: History::new(TOLD), last_status: String::new() }
    }
}

impl TrailRenderer {
    /// `view` is of the loop after the decision.
    pub fn write(&mut self, view: &View, decision: &Decision) -> Pages {
        let mut pages = Pages::default();
        let decision = &decision.told();
        let first = view.events - decision.events.len() as u64 + 1;
        self.past.note(first, decision);
        for (seq, event) in (first..).zip(&decision.events) {
            let json = event_line(seq, decision.at, event);
            let line = EventLine { seq, at: decision.at, event, json };
            self.event(&mut pages, &line, view);
            pages.lines.push(("events.jsonl", line.json));
        }
        self.status(&mut pages, decision.at, view);
        pages.rests = !matches!(view.status, Status::Running | Status::Waiting);
        if is_worth_a_rewrite(decision) {
            self.rewrite(&mut pages, view);
        }
        pages
    }

    /// Catches up with a log without writing a page.
    fn read(&mut self, log: &dyn ReadLog, name: &LoopName) -> Result<(), ExportError> {
        self.past = History::new(TOLD);
        fold_with(log, name, |_, record, decision| self.past.note(record.first_event, &decision.told()))?;
        Ok(())
    }

    /// What an iteration saw, up to the event that closed it.
    fn iteration_lines(&self, iteration: u32, closed: u64) -> String {
        let opened = self.past.iterations.iter().rev().find(|of| of.iteration == iteration);
        let seen = opened.map_or(0, |of| of.event)..=closed;
        let entries = self.past.timeline.iter().filter(|entry| seen.contains(&entry.event));
        let lines: Vec<String> =
            entries.map(|entry| format!("- {} {}", entry.at, plain_line(&entry.line))).collect();
        lines.join("\n")
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "a page picks the events it tells")]
    fn event(&self, pages: &mut Pages, line: &EventLine<'_>, view: &View) {
        let EventLine { seq, at, event, json } = line;
        match event {
            Event::Attempt(AttemptEvent::Finished(_)) => pages.lines.push(("execution.jsonl", json.clone())),
            Event::Attempt(AttemptEvent::ReviewRecorded(review)) => {
                pages.lines.push(("review.jsonl", json.clone()));
                pages.files.push(("review.json".to_owned(), pretty(&json!(review))));
            }
            Event::Iteration(IterationEvent::Closed { iteration, task, result }) => {
                let title = plain_line(task.as_ref().map_or("fix", |task| task.as_str()));
                let verdict = verdict(view, task.as_ref(), *result);
                let note = format!(
                    "# Iteration {iteration}: {title}\n\n{verdict}\n\n{}\n",
                    self.iteration_lines(*iteration, *seq)
                );
                pages.files.push((format!("iterations/{iteration:04}.md"), note));
                pages.lines.push(("iterations.jsonl", json.clone()));
                let titled = titled(view, task.as_ref());
                let progress = format!("- {at} iteration {iteration}, {titled}: {verdict}");
                pages.lines.push(("progress.md", progress));
            }
            Event::Task(TaskEvent::StopChecked { .. }) => {
                pages.lines.push(("progress.md", format!("- {at} {}", plain_line(&event.to_string()))));
            }
            _ => {}
        }
    }

    fn status(&mut self, pages: &mut Pages, at: Timestamp, view: &View) {
        let phase = view.phase.map_or("", |phase| phase.name());
        let now = format!("{} {phase}", view.status.name());
        if now != self.last_status {
            let line = json!({ "at": at, "status": view.status, "phase": view.phase });
            pages.lines.push(("status-history.jsonl", line.to_string()));
            self.last_status = now;
        }
    }

    fn rewrite(&self, pages: &mut Pages, view: &View) {
        let findings: Vec<_> = self.past.findings().map(|of| &of.finding).collect();
        let asked = self.past.runs.last().filter(|last| last.run == view.run).map(|last| last.asked.clone());
        let run = json!({
            "loop": view.name, "run": view.run, "goal": view.goal, "base": view.base, "branch": view.branch,
            "started_at": view.started_at, "asked": asked.unwrap_or_default(), "agents": view.agents,
        });
        pages.standing.push(("state.json".to_owned(), pretty(&json!(view))));
        pages.standing.push(("run.json".to_owned(), pretty(&run)));
        pages.standing.push(("findings.json".to_owned(), pretty(&json!(findings))));
        pages.standing.push(("status.txt".to_owned(), status_text(view)));
        if let Some(outcome) = &view.outcome {
            let report = json!({
                "outcome": outcome, "ended_at": view.ended_at, "commit": view.commit, "tree": view.tree,
                "tasks": view.tasks, "findings": view.findings, "usage": view.usage, "stop": view.stop,
            });
            pages.files.push(("stop-report.json".to_owned(), pretty(&report)));
            pages.files.push(("summary.md".to_owned(), summary(view)));
        }
    }
}

/// The task with its title, where that says more.
fn titled(view: &View, task: Option<&TaskId>) -> String {
    let Some(id) = task else { return "fix".to_owned() };
    let title = view.tasks.iter().find(|of| of.id == *id).map_or("", |of| of.title.as_str());
    match plain_line(title) {
        title if title.is_empty() || title == id.as_str() => plain_line(id.as_str()),
        title => format!("{} ({title})", plain_line(id.as_str())),
    }
}

/// What an iteration came to, and why: of the view after it was closed.
fn verdict(view: &View, task: Option<&TaskId>, result: IterationResult) -> String {
    let of = task.and_then(|id| view.tasks.iter().find(|of| of.id == *id));
    let setback = match task {
        Some(_) => of.and_then(|of| of.setback.as_ref()),
        None => view.setback.as_ref(),
    };
    match (result, setback) {
        (IterationResult::Done, _) => match of {
            Some(of) if of.reviewed => "done, accepted by the reviewer".to_owned(),
            Some(of) if of.checked => "done, accepted by the gate, not reviewed".to_owned(),
            Some(_) | None => result.words().to_owned(),
        },
        (_, Some(setback)) => plain_line(&setback.words()),
        (_, None) => result.words().to_owned(),
    }
}

/// The files that show how things stand; not worth writing for every event.
fn is_worth_a_rewrite(decision: &Decision) -> bool {
    decision.events.iter().any(|event| {
        matches!(
            event,
            Event::Run(RunEvent::Started { .. })
                | Event::Run(RunEvent::Resumed { .. })
                | Event::Run(RunEvent::Restarted { .. })
                | Event::Attempt(AttemptEvent::Started { .. })
                | Event::Iteration(IterationEvent::Closed { .. })
                | Event::Task(TaskEvent::StopChecked { .. })
                | Event::Pause(PauseEvent::Paused { .. })
                | Event::Pause(PauseEvent::WaitStarted { .. })
                | Event::Run(RunEvent::Interrupted { .. })
                | Event::Operator(OperatorEvent::CommandTaken { .. })
                | Event::Run(RunEvent::Ended { .. })
        )
    })
}

/// How the loop stands, in plain text.
pub fn status_text(view: &View) -> String {
    let mut text = format!("{}: {}", view.name, view.status.name());
    if let Some(outcome) = &view.outcome {
        let detail = plain_line(&outcome.detail);
        let _ = write!(text, ", {} ({}): {detail}", outcome.kind.name(), outcome.reason.name());
    }
    let _ = writeln!(text, "\niteration {} of {}", view.iteration, limit(view.max_iterations));
    for task in &view.tasks {
        let _ = writeln!(text, "{}", task_line(task));
    }
    if let Some(stop) = &view.stop {
        let steps = if stop.steps == 1 { "step" } else { "steps" };
        let _ = writeln!(text, "{} {steps} landed", stop.steps);
        for check in &stop.checks {
            let (mark, why) = (if check.holds { "holds" } else { "open" }, plain_line(&check.why));
            let _ = writeln!(text, "  {mark}  stop check {}: {why}", plain_line(&check.check));
        }
    }
    text
}

fn summary(view: &View) -> String {
    let mut text = format!("# {}\n\n{}\n\n{}\n", view.name, plain(&view.goal), status_text(view));
    for task in view.tasks.iter().filter(|task| !task.acceptance.is_empty()) {
        let _ = writeln!(text, "What must hold for {}:\n", plain_line(task.id.as_str()));
        for CriterionAnswer { number, text: criterion, met, place, check } in &task.acceptance {
            let shown = [place, check].into_iter().filter(|by| !by.is_empty());
            let shown: String = shown.map(|by| format!(" ({})", plain_line(by))).collect();
            let _ = writeln!(text, "{number}. {}: {}{shown}", plain_line(criterion), met.name());
        }
        text.push('\n');
    }
    if let Some(commit) = &view.commit {
        let _ = writeln!(text, "Branch `{}` is at {commit}.", view.branch);
    }
    if let Some(words) = &view.completion_summary {
        let _ = writeln!(text, "\n{}", plain(words));
    }
    text
}

fn task_line(task: &TaskView) -> String {
    let status = serde_json::to_value(task.status).ok();
    let status = status.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned();
    let why = match task.reason {
        Some(reason) => format!(" ({})", reason.name()),
        None if task.done_before => " (before windlass came, not proven)".to_owned(),
        None => String::new(),
    };
    format!("  {status}{why}  {}  {}", plain_line(task.id.as_str()), plain_line(&task.title))
}

fn limit(max: u32) -> String {
    if max == 0 { "no limit".to_owned() } else { max.to_string() }
}

fn pretty(value: &Value) -> String {
    let text = serde_json::to_string_pretty(value).expect("a value is plain data");
    escaped(&text).into_owned() + "\n"
}

/// Histories longer than this are not written anew at every start; `export`
/// does it when asked.
const REBUILT_EVENTS: u64 = 20_000;

/// How long the files that show how things stand may be behind: a loop whose
/// steps take milliseconds must not spend them on pages nobody could read.
const HELD_BACK: Duration = Duration::from_millis(200);

#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    #[error(transparent)]
    Trail(#[from] TrailError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    History(#[from] HistoryError),
}

/// Writes the whole trail of a loop below a directory; says where.
pub fn rebuild(log: &dyn ReadLog, name: &LoopName, below: &Path) -> Result<PathBuf, ExportError> {
    let mut writer = TrailWriter::new(Trail::open(below, name)?);
    writer.rebuild(log, name)?;
    Ok(writer.directory().to_owned())
}

/// Brings a trail to where the log is when nobody drives the loop. A long
/// history is left to `rebuild`, which is asked for.
pub fn refresh(log: &dyn ReadLog, name: &LoopName, project: &Path) -> Result<(), ExportError> {
    let events = log.head(name)?.map_or(0, |head| head.events);
    if events <= REBUILT_EVENTS {
        rebuild(log, name, project)?;
    }
    Ok(())
}

/// Keeps the trail in step with the log while a loop is driven. A trail that
/// cannot be written is told once and never stops a drive.
pub struct TrailWriter {
    trail: Option<Trail>,
    directory: PathBuf,
    renderer: TrailRenderer,
    lengths: BTreeMap<&'static str, u64>,
    /// What the standing files hold.
    written: BTreeMap<String, String>,
    /// What they are to hold, while they were written a moment ago.
    held: BTreeMap<String, String>,
    rewritten: Option<Instant>,
    /// Why the trail is not written, until someone is told.
    untold: Option<String>,
}

impl TrailWriter {
    pub fn open(project: &Path, name: &LoopName) -> Self {
        match Trail::open(project, name) {
            Ok(trail) => Self::new(trail),
            Err(error) => {
                let directory = project.join(".windlass/loops").join(name.as_str());
                let mut writer = Self::at(None, directory);
                writer.give_up(&error);
                writer
            }
        }
    }

    fn new(trail: Trail) -> Self {
        let directory = trail.path().to_owned();
        Self::at(Some(trail), directory)
    }

    fn at(trail: Option<Trail>, directory: PathBuf) -> Self {
        Self {
            trail,
            directory,
            renderer: TrailRenderer::default(),
            lengths: BTreeMap::new(),
            written: BTreeMap::new(),
            held: BTreeMap::new(),
            rewritten: None,
            untold: None,
        }
    }

    /// What a person should know, once.
    pub fn warning(&mut self) -> Option<String> {
        self.untold.take()
    }

    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Brings the trail to where the log is.
    pub fn catch_up(&mut self, log: &dyn ReadLog, name: &LoopName) {
        let caught_up = match log.head(name) {
            Ok(Some(head)) if head.events > REBUILT_EVENTS => self.renderer.read(log, name),
            Ok(_) => self.rebuild(log, name),
            Err(error) => Err(error.into()),
        };
        if let Err(error) = caught_up {
            self.give_up(&error);
        }
    }

    pub fn write(&mut self, view: &View, decision: &Decision) {
        let pages = self.renderer.write(view, decision);
        if let Err(error) = self.put(pages) {
            self.give_up(&error);
        }
    }

    fn put(&mut self, pages: Pages) -> Result<(), TrailError> {
        let Some(trail) = &self.trail else { return Ok(()) };
        for (name, line) in joined(pages.lines) {
            let expected = self.lengths.get(name).copied().unwrap_or(u64::MAX);
            let length = match trail.append_lines(name, expected, line.as_bytes())? {
                Growth::Grown { length } => length,
                Growth::Stale { length } => match trail.append_lines(name, length, line.as_bytes())? {
                    Growth::Grown { length } | Growth::Stale { length } => length,
                },
            };
            self.lengths.insert(name, length);
        }
        for (name, text) in pages.files {
            trail.write(&name, text.as_bytes())?;
        }
        self.held.extend(pages.standing);
        if pages.rests || self.is_due() { self.put_standing() } else { Ok(()) }
    }

    /// Writes what was held back, when its time has come.
    pub fn ticked(&mut self) {
        if !self.held.is_empty()
            && self.is_due()
            && let Err(error) = self.put_standing()
        {
            self.give_up(&error);
        }
    }

    fn is_due(&self) -> bool {
        self.rewritten.is_none_or(|last| clock::now().duration_since(last) >= HELD_BACK)
    }

    fn put_standing(&mut self) -> Result<(), TrailError> {
        let Some(trail) = &self.trail else { return Ok(()) };
        for (name, text) in std::mem::take(&mut self.held) {
            if self.written.get(&name) != Some(&text) {
                trail.write(&name, text.as_bytes())?;
                self.written.insert(name, text);
            }
        }
        self.rewritten = Some(clock::now());
        Ok(())
    }

    fn rebuild(&mut self, log: &dyn ReadLog, name: &LoopName) -> Result<(), ExportError> {
        let Some(trail) = &self.trail else { return Ok(()) };
        let begun = LINE_FILES.iter().map(|name| Ok((*name, trail.begin(name)?)));
        let mut lines: BTreeMap<&'static str, NewTrailFile> = begun.collect::<Result<_, TrailError>>()?;
        // Each iteration has a page of its own; the others hold what was written last.
        let mut last: BTreeMap<String, String> = BTreeMap::new();
        let mut put = |pages: Pages| -> Result<(), TrailError> {
            for (name, text) in joined(pages.lines) {
                lines.get_mut(name).map_or(Ok(()), |file| file.add(text.as_bytes()))?;
            }
            for (name, text) in pages.files.into_iter().chain(pages.standing) {
                match name.starts_with("iterations/") {
                    true => trail.write(&name, text.as_bytes())?,
                    false => drop(last.insert(name, text)),
                }
            }
            Ok(())
        };
        let mut written = Ok(());
        let renderer = &mut self.renderer;
        let state = fold_with(log, name, |state, _, decision| {
            let pages = renderer.write(&View::of(state), decision);
            if written.is_ok() {
                written = put(pages);
            }
        })?;
        written?;
        let mut pages = Pages::default();
        self.renderer.rewrite(&mut pages, &View::of(&state));
        put(pages)?;
        for (name, file) in lines {
            self.lengths.insert(name, file.finish()?);
        }
        for (name, text) in last {
            trail.write(&name, text.as_bytes())?;
        }
        let names: Vec<LoopName> = log.loops()?.into_iter().map(|row| row.name).collect();
        trail.write_registry(registry(&names).as_bytes())?;
        Ok(())
    }

    fn give_up(&mut self, error: &dyn std::fmt::Display) {
        self.untold = Some(format!("the readable trail is not written: {error}"));
        self.trail = None;
    }
}

/// The list of the project's loops.
pub(crate) fn registry(names: &[LoopName]) -> String {
    pretty(&json!({ "loops": names }))
}

/// The lines of each file together: a file is opened once a decision.
fn joined(lines: Vec<(&'static str, String)>) -> BTreeMap<&'static str, String> {
    let mut files = BTreeMap::<_, String>::new();
    for (name, line) in lines {
        let text = files.entry(name).or_default();
        text.push_str(&line);
        text.push('\n');
    }
    files
}
