//! A drive as it happens, whoever drives it: lines for what matters, a live line on a
//! terminal, a heartbeat in a pipe.

use std::time::{Duration, Instant};

use windlass_app::{Observer, clock};
use windlass_core::event::{Decision, Event, GateEvent};
use windlass_core::gate::CheckRun;
use windlass_core::live::{CheckEnd, Live};
use windlass_core::view::View;

use super::banner::banner;
use super::live_line::{CurrentStep, standing};
use super::out::{self, say};
use super::red_lines::red_lines;
use super::terminal;
use super::text::{self, Colour, fit, paint, width, wrap, wrap_at};
use super::told::{told, told_before, warnings};

const HEARTBEAT: Duration = Duration::from_secs(30);
/// Before what belongs to the line above.
const MARGIN: &str = "            ";
/// Shown of what a red check printed.
const EXCERPT_LINES: usize = 8;
/// Shown of one message.
const MESSAGE_LINES: usize = 6;

/// What is printed beside the events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgressStyle {
    /// With a banner before the first of them.
    WithBanner,
    /// The same for a run of another process.
    Watching,
    Plain,
    /// Nothing at all: the caller prints JSON.
    Quiet,
}

pub struct ProgressPrinter {
    style: ProgressStyle,
    redraws: bool,
    /// How many lines are drawn that may be drawn again.
    drawn: usize,
    last_line: Instant,
    view: Option<Box<View>>,
    step: CurrentStep,
    /// Checks that were told when they ended, before the gate's record came.
    told_checks: Vec<CheckEnd>,
    has_banner: bool,
}

impl ProgressPrinter {
    pub fn new(style: ProgressStyle) -> Self {
        Self {
            style,
            redraws: terminal::redraws() && style != ProgressStyle::Quiet,
            drawn: 0,
            last_line: clock::now(),
            view: None,
            step: CurrentStep::new(),
            told_checks: Vec::new(),
            has_banner: matches!(style, ProgressStyle::WithBanner | ProgressStyle::Watching),
        }
    }

    pub fn line(&mut self, line: &str) {
        if self.style == ProgressStyle::Quiet {
            return;
        }
        self.erase();
        say!("{line}");
        self.last_line = clock::now();
    }

    /// A note before the first event.
    pub fn wrapped(&mut self, words: &str) {
        self.line(&wrap(words, "  "));
    }

    pub fn erase(&mut self) {
        if self.drawn > 0 {
            out::redraw(self.drawn, &[]);
            self.drawn = 0;
        }
    }

    /// All of its words, broken where the screen ends.
    fn wrapped_line(&mut self, text: &str, colour: Colour) {
        self.line(&paint(&wrap(text, MARGIN), colour));
    }

    fn draw(&mut self) {
        let Some(view) = self.view.as_deref().filter(|_| self.redraws) else { return };
        let room = width().saturating_sub(1);
        let words = format!("  {}", self.step.words(view));
        // Of a wait and a pause every word matters; an agent's words are above as well.
        let is_idle = view.waiting.is_some() || view.paused.is_some();
        let words = if is_idle { wrap_at(&words, "  ", room) } else { words };
        let words = words.lines().map(str::to_owned);
        let lines = standing(view, &self.step, room).into_iter().chain(words);
        let lines: Vec<String> = lines.map(|line| paint(&fit(&line, room), Colour::Faint)).collect();
        out::redraw(self.drawn, &lines);
        self.drawn = lines.len();
    }

    fn check_ended(&mut self, end: &CheckEnd) {
        let colour = if end.exit_code == Some(0) { Colour::Good } else { Colour::Bad };
        let at = text::clock(clock::wall());
        self.wrapped_line(&format!("{at}    {}", words_of(end)), colour);
        self.excerpt(&end.excerpt);
        self.told_checks.push(end.clone());
    }

    /// What the record says of a check beyond what was told when it ended.
    fn check_recorded(&mut self, at: &str, run: &CheckRun, event: &Event) {
        let colour = if run.result.exited_well() { Colour::Good } else { Colour::Bad };
        let is_same = |end: &CheckEnd| {
            (&end.check, end.exit_code, end.duration_ms, end.trial)
                == (&run.result.check, run.result.exit_code, run.result.duration_ms, run.trial)
        };
        let event = event.to_string();
        match self.told_checks.iter().position(is_same) {
            Some(place) => {
                let end = self.told_checks.remove(place);
                if let Some(more) = more_of(&end, &event) {
                    self.wrapped_line(&format!("{at}    {more}"), colour);
                }
            }
            None => {
                self.wrapped_line(&format!("{at}    {event}"), colour);
                if !run.result.exited_well() {
                    self.excerpt(&run.result.excerpt);
                }
            }
        }
    }

    /// The lines of a red check that tell why.
    fn excerpt(&mut self, excerpt: &str) {
        for line in red_lines(excerpt, EXCERPT_LINES) {
            self.wrapped_line(&format!("{MARGIN}  {line}"), Colour::Faint);
        }
    }

    fn message(&mut self, said: &str) {
        let lines: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
        for line in lines.iter().take(MESSAGE_LINES) {
            self.wrapped_line(&format!("{MARGIN}{}", line.trim_end()), Colour::Faint);
        }
        if let Some(more) = lines.len().checked_sub(MESSAGE_LINES).filter(|more| *more > 0) {
            self.wrapped_line(&format!("{MARGIN}… {more} more lines"), Colour::Faint);
        }
    }

    fn relay(&mut self, live: &Live) {
        match live {
            Live::Text { text: said } => self.message(said),
            Live::ToolFinished { tool, exit, ok } => {
                let ending = match exit {
                    Some(code) => format!("exit {code}"),
                    None if *ok => "done".to_owned(),
                    None => "failed".to_owned(),
                };
                let line = format!("{MARGIN}{}: {}  ({ending})", tool.name, tool.what);
                self.wrapped_line(&line, Colour::Faint);
            }
            Live::Retry(retry) => {
                self.wrapped_line(&format!("{MARGIN}it tries again: {}", retry.why), Colour::Busy);
            }
            Live::RefusedCall(call) => {
                self.wrapped_line(&format!("{MARGIN}refused: {}: {}", call.what, call.why), Colour::Busy);
            }
            Live::CheckFinished(end) => self.check_ended(end),
            Live::Held if !self.step.is_held => self.held(),
            Live::Held | Live::ToolStarted(_) | Live::Touched(_) | Live::Tokens(_) | Live::StepStarted(_) => {
            }
        }
    }

    fn held(&mut self) {
        let Some(name) = self.view.as_ref().map(|view| view.name.clone()) else { return };
        let at = text::clock(clock::wall());
        let line = format!("{at}  paused by the operator; windlass resume {name} goes on");
        self.wrapped_line(&line, Colour::Busy);
    }
}

impl Observer for ProgressPrinter {
    fn decided(&mut self, view: &View, decision: &Decision) {
        if self.has_banner && view.started_at.is_some() {
            self.has_banner = false;
            banner(view, self.style).iter().for_each(|line| self.line(line));
        }
        let at = text::clock(decision.at);
        for event in &decision.events {
            for warning in warnings(event) {
                self.warned(&warning);
            }
            if let Event::Gate(GateEvent::CheckFinished(run)) = event {
                self.check_recorded(&at, run, event);
            } else if let Some((words, colour)) = told(view, event) {
                self.wrapped_line(&format!("{at}  {words}"), colour);
            }
            if let Some(words) = told_before(view, event) {
                self.wrapped_line(&format!("{at}  {words}"), Colour::Busy);
            }
        }
        if decision.closes.is_some() {
            self.told_checks.clear();
        }
        if decision.closes.is_some() || !decision.effects.is_empty() || view.paused.is_none() {
            self.step.turn();
        }
        self.view = Some(Box::new(view.clone()));
        self.draw();
    }

    fn warned(&mut self, text: &str) {
        self.line(&format!("warning: {}", text::clean_lines(text, "         ")));
    }

    fn heard(&mut self, live: &Live) {
        self.relay(live);
        self.step.heard(live);
    }

    fn ticked(&mut self) {
        if self.redraws {
            self.draw();
        } else if self.style != ProgressStyle::Quiet && self.last_line.elapsed() >= HEARTBEAT {
            let Some(view) = &self.view else { return };
            let standing = standing(view, &self.step, usize::MAX).concat();
            let line = format!("… {standing}; {}", self.step.words(view));
            self.line(&text::clean(&line));
        }
    }
}

/// As the record begins to tell it.
fn words_of(end: &CheckEnd) -> String {
    let how = match (end.timed_out, end.exit_code) {
        (true, _) => "timed out".to_owned(),
        (false, Some(code)) => format!("exit {code}"),
        (false, None) => "no exit code".to_owned(),
    };
    format!("check {}{}: {how}, {}", end.check, end.trial.after_check(), end.duration_ms)
}

/// What it tells beyond that, such as which broken tests turned red.
fn more_of(end: &CheckEnd, event: &str) -> Option<String> {
    let more = event.strip_prefix(&words_of(end))?.trim_start_matches(", ");
    (!more.is_empty()).then(|| format!("check {}{}: {more}", end.check, end.trial.after_check()))
}

#[cfg(test)]
mod tests {
    use windlass_core::gate::Trial;
    use windlass_core::time::Millis;

    use super::*;

    #[test]
    fn a_check_says_when_it_ran_on_trusted_terms() {
        let of = |trial| CheckEnd {
            check: "test".to_owned(),
            exit_code: Some(0),
            timed_out: false,
            duration_ms: Millis(2_000),
            trial,
            excerpt: String::new(),
        };
        assert_eq!(words_of(&of(Trial::Landing)), "check test: exit 0, 2.0 s");
        let trusted = of(Trial::TrustedTerms);
        assert_eq!(words_of(&trusted), "check test on trusted terms: exit 0, 2.0 s");
        let event = format!("{}, 1 test broken and red", words_of(&trusted));
        assert_eq!(more_of(&trusted, &event).unwrap(), "check test on trusted terms: 1 test broken and red");
        assert_eq!(more_of(&trusted, &words_of(&trusted)), None);
    }
}
