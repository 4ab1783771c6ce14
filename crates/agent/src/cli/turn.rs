//! What every reader keeps of its turn, and how a turn is judged when its program is dead.

use serde_json::Value;
use windlass_core::input::AttemptEnd;
use windlass_core::live::Retry;
use windlass_core::policy::{MAX_OWN_TRIES, MAX_OWN_WAIT};
use windlass_core::time::Timestamp;
use windlass_core::usage::{ModelUsage, Session, Usage, sum};
use windlass_process::ProgramExit;

use super::fault::{self, AgentFault, FaultReading};
use super::line::{self, StreamLine};
use super::story::Story;
use super::{ProgramEnd, ReaderSetup, SessionStart, TurnEnding};
use crate::{bound, report};

const MESSAGE_BYTES: usize = 256 * 1024;

pub struct TurnState {
    pub setup: ReaderSetup,
    pub agent: String,
    pub story: Story,
    pub session: Option<String>,
    pub messages: u64,
    /// The last message of the model.
    pub message: String,
    pub structured: Option<Value>,
    pub usage: Vec<ModelUsage>,
    pub usage_is_whole: bool,
    pub session_total: Vec<ModelUsage>,
    pub notes: Vec<String>,
    remedy: &'static str,
    hopeless: Option<AttemptEnd>,
    /// Failures in a row that it told of and tried again after.
    tries: u32,
    other_lines: u64,
    /// The last failure that was told and may have been overcome.
    fault: Option<AgentFault>,
}

/// What a stream says of its own end.
pub enum Mark {
    Well,
    Failed(AgentFault),
    /// It stopped from outside.
    Aborted,
    /// It came to a bound of its own: a number of turns, or an amount.
    Bounded,
    /// No end marker that can be believed, and why.
    Missing(&'static str),
}

pub const NO_MARK: &str = "its output stops before its end marker";
pub const AFTER_MARK: &str = "its output goes on after its end marker";
pub const TWO_MARKS: &str = "its output has two end markers";

impl TurnState {
    pub fn new(setup: ReaderSetup, remedy: &'static str) -> Self {
        Self {
            setup,
            agent: String::new(),
            story: Story::default(),
            session: None,
            messages: 0,
            message: String::new(),
            structured: None,
            usage: Vec::new(),
            usage_is_whole: false,
            session_total: Vec::new(),
            notes: Vec::new(),
            remedy,
            hopeless: None,
            tries: 0,
            other_lines: 0,
            fault: None,
        }
    }

    /// The event of a line. What is no event is counted.
    pub fn event(&mut self, bytes: &[u8]) -> Option<(String, Value)> {
        match line::read(bytes) {
            StreamLine::Blank => None,
            StreamLine::Event { kind, body } => Some((kind, body)),
            StreamLine::Other => {
                self.other_lines += 1;
                None
            }
        }
    }

    /// A line that is no event.
    pub fn other_line(&mut self, bytes: &[u8]) {
        self.other_lines += u64::from(!bytes.trim_ascii().is_empty());
    }

    /// Whether a fault says what it is.
    pub fn tells(&self, fault: &AgentFault, now: Timestamp) -> bool {
        self.class(fault, now).is_some()
    }

    pub fn class(&self, fault: &AgentFault, now: Timestamp) -> Option<AttemptEnd> {
        fault.class(&self.reading(now))
    }

    pub fn session(&mut self, id: &str) {
        if self.session.is_none() && !id.is_empty() {
            self.session = Some(bound::shown_line(id));
        }
    }

    /// The model that the program names, where none was asked for.
    pub fn model(&mut self, name: &str) {
        if self.setup.model.is_empty() {
            self.setup.model = bound::shown_line(name);
        }
    }

    pub fn said(&mut self, text: &str) {
        self.story.text(text);
        self.last_word(text);
    }

    pub fn last_word(&mut self, text: &str) {
        self.message = bound::head(text, MESSAGE_BYTES).to_owned();
    }

    /// A failure the program may overcome by itself, unless trying again cannot help.
    pub fn failing(&mut self, fault: AgentFault, now: Timestamp) {
        let end = fault.class(&self.reading(now)).filter(fault::is_hopeless);
        self.hopeless = self.hopeless.take().or(end);
        self.fault = Some(fault);
    }

    pub fn retrying(&mut self, retry: Retry, fault: AgentFault, now: Timestamp) {
        let delay = retry.delay_ms;
        self.story.retry(retry);
        if let Some(ms) = delay.filter(|ms| *ms >= MAX_OWN_WAIT.0) {
            let until = Timestamp(now.0.saturating_add_unsigned(ms));
            let end = match fault.class(&self.reading(now)) {
                Some(AttemptEnd::RateLimited { retry_at }) => {
                    AttemptEnd::RateLimited { retry_at: retry_at.or(Some(until)) }
                }
                Some(end) => end,
                None => AttemptEnd::RateLimited { retry_at: Some(until) },
            };
            self.hopeless = self.hopeless.take().or(Some(end));
        }
        self.failing(fault, now);
    }

    /// As [`Self::retrying`], of a program whose own settings do not bound its retries. It tries nothing again
    /// but what it takes for the server's fault.
    pub fn trying_on(&mut self, retry: Retry, fault: AgentFault, now: Timestamp) {
        self.tries += 1;
        if self.tries >= MAX_OWN_TRIES {
            let end = fault.class(&self.reading(now)).unwrap_or(AttemptEnd::Overloaded);
            self.give_up(end);
        }
        self.retrying(retry, fault, now);
    }

    pub fn give_up(&mut self, end: AttemptEnd) {
        self.hopeless = self.hopeless.take().or(Some(end));
    }

    /// What it told of and has not overcome.
    pub fn last_fault(&self) -> Option<AgentFault> {
        self.fault.clone()
    }

    /// It went on: what failed before is overcome.
    pub fn went_on(&mut self) {
        self.hopeless = None;
        self.fault = None;
        self.tries = 0;
    }

    pub fn hopeless(&self) -> Option<AttemptEnd> {
        self.hopeless.clone()
    }

    /// Takes the report of the output schema from the final message.
    pub fn structured_from_message(&mut self) {
        if self.setup.schema {
            self.structured = report::strict_object(self.message.trim().as_bytes());
        }
    }

    /// Adds to what is known of this turn.
    pub fn add_usage(&mut self, model: &str, usage: Usage) {
        add(&mut self.usage, model, usage);
    }

    /// Of a program that reports the total of its session: this turn's part is what was not there before.
    pub fn session_usage(&mut self, total: Vec<ModelUsage>) {
        self.usage = match &self.setup.start {
            SessionStart::Fresh => total.clone(),
            SessionStart::Resumed { before } => less(&total, before).unwrap_or_default(),
        };
        self.usage_is_whole = !self.usage.is_empty();
        self.story.tokens(&self.usage);
        self.session_total = total;
        if self.usage.is_empty() && !self.session_total.is_empty() {
            let note = "its tokens are told for the whole session, and those before this turn are not known";
            self.notes.push(note.to_owned());
        }
    }

    /// Something that is worth knowing of the attempt and is no failure.
    pub fn noted(&mut self, words: &str) {
        const MOST: usize = 8;
        let words = bound::shown_line(words);
        if !words.is_empty() && self.notes.len() < MOST && !self.notes.contains(&words) {
            self.notes.push(words);
        }
    }

    pub fn end(mut self, mark: Mark, over: &ProgramEnd<'_>) -> TurnEnding {
        let stderr = String::from_utf8_lossy(over.stderr);
        let session_is_gone =
            matches!(self.setup.start, SessionStart::Resumed { .. }) && says_gone(&stderr, &self.message);
        let end = self.judge(mark, over, &stderr);
        if self.other_lines > 0 {
            self.notes.push(match self.other_lines {
                1 => "1 line of its output was not read".to_owned(),
                lines => format!("{lines} lines of its output were not read"),
            });
        }
        let well = end == AttemptEnd::Normal;
        self.usage.retain(|model| model.usage.tokens() > 0);
        if let [only] = self.usage.as_mut_slice() {
            only.messages = self.messages;
        }
        let total = self.session_total;
        let session = self.session.filter(|_| !session_is_gone).map(|id| Session { id, total });
        TurnEnding {
            agent: self.agent,
            structured: self.structured.filter(|_| well),
            usage_is_whole: self.usage_is_whole && !self.usage.is_empty(),
            end,
            message: self.message,
            usage: self.usage,
            session,
            session_is_gone,
            files_read: self.story.files_read(),
            summary: self.story.into_summary(),
            notes: self.notes,
        }
    }

    fn judge(&mut self, mark: Mark, over: &ProgramEnd<'_>, stderr: &str) -> AttemptEnd {
        let outside = over.outside.clone();
        match over.exit {
            ProgramExit::Cancelled | ProgramExit::NotStarted { .. } => return outside,
            ProgramExit::TimedOut | ProgramExit::Stalled | ProgramExit::WardenLost { .. } => {
                let known = self.hopeless.take().filter(|_| outside != AttemptEnd::Budget);
                return known.map_or(outside, |known| self.with_words(known));
            }
            ProgramExit::Code(_) | ProgramExit::Signal(_) => {}
        }
        match mark {
            Mark::Well if *over.exit == ProgramExit::Code(0) => AttemptEnd::Normal,
            Mark::Well => outside,
            Mark::Aborted => AttemptEnd::Killed,
            Mark::Bounded => {
                self.notes.push("it came to the end of the turns it was allowed".to_owned());
                AttemptEnd::TimedOut
            }
            Mark::Failed(fault) => {
                self.story.error(fault.words());
                let class = fault.class(&self.reading(over.now));
                if class.as_ref().is_some_and(AttemptEnd::is_wordless) {
                    self.noted(fault.words());
                }
                class.unwrap_or_else(|| AttemptEnd::Crashed { what: bound::shown_line(fault.words()) })
            }
            Mark::Missing(why) => self.unmarked(why, over, stderr),
        }
    }

    /// The program is gone and its stream does not say why.
    fn unmarked(&mut self, why: &str, over: &ProgramEnd<'_>, stderr: &str) -> AttemptEnd {
        if let Some(known) = self.hopeless.take() {
            return self.with_words(known);
        }
        let code = match over.exit {
            ProgramExit::Code(0) => return AttemptEnd::Protocol { what: why.to_owned() },
            ProgramExit::Code(code) => *code,
            ProgramExit::Signal(_)
            | ProgramExit::TimedOut
            | ProgramExit::Stalled
            | ProgramExit::Cancelled
            | ProgramExit::NotStarted { .. }
            | ProgramExit::WardenLost { .. } => return over.outside.clone(),
        };
        if *over.outside != (AttemptEnd::Crashed { what: format!("exit code {code}") }) {
            return over.outside.clone();
        }
        // What a shell, and programs that clean up first, make of the signals of people and managers.
        if matches!(code, 129 | 130 | 137 | 143) {
            return AttemptEnd::Killed;
        }
        let last = stderr.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
        let on_stderr = || {
            let last =
                Some(AgentFault::said(last)).filter(|fault| fault.class(&self.reading(over.now)).is_some());
            last.unwrap_or_else(|| AgentFault::said(bound::tail(stderr, MESSAGE_BYTES)))
        };
        let fault = self.fault.clone().unwrap_or_else(on_stderr);
        self.story.error(last);
        let class = fault.class(&self.reading(over.now));
        if class.as_ref().is_some_and(AttemptEnd::is_wordless) {
            self.noted(fault.words());
        }
        class.unwrap_or_else(|| AttemptEnd::Crashed {
            what: format!("exit code {code}: {}", bound::shown_line(last))
                .trim_end_matches([':', ' '])
                .to_owned(),
        })
    }

    /// The provider's own words beside an end that has none.
    fn with_words(&mut self, end: AttemptEnd) -> AttemptEnd {
        if let Some(fault) = self.fault.clone().filter(|_| end.is_wordless()) {
            self.noted(fault.words());
        }
        end
    }

    fn reading(&self, now: Timestamp) -> FaultReading<'_> {
        FaultReading { now, zone: &self.setup.zone, remedy: self.remedy, env: &self.setup.env }
    }
}

/// The cost of what one model used is known where every part's is.
pub fn add(models: &mut Vec<ModelUsage>, model: &str, usage: Usage) {
    let part = ModelUsage { model: model.to_owned(), usage, messages: 0 };
    match models.iter_mut().find(|known| known.model == model) {
        Some(known) => known.usage = sum(&[known.clone(), part]).unwrap_or_default(),
        None => models.push(part),
    }
}

/// None where the total is smaller than what was before: then neither can be believed. A total that is told as
/// one is one, also where another model was asked for before.
fn less(total: &[ModelUsage], before: &[ModelUsage]) -> Option<Vec<ModelUsage>> {
    if before.is_empty() {
        return None;
    }
    let as_one = total.len() == 1 && before.len() == 1;
    let minus = |now: &ModelUsage| {
        let same = |then: &&ModelUsage| as_one || then.model == now.model;
        let Some(then) = before.iter().find(same) else { return Some(now.clone()) };
        let (a, b) = (now.usage, then.usage);
        Some(ModelUsage {
            model: now.model.clone(),
            usage: Usage {
                input_tokens: a.input_tokens.checked_sub(b.input_tokens)?,
                output_tokens: a.output_tokens.checked_sub(b.output_tokens)?,
                reasoning_tokens: a.reasoning_tokens.checked_sub(b.reasoning_tokens)?,
                cache_read_tokens: a.cache_read_tokens.checked_sub(b.cache_read_tokens)?,
                cache_write_tokens: a.cache_write_tokens.checked_sub(b.cache_write_tokens)?,
                cost_micro_usd: a.cost_micro_usd.zip(b.cost_micro_usd).and_then(|(a, b)| a.checked_sub(b)),
            },
            messages: 0,
        })
    };
    total.iter().map(minus).collect()
}

fn says_gone(stderr: &str, message: &str) -> bool {
    const GONE: [&str; 5] = [
        "no rollout found for thread id",
        "No conversation found with session ID",
        "Session not found",
        "No saved session found",
        "Error resuming session",
    ];
    GONE.iter().any(|words| stderr.contains(words) || message.contains(words))
}
