//! A drive as it happens: lines for what matters, a live line on a terminal, a
//! heartbeat in a pipe.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use windlass_app::{Observer, clock};
use windlass_core::event::{
    AttemptEvent, Decision, Event, FindingEvent, GateEvent, IterationEvent, IterationResult, LandingEvent,
    Novelty, OperatorEvent, PauseEvent, RunEvent, TaskEvent,
};
use windlass_core::live::Live;
use windlass_core::view::View;

use super::out::{self, say};
use super::text::{self, Colour, fit, paint, width};

const HEARTBEAT: Duration = Duration::from_secs(30);

pub struct ProgressPrinter {
    live: bool,
    drawn: bool,
    quiet: bool,
    since: Instant,
    last_line: Instant,
    doing: String,
    /// Of the attempt that runs, as far as it says.
    tokens: u64,
}

impl ProgressPrinter {
    /// `quiet` says nothing at all: the caller prints JSON.
    pub fn new(quiet: bool) -> Self {
        let now = clock::now();
        let live = std::io::stdout().is_terminal() && !quiet;
        Self { live, drawn: false, quiet, since: now, last_line: now, doing: String::new(), tokens: 0 }
    }

    pub fn line(&mut self, line: &str) {
        if self.quiet {
            return;
        }
        self.erase();
        say!("{line}");
        self.last_line = clock::now();
    }

    pub fn erase(&mut self) {
        if self.drawn {
            out::redraw("");
            self.drawn = false;
        }
    }

    fn draw(&mut self) {
        let elapsed = self.since.elapsed().as_secs();
        let tokens = if self.tokens == 0 { String::new() } else { format!(" + {}", self.tokens) };
        let text = format!("{}{tokens}  {}:{:02}", self.doing, elapsed / 60, elapsed % 60);
        out::redraw(&paint(&fit(&text, width().saturating_sub(1)), Colour::Faint));
        self.drawn = true;
    }
}

impl Observer for ProgressPrinter {
    fn decided(&mut self, view: &View, decision: &Decision) {
        for event in &decision.events {
            for warning in warnings(event) {
                self.warned(&warning);
            }
            if let Some((told, colour)) = told(event) {
                let line = format!("{}  {told}", text::clock(decision.at));
                let line = if self.live { fit(&line, width()) } else { text::clean(&line) };
                self.line(&paint(&line, colour));
            }
        }
        let before = std::mem::replace(&mut self.doing, doing(view));
        if before != self.doing {
            self.since = clock::now();
            self.tokens = 0;
        }
        if self.live {
            self.draw();
        }
    }

    fn warned(&mut self, text: &str) {
        self.line(&format!("warning: {}", text::clean_lines(text, "         ")));
    }

    fn heard(&mut self, live: &Live) {
        if let Live::Tokens(used) = live {
            self.tokens = used.tokens();
        }
        if let Some((told, colour)) = relayed(live) {
            let line = format!("            {told}");
            let line = if self.live { fit(&line, width()) } else { text::clean(&line) };
            self.line(&paint(&line, colour));
        }
    }

    fn ticked(&mut self) {
        if self.live {
            self.draw();
        } else if !self.quiet && self.last_line.elapsed() >= HEARTBEAT {
            let line = format!("… {} for {} s", self.doing, self.since.elapsed().as_secs());
            self.line(&line);
        }
    }
}

/// What an agent says and does, a line each. Files and starts of tools are in the transcript.
fn relayed(live: &Live) -> Option<(String, Colour)> {
    match live {
        Live::Text { text: said } => {
            let first = said.lines().map(str::trim).find(|line| !line.is_empty())?;
            Some((first.to_owned(), Colour::Faint))
        }
        Live::ToolFinished { tool, exit, ok } => {
            let ending = match exit {
                Some(code) => format!("exit {code}"),
                None if *ok => "done".to_owned(),
                None => "failed".to_owned(),
            };
            Some((format!("{}: {}  ({ending})", tool.name, tool.what), Colour::Faint))
        }
        Live::Retry(retry) => Some((format!("it tries again: {}", retry.why), Colour::Busy)),
        Live::RefusedCall(call) => Some((format!("refused: {}: {}", call.what, call.why), Colour::Busy)),
        Live::ToolStarted(_) | Live::Touched(_) | Live::Tokens(_) => None,
    }
}

/// What is happening right now, in a few words.
fn doing(view: &View) -> String {
    let phase = view.phase.map_or("starting", |phase| phase.name());
    let max = view.max_iterations;
    let of = if max == 0 { String::new() } else { format!(" of {max}") };
    let task = view.active_task.as_ref().map_or_else(String::new, |task| format!("  {task}"));
    let tokens = view.usage.tokens();
    let tokens = if tokens == 0 { String::new() } else { format!("  {tokens} tokens") };
    format!("{phase}{task}  iteration {}{of}{tokens}", view.iteration)
}

/// What a drive found out about its machine when it began.
#[expect(clippy::wildcard_enum_match_arm, reason = "a surface picks the events it shows")]
fn warnings(event: &Event) -> Vec<String> {
    match event {
        Event::Run(RunEvent::Started { asked, .. }) | Event::Run(RunEvent::Resumed { asked, .. }) => {
            asked.sandbox.warnings()
        }
        _ => Vec::new(),
    }
}

/// The events a person follows a drive by; `windlass log` has all of them.
#[expect(clippy::wildcard_enum_match_arm, reason = "a surface picks the events it shows")]
fn told(event: &Event) -> Option<(String, Colour)> {
    let told = match event {
        Event::Iteration(IterationEvent::Opened { .. }) => (event.to_string(), Colour::Bold),
        Event::Attempt(AttemptEvent::Finished(_)) => (format!("  {event}"), Colour::Faint),
        Event::Attempt(AttemptEvent::TreeRecorded(recorded)) => match recorded.novelty {
            Some(Novelty::New) | None => return None,
            Some(Novelty::Unchanged | Novelty::Seen) => (format!("  {event}"), Colour::Busy),
        },
        Event::Gate(GateEvent::CheckFinished(run)) => {
            (format!("  {event}"), if run.result.exited_well() { Colour::Good } else { Colour::Bad })
        }
        Event::Gate(GateEvent::Failed { failing, .. }) => {
            let odd = failing.iter().filter(|failing| failing.reason.is_despite_exit_code());
            let lines: Vec<String> =
                odd.map(|failing| format!("  check {}: {}", failing.check, failing.reason.words())).collect();
            if lines.is_empty() {
                return None;
            }
            (lines.join("; "), Colour::Bad)
        }
        Event::Gate(GateEvent::Reused { .. }) => (format!("  {event}"), Colour::Faint),
        Event::Attempt(AttemptEvent::ReviewRecorded(review)) => {
            let good = review.verdict == windlass_core::verdict::Verdict::Accept;
            (format!("  {event}"), if good { Colour::Good } else { Colour::Bad })
        }
        Event::Finding(FindingEvent::Opened(_)) => (format!("  {event}"), Colour::Bad),
        Event::Finding(FindingEvent::Resolved { .. }) => (format!("  {event}"), Colour::Good),
        Event::Landing(LandingEvent::Landed { .. }) | Event::Task(TaskEvent::Done { .. }) => {
            (format!("  {event}"), Colour::Good)
        }
        Event::Task(TaskEvent::Blocked { .. }) => (format!("  {event}"), Colour::Bad),
        Event::Iteration(IterationEvent::Closed { result, .. }) if *result != IterationResult::Done => {
            (format!("  {event}"), Colour::Busy)
        }
        Event::Iteration(IterationEvent::PhaseEntered { phase }) if is_final(*phase) => {
            (event.to_string(), Colour::Bold)
        }
        Event::Pause(PauseEvent::WaitStarted { .. })
        | Event::Attempt(AttemptEvent::AgentReplaced { .. })
        | Event::Pause(PauseEvent::Paused { .. })
        | Event::Run(RunEvent::Interrupted { .. })
        | Event::Landing(LandingEvent::FinishDropped { .. })
        | Event::Operator(OperatorEvent::CommandTaken { .. }) => (event.to_string(), Colour::Busy),
        Event::Run(RunEvent::Resumed { .. }) => (event.to_string(), Colour::Faint),
        _ => return None,
    };
    Some(told)
}

fn is_final(phase: windlass_core::event::Phase) -> bool {
    use windlass_core::event::Phase;
    match phase {
        Phase::FinalVerify | Phase::FinalReview | Phase::Fix | Phase::Finish => true,
        Phase::Execute | Phase::Verify | Phase::Review | Phase::Land => false,
    }
}
