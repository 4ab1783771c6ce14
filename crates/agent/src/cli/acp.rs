//! What is said between windlass and an agent of the Agent Client Protocol, a message a line, as the side under
//! the warden prints it. Every field is optional to us: agents add their own, and leave out what they do not know.
//!
//! Only the answer `end_turn` to our own prompt is an end, and not even that one is believed of an agent that
//! told of a failure before, or by its own word used nothing.

mod calls;
mod retries;
mod tokens;

use std::collections::BTreeMap;

use serde_json::Value;
use windlass_core::input::AttemptEnd;
use windlass_core::live::{Live, Retry};
use windlass_core::time::Timestamp;
use windlass_process::ProgramExit;

use self::calls::Calls;
use super::fault::AgentFault;
use super::line::{self, count, text, words};
use super::turn::{AFTER_MARK, Mark, NO_MARK, TWO_MARKS, TurnState};
use super::{OutputReader, ProgramEnd, ReaderSetup, TurnEnding};
use crate::bound;

const REMEDY: &str = "the agent's own login, run by hand";
/// A message that comes in pieces.
const MESSAGE_BYTES: usize = 256 * 1024;
/// Ours alone: there is one turn.
const MOST_REQUESTS: usize = 100;
/// Of one and the same request, before the turn is ended.
const MOST_RETRIES: u32 = 3;
/// The protocol's number for a login that is missing.
const AUTH_REQUIRED: i64 = -32000;
const NOTHING_USED: &str = "it says that its turn is over, and that it used no token";
const NOTHING_DONE: &str = "it says that its turn is over, without a word or a call";

pub fn reader(setup: ReaderSetup) -> Box<dyn OutputReader> {
    Box::new(AcpReader {
        turn: TurnState::new(setup, REMEDY),
        mark: Mark::Missing(NO_MARK),
        is_begun: false,
        is_over: false,
        asked: BTreeMap::new(),
        loading: String::new(),
        is_cancelled: false,
        fault: None,
        is_broken_off: false,
        retries: (0, AgentFault::default()),
        broken: None,
        saying: (String::new(), String::new()),
        calls: Calls::default(),
        cost: None,
        is_working: false,
        has_asked: false,
    })
}

struct AcpReader {
    turn: TurnState,
    mark: Mark,
    /// The brief was sent: what was told before is of another turn.
    is_begun: bool,
    /// The prompt was answered.
    is_over: bool,
    /// Our requests that were not answered yet.
    asked: BTreeMap<u64, String>,
    /// The conversation that was to go on.
    loading: String,
    is_cancelled: bool,
    /// A failure it told of, and did nothing since that would have overcome it.
    fault: Option<AgentFault>,
    /// It told that its turn failed, and not how.
    is_broken_off: bool,
    /// How often in a row it told that it would try again, and why it did last.
    retries: (u32, AgentFault),
    /// Why the side under the warden gave up.
    broken: Option<String>,
    /// A message as it comes, and its id.
    saying: (String, String),
    calls: Calls,
    cost: Option<u64>,
    /// Its model has answered something.
    is_working: bool,
    /// It wanted a file or a terminal of ours.
    has_asked: bool,
}

impl OutputReader for AcpReader {
    fn line(&mut self, line: &[u8], now: Timestamp) -> Vec<Live> {
        match line::object(line) {
            Some(said) => {
                let message = &said["msg"];
                match words(&said, "/dir") {
                    "client->agent" => self.ours(message),
                    "agent->client" if message.get("method").is_some() => self.told(message, now),
                    "agent->client" => self.answered(message, now),
                    "windlass" => self.aside(message),
                    _ => {}
                }
            }
            None => self.turn.other_line(line),
        }
        self.turn.story.drain()
    }

    /// Where programs tell of their retries that are silent about them in the protocol.
    fn error_line(&mut self, line: &[u8], now: Timestamp) -> Vec<Live> {
        if let Some((retry, fault)) = retries::told(&String::from_utf8_lossy(line)) {
            self.tries_again(retry, fault, now);
        }
        self.turn.story.drain()
    }

    fn hopeless(&self) -> Option<AttemptEnd> {
        self.turn.hopeless()
    }

    fn end(mut self: Box<Self>, over: &ProgramEnd<'_>) -> TurnEnding {
        self.flush();
        let is_waiting =
            matches!(over.exit, ProgramExit::Stalled | ProgramExit::TimedOut) && self.retries.0 > 0;
        // Silence between two tries has a reason that was told.
        if let Some(why) = self.turn.class(&self.retries.1, over.now).filter(|_| is_waiting) {
            self.turn.give_up(why);
        }
        if let ([only], Some(cost)) = (self.turn.usage.as_mut_slice(), self.cost) {
            only.usage.cost_micro_usd = only.usage.cost_micro_usd.or(Some(cost));
        }
        let mut ending = self.turn.end(self.mark, over);
        if let (AttemptEnd::Crashed { what }, Some(broken)) = (&mut ending.end, self.broken) {
            let said = what.split_once(": ").map(|(_, said)| format!(": {said}")).unwrap_or_default();
            *what = format!("{broken}{said}");
        }
        ending
    }
}

impl AcpReader {
    fn ours(&mut self, message: &Value) {
        let Some(method) = text(message, "/method") else { return };
        match method {
            "session/cancel" => self.is_cancelled = true,
            "session/prompt" => self.is_begun = true,
            "session/load" => self.loading = words(message, "/params/sessionId").to_owned(),
            _ => {}
        }
        let Some(id) = count(message, "/id").filter(|_| self.asked.len() < MOST_REQUESTS) else { return };
        self.asked.insert(id, method.to_owned());
        if !self.is_over {
            self.mark = Mark::Missing(NO_MARK);
        }
    }

    /// What the side under the warden has to say.
    fn aside(&mut self, message: &Value) {
        if let Some(refused) = message.get("refused") {
            self.turn.story.refused(words(refused, "/what"), words(refused, "/why"));
        }
        if let Some(note) = text(message, "/note") {
            self.turn.notes.push(bound::shown_line(note));
        }
        if let Some(what) = text(message, "/broken") {
            self.broken = Some(bound::shown_line(what));
        }
        if let Some(model) = text(message, "/no_model") {
            let offered = message["offered"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let offered: Vec<&str> = offered.collect();
            let what = format!("it has no model {model:?}; it offers {}", offered.join(", "));
            self.mark = Mark::Failed(AgentFault::said(&what).code("model_not_found"));
        }
    }

    /// A request of the agent, or news.
    fn told(&mut self, message: &Value, now: Timestamp) {
        match words(message, "/method") {
            // A conversation that is loaded is told once more.
            "session/update" if !self.is_begun => {}
            "session/update" => self.update(&message["params"]["update"], now),
            "session/request_permission" => {
                self.flush();
                self.calls.asked(&mut self.turn.story, &message["params"]["toolCall"]);
            }
            method if method.starts_with("fs/") || method.starts_with("terminal/") => self.has_asked = true,
            _ => {}
        }
    }

    fn update(&mut self, update: &Value, now: Timestamp) {
        let kind = words(update, "/sessionUpdate");
        if self.is_over && matches!(kind, "agent_message_chunk" | "tool_call") {
            self.mark = Mark::Missing(AFTER_MARK);
            return;
        }
        match kind {
            "agent_message_chunk" => self.chunk(update),
            "tool_call" | "tool_call_update" => {
                self.flush();
                self.overcome();
                self.calls.update(&mut self.turn.story, update);
            }
            "plan" => {
                self.flush();
                self.turn.story.text(&plan(update));
            }
            "usage_update" => self.usage_update(update),
            "session_info_update" => self.session_state(&update["_meta"]["codex"], now),
            _ => {}
        }
    }

    fn chunk(&mut self, update: &Value) {
        let id = words(update, "/messageId");
        if self.saying.1 != id {
            self.flush();
            self.saying.1 = id.to_owned();
        }
        let said = words(update, "/content/text");
        let room = MESSAGE_BYTES.saturating_sub(self.saying.0.len());
        self.saying.0.push_str(bound::head(said, room));
    }

    fn flush(&mut self) {
        let said = std::mem::take(&mut self.saying.0);
        if !said.trim().is_empty() {
            self.turn.messages += 1;
            self.turn.said(said.trim());
        }
    }

    /// `used` is how full the model's window is, not what was spent.
    fn usage_update(&mut self, update: &Value) {
        if count(update, "/used").is_some_and(|used| used > 0) {
            self.is_working = true;
            self.overcome();
        }
        if words(update, "/cost/currency") == "USD" {
            self.cost = line::cost(update, "/cost/amount").filter(|cost| *cost > 0).or(self.cost);
        }
    }

    /// What codex-acp 2 tells beside the protocol: its failures are nowhere else, and its turns end all the same.
    fn session_state(&mut self, codex: &Value, now: Timestamp) {
        if let Some(error) = codex.get("error").filter(|error| error.is_object()) {
            let (message, details) = (words(error, "/message"), words(error, "/additionalDetails"));
            let mut fault = AgentFault::said(if details.is_empty() { message } else { details });
            fault = fault.and(&codex_error(&error["codexErrorInfo"]));
            if error["willRetry"].as_bool() == Some(true) {
                let (attempt, of) = retries::numbers(message);
                let retry = Retry { attempt, of, delay_ms: None, why: bound::shown_line(fault.words()) };
                self.tries_again(retry, fault.clone(), now);
            } else {
                self.turn.failing(fault.clone(), now);
            }
            self.fault = Some(fault);
        }
        match words(codex, "/threadStatus/type") {
            // Which one it is, is told in words, like an answer of the model.
            "systemError" => {
                self.flush();
                self.is_broken_off = true;
            }
            "idle" => self.overcome(),
            _ => {}
        }
    }

    /// Whoever tries over and over is ended: it is windlass that waits between attempts, and shows it. Nothing is
    /// tried again but what is taken for the server's fault.
    fn tries_again(&mut self, retry: Retry, fault: AgentFault, now: Timestamp) {
        self.retries = (self.retries.0 + 1, fault.clone());
        let class = self.turn.class(&fault, now).unwrap_or(AttemptEnd::Overloaded);
        self.turn.retrying(retry, fault, now);
        if self.retries.0 >= MOST_RETRIES {
            self.turn.give_up(class);
        }
    }

    fn overcome(&mut self) {
        self.fault = None;
        self.is_broken_off = false;
        self.retries = (0, AgentFault::default());
        self.turn.went_on();
    }

    fn answered(&mut self, message: &Value, now: Timestamp) {
        let Some(method) = count(message, "/id").and_then(|id| self.asked.remove(&id)) else {
            if self.is_over && message.pointer("/result/stopReason").is_some() {
                self.mark = Mark::Missing(TWO_MARKS);
            }
            return;
        };
        self.flush();
        let result = &message["result"];
        if let Some(error) = message.get("error").filter(|error| !error.is_null()) {
            self.mark =
                if self.is_cancelled { Mark::Aborted } else { Mark::Failed(self.failure(error, now)) };
        } else if method == "initialize" {
            let name = text(result, "/agentInfo/name").unwrap_or("acp");
            let version = words(result, "/agentInfo/version");
            self.turn.agent = bound::shown_line(&format!("{name} {version}")).trim().to_owned();
        } else if matches!(method.as_str(), "session/new" | "session/load") {
            let loaded = if method == "session/load" { self.loading.as_str() } else { "" };
            self.turn.session(text(result, "/sessionId").unwrap_or(loaded));
            let mut options = result["configOptions"].as_array().into_iter().flatten();
            let option = options.find(|option| words(option, "/category") == "model");
            let chosen = option.and_then(|option| text(option, "/currentValue"));
            self.turn.model(chosen.unwrap_or_else(|| words(result, "/models/currentModelId")));
        } else if method == "session/prompt" {
            self.used(result);
            self.mark = self.marked(result, now);
        }
        self.is_over |= method == "session/prompt";
    }

    fn used(&mut self, result: &Value) {
        let told = tokens::of(result, &self.turn.setup.model);
        self.turn.usage_is_whole = told.is_whole;
        self.turn.usage = told.models;
        self.is_working |= self.turn.usage.iter().any(|model| model.usage.tokens() > 0);
        self.turn.story.tokens(&self.turn.usage);
    }

    fn marked(&mut self, result: &Value, now: Timestamp) -> Mark {
        if self.is_cancelled {
            return Mark::Aborted;
        }
        match words(result, "/stopReason") {
            "end_turn" => self.end_of_turn(result, now),
            "max_tokens" | "max_turn_requests" => Mark::Bounded,
            "refusal" => Mark::Failed(AgentFault::said("the model refuses to go on").code("refusal")),
            "cancelled" => Mark::Aborted,
            _ => Mark::Missing("it says that its turn is over, and not why"),
        }
    }

    /// The word is believed where nothing speaks against it.
    fn end_of_turn(&mut self, result: &Value, now: Timestamp) -> Mark {
        if let Some(fault) = self.fault.take() {
            return Mark::Failed(fault);
        }
        if self.is_broken_off {
            let said = Some(self.turn.message.as_str()).filter(|said| !said.is_empty());
            return Mark::Failed(AgentFault::said(said.unwrap_or(SYSTEM_ERROR)));
        }
        let is_idle = !self.is_working && !self.calls.any();
        let said = AgentFault::said(&self.turn.message);
        if is_idle && self.turn.tells(&said, now) {
            return Mark::Failed(said);
        }
        let has_done = self.calls.any() || self.has_asked || self.turn.messages > 0;
        if !has_done {
            return Mark::Missing(NOTHING_DONE);
        }
        // Who tells no tokens at all leaves the fields out.
        let tells = result.get("usage").is_some() || result.pointer("/_meta/quota").is_some();
        if !self.is_working && tells {
            return Mark::Missing(NOTHING_USED);
        }
        let open = self.calls.open();
        if open > 0 {
            self.turn.notes.push(format!("{open} calls were not over when it ended its turn"));
        }
        Mark::Well
    }
}

impl AcpReader {
    /// An error of JSON-RPC: the words that say the most are beside it.
    fn failure(&self, error: &Value, now: Timestamp) -> AgentFault {
        let said = words(error, "/message");
        let data = &error["data"];
        let beside = ["/message", "/details", "/error/message", "/error", ""];
        let beside = beside.iter().find_map(|at| text(data, at)).filter(|beside| !beside.is_empty());
        let mut fault = AgentFault::said(beside.unwrap_or(said)).and(&codex_error(&data["codex_error_info"]));
        if data.is_object() {
            let mut codes = AgentFault::default();
            codes.look_into(data);
            fault = fault.and(&codes);
        }
        let code = error["code"].as_i64().unwrap_or_default();
        let status = u64::try_from(code).ok().filter(|code| (400..600).contains(code));
        // Gemini says 500 of all that has no status of its own.
        let status = status.filter(|status| *status != 500 || !self.turn.tells(&fault, now));
        fault = fault.status_if_unknown(status);
        if code == AUTH_REQUIRED { fault.code("authentication_failed") } else { fault }
    }
}

const SYSTEM_ERROR: &str = "the agent tells of an error of its own, and not which";

/// Codex's word for a failure, or an object under that word.
fn codex_error(told: &Value) -> AgentFault {
    let fields = told.as_object().into_iter().flatten();
    let inside = fields.map(|(word, body)| (word.as_str(), count(body, "/httpStatusCode")));
    let all = told.as_str().map(|word| (word, None)).into_iter().chain(inside);
    all.fold(AgentFault::default(), |fault, (word, status)| fault.code(word).status_if_unknown(status))
}

fn plan(update: &Value) -> String {
    let line = |entry: &Value| {
        let sign = match words(entry, "/status") {
            "completed" => "[x]",
            "in_progress" => "[>]",
            _ => "[ ]",
        };
        format!("{sign} {}", words(entry, "/content"))
    };
    let entries = update["entries"].as_array().into_iter().flatten();
    entries.take(50).map(line).collect::<Vec<_>>().join("\n")
}
