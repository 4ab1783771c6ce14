//! opencode: `opencode run --format json`.
//!
//! It prints no end marker: the last step must have finished with `stop`, nothing may follow, and the program
//! must exit with 0. Tokens and cost are told for each step. Asking for a title of the session would cost a
//! request that it does not tell of, so the title is given. Nothing bounds its retries, of which only its log
//! tells: standard error.

use serde_json::Value;
use windlass_core::input::{AttemptEnd, CONFINED};
use windlass_core::live::{Live, Retry};
use windlass_core::policy::MAX_OWN_TRIES;
use windlass_core::time::Timestamp;
use windlass_core::usage::Usage;

use super::fault::AgentFault;
use super::line::{cost, count, count_or_zero, text, words};
use super::messages;
use super::turn::{AFTER_MARK, Mark, NO_MARK, TWO_MARKS, TurnState};
use super::{
    Cli, CliInvocation, Confined, FileAccess, InvocationSpec, OutputReader, OwnConfig, ProgramEnd,
    ReaderSetup, TurnEnding,
};
use crate::bound;
use crate::reset;

pub struct Opencode;

const REMEDY: &str = "opencode auth login";

impl Cli for Opencode {
    fn invocation(&self, spec: &InvocationSpec<'_>) -> CliInvocation {
        let mut call = CliInvocation::default();
        call.argv.push(spec.program.into());
        call.argv.extend(["run", "--format", "json", "--title", "windlass", "--dir"].map(Into::into));
        call.argv.push(spec.workspace.into());
        let mut put = |words: &[&str]| call.argv.extend(words.iter().map(|word| (*word).into()));
        if !spec.model.is_empty() {
            put(&["-m", spec.model]);
        }
        if !spec.effort.is_empty() {
            put(&["--variant", spec.effort]);
        }
        if let Some(session) = spec.resume {
            put(&["-s", session]);
        }
        if spec.confined == Confined::ByWindlass {
            put(&["--auto"]);
        }
        if spec.own_config == OwnConfig::KeptOut {
            put(&["--pure"]);
        }
        put(&["--print-logs", "--log-level", "ERROR"]);
        if spec.own_config == OwnConfig::KeptOut && spec.access == FileAccess::ReadOnly {
            // The project's own could hold what an author planted for its reviewer.
            call.env.push(("OPENCODE_DISABLE_PROJECT_CONFIG".into(), "1".into()));
        }
        call.argv.extend(spec.args.iter().map(Into::into));
        call.env.push(("OPENCODE_PERMISSION".into(), permissions(spec).into()));
        call.env.extend(ENVIRONMENT.iter().map(|name| ((*name).into(), "1".into())));
        let below = [
            ("XDG_DATA_HOME", ".local/share"),
            ("XDG_CONFIG_HOME", ".config"),
            ("XDG_STATE_HOME", ".local/state"),
            ("XDG_CACHE_HOME", ".cache"),
        ];
        call.env.extend(below.map(|(name, place)| (name.into(), spec.home.join(place).into())));
        if spec.max_turns > 0 {
            call.notes.push("it has no limit on turns: the time limit holds".to_owned());
        }
        if spec.confined == Confined::ByWindlass {
            call.notes.push(format!("its own permission rules are {CONFINED}"));
        }
        call
    }

    fn reader(&self, setup: ReaderSetup) -> Box<dyn OutputReader> {
        Box::new(OpencodeReader {
            turn: TurnState::new(setup, REMEDY),
            mark: Mark::Missing(NO_MARK),
            in_step: false,
            disordered: None,
            all_told: true,
            cuts: 0,
        })
    }
}

const ENVIRONMENT: [&str; 5] = [
    "OPENCODE_DISABLE_AUTOUPDATE",
    "OPENCODE_DISABLE_MODELS_FETCH",
    "OPENCODE_DISABLE_LSP_DOWNLOAD",
    "OPENCODE_DISABLE_DEFAULT_PLUGINS",
    "OPENCODE_DISABLE_SHARE",
];

/// What is not named here is asked for, and an asked-for call is rejected where nobody answers.
fn permissions(spec: &InvocationSpec<'_>) -> &'static str {
    match (spec.confined, spec.access) {
        (Confined::ByWindlass, FileAccess::Write) => r#"{"question":"deny"}"#,
        (Confined::ByWindlass, FileAccess::ReadOnly) => r#"{"edit":"deny","question":"deny"}"#,
        (Confined::ByItself, FileAccess::Write) => {
            r#"{"edit":"allow","bash":"allow","external_directory":"deny","question":"deny"}"#
        }
        (Confined::ByItself, FileAccess::ReadOnly) => {
            r#"{"edit":"deny","bash":"deny","external_directory":"deny","question":"deny"}"#
        }
    }
}

struct OpencodeReader {
    turn: TurnState,
    mark: Mark,
    in_step: bool,
    /// Why its order cannot be believed any more.
    disordered: Option<&'static str>,
    /// Every step so far has told its tokens.
    all_told: bool,
    /// Steps in a row whose stream was cut.
    cuts: u32,
}

impl OutputReader for OpencodeReader {
    fn line(&mut self, line: &[u8], now: Timestamp) -> Vec<Live> {
        if let Some((kind, body)) = self.turn.event(line) {
            self.event(&kind, &body, now);
        }
        self.turn.story.drain()
    }

    /// It prints no event while it tries again; its log tells of each request that failed.
    fn error_line(&mut self, line: &[u8], now: Timestamp) -> Vec<Live> {
        if let Some(said) = stream_error(&String::from_utf8_lossy(line)) {
            self.request_failed(&said, now);
        }
        self.turn.story.drain()
    }

    fn hopeless(&self) -> Option<AttemptEnd> {
        self.turn.hopeless()
    }

    fn end(mut self: Box<Self>, over: &ProgramEnd<'_>) -> TurnEnding {
        let mark = match self.disordered {
            Some(why) if matches!(self.mark, Mark::Well) => Mark::Missing(why),
            _ => self.mark,
        };
        self.turn.usage_is_whole = self.all_told && matches!(mark, Mark::Well);
        self.turn.end(mark, over)
    }
}

impl OpencodeReader {
    fn event(&mut self, kind: &str, body: &Value, now: Timestamp) {
        self.turn.session(words(body, "/sessionID"));
        let Some(part) = body.get("part") else {
            if kind == "error" {
                self.error(body, now);
            }
            return;
        };
        match kind {
            "step_start" => {
                if !matches!(self.mark, Mark::Failed(_) | Mark::Aborted) {
                    self.mark = Mark::Missing(NO_MARK);
                }
                self.in_step = true;
            }
            "text" => {
                self.inside();
                self.turn.messages += 1;
                self.turn.said(words(part, "/text"));
            }
            "tool_use" => {
                self.inside();
                self.cuts = 0;
                self.turn.went_on();
                self.tool(part);
            }
            "step_finish" => self.step_finished(part),
            _ => {}
        }
    }

    fn inside(&mut self) {
        if !self.in_step {
            self.disordered = self.disordered.or(Some(AFTER_MARK));
        }
    }

    fn step_finished(&mut self, part: &Value) {
        if !self.in_step {
            self.disordered = self.disordered.or(Some(TWO_MARKS));
            return;
        }
        self.in_step = false;
        let told = part.get("tokens").and_then(usage).filter(|usage| usage.tokens() > 0);
        self.all_told &= told.is_some();
        if let Some(usage) = told {
            let model = self.turn.setup.model.clone();
            // A model without a price in its configuration costs 0, which is not known to be true.
            let cost_micro_usd = cost(part, "/cost").filter(|cost| *cost > 0);
            self.turn.add_usage(&model, Usage { cost_micro_usd, ..usage });
            self.turn.story.tokens(&self.turn.usage);
        }
        if matches!(self.mark, Mark::Failed(_) | Mark::Aborted) {
            return;
        }
        self.mark = match words(part, "/reason") {
            "stop" => {
                self.turn.went_on();
                Mark::Well
            }
            "content-filter" => {
                Mark::Failed(AgentFault::said("the answer was filtered").code("content_filter"))
            }
            "length" => Mark::Missing("the model's answer was cut at its length"),
            "tool-calls" => Mark::Missing("it ended after a call, without the model's last word"),
            "unknown" => {
                self.cut();
                return;
            }
            _ => Mark::Missing(NO_MARK),
        };
    }

    /// The model's stream was cut. It asks again at once, and without end.
    fn cut(&mut self) {
        self.mark = Mark::Missing("the model's stream ended without a finish reason");
        self.cuts += 1;
        if self.cuts >= MAX_OWN_TRIES {
            self.turn.give_up(AttemptEnd::Network);
        }
    }

    fn tool(&mut self, part: &Value) {
        let (id, name) = (words(part, "/callID"), words(part, "/tool"));
        let what = messages::input_words(part.pointer("/state/input"));
        let ok = words(part, "/state/status") == "completed";
        let exit = part.pointer("/state/metadata/exit").and_then(Value::as_i64);
        let exit = exit.and_then(|exit| i32::try_from(exit).ok());
        self.turn.story.tool_started(id, name, &what);
        if self.turn.story.tool_finished(id, exit, ok && exit.is_none_or(|exit| exit == 0)).is_none() {
            return;
        }
        let error = words(part, "/state/error");
        if error.contains("rejected permission") || error.contains("prevents you from using") {
            return self.turn.story.refused(&format!("{name} {what}"), error);
        }
        if messages::is_shell(name) {
            self.turn.story.ran(&what, exit, ok && exit == Some(0));
        } else if ok {
            let existed = part.pointer("/state/metadata/exists").and_then(Value::as_bool);
            messages::touched(&mut self.turn.story, name, &what, existed == Some(false));
        }
        self.turn.story.error(error);
    }

    /// How long it waits is not told, and may be what a header says: hours.
    fn request_failed(&mut self, said: &str, now: Timestamp) {
        let fault = AgentFault::said(said);
        let limit = self.turn.class(&fault, now).filter(|end| matches!(end, AttemptEnd::RateLimited { .. }));
        let retry = Retry { attempt: None, of: None, delay_ms: None, why: bound::shown_line(fault.words()) };
        self.turn.trying_on(retry, fault, now);
        if let Some(limit) = limit {
            self.turn.give_up(limit);
        }
    }

    fn error(&mut self, body: &Value, now: Timestamp) {
        let name = words(body, "/error/name");
        if name == "MessageAbortedError" {
            self.mark = Mark::Aborted;
            return;
        }
        let data = body.pointer("/error/data").unwrap_or(&Value::Null);
        let message = text(data, "/message").unwrap_or(name);
        let mut fault = AgentFault::said(message).status(count(data, "/statusCode")).code(name);
        if let Some(answer) = text(data, "/responseBody").and_then(|body| serde_json::from_str(body).ok()) {
            fault.look_into(&answer);
        }
        let header = |name: &str| text(data, &format!("/responseHeaders/{name}"));
        let unified = header("anthropic-ratelimit-unified-reset").and_then(|at| at.parse().ok());
        let again = unified
            .and_then(|at| reset::epoch(at, now))
            .or_else(|| header("retry-after").and_then(|value| reset::retry_after(value, now)));
        let fault = fault.again_at(again);
        self.turn.story.error(message);
        self.turn.failing(fault.clone(), now);
        self.mark = Mark::Failed(fault);
    }
}

/// `… message="stream error" … error.error="AI_APICallError: …"`: the error's words.
pub fn stream_error(line: &str) -> Option<String> {
    let (_, rest) = line.split_once("message=\"stream error\"")?;
    let quoted = &rest[rest.find("error.error=")? + "error.error=".len()..];
    let mut values = serde_json::Deserializer::from_str(quoted).into_iter::<String>();
    match values.next() {
        Some(Ok(said)) => Some(said),
        _ => Some(quoted.split(' ').next().unwrap_or_default().to_owned()),
    }
}

/// Disjoint as they are.
fn usage(said: &Value) -> Option<Usage> {
    Some(Usage {
        input_tokens: count(said, "/input")?,
        output_tokens: count(said, "/output")?,
        reasoning_tokens: count_or_zero(said, "/reasoning")?,
        cache_read_tokens: count_or_zero(said, "/cache/read")?,
        cache_write_tokens: count_or_zero(said, "/cache/write")?,
        ..Usage::default()
    })
}
