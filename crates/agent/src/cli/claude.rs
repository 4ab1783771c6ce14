//! Claude Code: `claude -p --output-format stream-json`.
//!
//! A failed turn says `subtype: success`; `is_error`, `terminal_reason` and `api_error_status` tell. Assistant
//! lines carry the usage of their message's beginning, once for each block of it. In a resumed session
//! `modelUsage` and the cost are those of the whole session; `model_usage_since_last_result` is the turn's.

use serde_json::Value;
use windlass_core::input::{AttemptEnd, CONFINED};
use windlass_core::live::{Live, Retry};
use windlass_core::time::Timestamp;
use windlass_core::usage::{ModelUsage, Usage};

use super::fault::AgentFault;
use super::line::{cost, count, count_or_zero, text, words};
use super::messages;
use super::turn::{AFTER_MARK, Mark, NO_MARK, TWO_MARKS, TurnState, add};
use super::{
    Cli, CliInvocation, Confined, FileAccess, InvocationSpec, OutputReader, OwnConfig, ProgramEnd,
    ReaderSetup, SessionStart, TurnEnding,
};
use crate::{bound, report, reset};

pub struct Claude;

const REMEDY: &str = "claude setup-token, or set ANTHROPIC_API_KEY";

impl Cli for Claude {
    fn invocation(&self, spec: &InvocationSpec<'_>) -> CliInvocation {
        let mut call = CliInvocation::default();
        call.argv.push(spec.program.into());
        let mut put = |words: &[&str]| call.argv.extend(words.iter().map(|word| (*word).into()));
        put(&["-p"]);
        if !spec.model.is_empty() {
            put(&["--model", spec.model]);
        }
        if !spec.effort.is_empty() {
            put(&["--effort", spec.effort]);
        }
        if spec.max_turns > 0 {
            put(&["--max-turns", &spec.max_turns.to_string()]);
        }
        if let Some(session) = spec.resume {
            put(&["--resume", session]);
        }
        if spec.own_config == OwnConfig::KeptOut {
            // The project's own could hold hooks that an author planted for its reviewer.
            let sources = if spec.access == FileAccess::ReadOnly { "user" } else { "user,project" };
            put(&["--strict-mcp-config", "--setting-sources", sources]);
        }
        match (spec.confined, spec.access) {
            (Confined::ByWindlass, _) => put(&["--permission-mode", "bypassPermissions"]),
            (Confined::ByItself, FileAccess::Write) => {
                put(&["--permission-mode", "acceptEdits", "--allowedTools", "Bash,StructuredOutput"]);
            }
            (Confined::ByItself, FileAccess::ReadOnly) => {
                put(&["--permission-mode", "dontAsk", "--allowedTools", "Read,Grep,Glob,StructuredOutput"]);
            }
        }
        match spec.access {
            FileAccess::Write => put(&["--disallowedTools", NEVER]),
            FileAccess::ReadOnly => put(&["--disallowedTools", &format!("{NEVER},Edit,Write,NotebookEdit")]),
        }
        if let Some(schema) = spec.schema {
            put(&["--json-schema", &schema.to_string()]);
        }
        // Last, for a list of tools would take the operator's words for more of them.
        put(&["--output-format", "stream-json", "--verbose"]);
        call.argv.extend(spec.args.iter().map(Into::into));
        call.env.push(("CLAUDE_CONFIG_DIR".into(), spec.home.join(".claude").into()));
        let fixed = ENVIRONMENT.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        call.env.extend(fixed);
        if spec.confined == Confined::ByWindlass {
            // Without it the program refuses to run unattended as root.
            call.env.push(("IS_SANDBOX".into(), "1".into()));
            call.notes.push(format!("its own permission rules are {CONFINED}"));
        }
        call
    }

    fn reader(&self, setup: ReaderSetup) -> Box<dyn OutputReader> {
        Box::new(ClaudeReader {
            turn: TurnState::new(setup, REMEDY),
            mark: Mark::Missing(NO_MARK),
            results: 0,
            last_message: String::new(),
            so_far: Vec::new(),
            last_structured: None,
            fault: AgentFault::default(),
        })
    }
}

/// Tools that wait for a person, or outlive the turn.
const NEVER: &str = "AskUserQuestion,CronCreate,ScheduleWakeup,EnterWorktree";

pub const ENVIRONMENT: &[(&str, &str)] = &[
    ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
    ("DISABLE_AUTOUPDATER", "1"),
    ("DISABLE_TELEMETRY", "1"),
    ("DISABLE_ERROR_REPORTING", "1"),
    ("CLAUDE_CODE_MAX_RETRIES", "2"),
    ("API_TIMEOUT_MS", "300000"),
];

struct ClaudeReader {
    turn: TurnState,
    mark: Mark,
    /// How many turns of this process have ended; each end is numbered.
    results: u64,
    last_message: String,
    so_far: Vec<ModelUsage>,
    last_structured: Option<Value>,
    /// What was told of a failure before the result, which repeats only part of it.
    fault: AgentFault,
}

impl OutputReader for ClaudeReader {
    fn line(&mut self, line: &[u8], now: Timestamp) -> Vec<Live> {
        if let Some((kind, body)) = self.turn.event(line) {
            self.event(&kind, &body, now);
        }
        self.turn.story.drain()
    }

    fn hopeless(&self) -> Option<AttemptEnd> {
        self.turn.hopeless()
    }

    fn end(mut self: Box<Self>, over: &ProgramEnd<'_>) -> TurnEnding {
        if self.turn.usage.is_empty() {
            self.turn.usage = self.so_far;
        }
        self.turn.end(self.mark, over)
    }
}

impl ClaudeReader {
    fn event(&mut self, kind: &str, body: &Value, now: Timestamp) {
        self.turn.session(words(body, "/session_id"));
        match kind {
            "system" => self.system(body, now),
            "assistant" | "user" | "stream_event" => {
                // A task that ran on may open another turn: then the end is still to come.
                if matches!(self.mark, Mark::Well) {
                    self.mark = Mark::Missing(AFTER_MARK);
                }
                match kind {
                    "assistant" => self.assistant(body, now),
                    _ => messages::user(&mut self.turn, body),
                }
            }
            "rate_limit_event" if words(body, "/rate_limit_info/status") == "rejected" => {
                let reset = body.pointer("/rate_limit_info/resetsAt").and_then(Value::as_i64);
                self.fault = std::mem::take(&mut self.fault)
                    .code("usage_limit_reached")
                    .again_at(reset.and_then(|at| reset::epoch(at, now)));
            }
            "result" => self.result(body, now),
            _ => {}
        }
    }

    fn system(&mut self, body: &Value, now: Timestamp) {
        match words(body, "/subtype") {
            "init" => self.turn.model(words(body, "/model")),
            "api_retry" => {
                let number = |at| count(body, at).and_then(|n| u32::try_from(n).ok());
                let status = count(body, "/error_status");
                let error = words(body, "/error");
                let why = match status {
                    Some(status) => format!("HTTP {status}, {error}"),
                    None => error.to_owned(),
                };
                let retry = Retry {
                    attempt: number("/attempt"),
                    of: number("/max_retries"),
                    delay_ms: count(body, "/retry_delay_ms"),
                    why: bound::shown_line(&why),
                };
                let fault =
                    AgentFault::said(&why).status(status).code(if status.is_some() { error } else { "" });
                self.turn.retrying(retry, fault, now);
            }
            "permission_denied" => {
                let what = self.denied_call(words(body, "/tool_use_id"), words(body, "/tool_name"));
                self.turn.story.refused(&what, words(body, "/message"));
            }
            refusal @ "model_refusal_no_fallback" => {
                self.fault = std::mem::take(&mut self.fault).code(refusal);
            }
            _ => {}
        }
    }

    fn denied_call(&self, id: &str, name: &str) -> String {
        match self.turn.story.open(id) {
            Some(tool) => format!("{} {}", tool.name, tool.what),
            None => name.to_owned(),
        }
    }

    fn assistant(&mut self, body: &Value, now: Timestamp) {
        if body.get("is_api_error_message").and_then(Value::as_bool) == Some(true) {
            let fault = self.api_fault(body, &first_text(body));
            return self.turn.failing(fault, now);
        }
        self.turn.went_on();
        let id = words(body, "/message/id");
        if id != self.last_message {
            self.last_message = id.to_owned();
            self.turn.messages += 1;
            if let Some(usage) = body.pointer("/message/usage").and_then(messages::claude_usage) {
                add(&mut self.so_far, words(body, "/message/model"), usage);
                self.turn.story.tokens(&self.so_far);
            }
        }
        if let Some(input) = structured_call(body) {
            self.last_structured = Some(input.clone());
        }
        messages::assistant(&mut self.turn, body);
    }

    /// `error` says less than a status does, and "server_error" also for a request that timed out.
    fn api_fault(&self, body: &Value, message: &str) -> AgentFault {
        let status = count(body, "/api_error_status");
        let fault =
            AgentFault::said(message).and(&self.fault).status(status).code(words(body, "/api_error_type"));
        match (status, words(body, "/error")) {
            (None, _) => fault,
            (Some(_), error) => fault.code(error),
        }
    }

    fn result(&mut self, body: &Value, now: Timestamp) {
        let index = count(body, "/result_index").unwrap_or(self.results);
        let in_order = index == self.results && !matches!(self.mark, Mark::Well | Mark::Failed(_));
        let poisoned = matches!(self.mark, Mark::Missing(TWO_MARKS));
        self.results += 1;
        self.usage(body);
        let message = words(body, "/result");
        if !message.is_empty() {
            self.turn.last_word(message);
        }
        for denied in body.get("permission_denials").and_then(Value::as_array).into_iter().flatten() {
            let input = messages::input_words(denied.get("tool_input"));
            self.turn.story.denied(&format!("{} {input}", words(denied, "/tool_name")));
        }
        self.mark = match self.verdict(body) {
            _ if poisoned || !in_order => Mark::Missing(TWO_MARKS),
            Mark::Failed(fault) => {
                self.turn.failing(fault.clone(), now);
                Mark::Failed(fault)
            }
            mark @ (Mark::Well | Mark::Aborted | Mark::Bounded | Mark::Missing(_)) => mark,
        };
        if matches!(self.mark, Mark::Well) {
            self.turn.went_on();
            self.turn.structured = self.structured(body);
        }
    }

    fn verdict(&mut self, body: &Value) -> Mark {
        let failed = body.get("is_error").and_then(Value::as_bool) != Some(false);
        let reason = text(body, "/terminal_reason");
        let subtype = words(body, "/subtype");
        match reason {
            Some("aborted_tools" | "aborted_streaming") => return Mark::Aborted,
            Some("max_turns" | "budget_exhausted") => return Mark::Bounded,
            _ if matches!(subtype, "error_max_turns" | "error_max_budget_usd") => return Mark::Bounded,
            _ => {}
        }
        let status = body.get("api_error_status").filter(|status| !status.is_null());
        if !failed && status.is_none() && subtype == "success" && matches!(reason, None | Some("completed")) {
            return Mark::Well;
        }
        let said = text(body, "/result").or_else(|| text(body, "/errors/0")).unwrap_or(subtype).to_owned();
        let stop = words(body, "/stop_reason");
        let fault = self
            .api_fault(body, &said)
            .code(reason.filter(|reason| *reason != "api_error").unwrap_or_default());
        Mark::Failed(if stop == "refusal" { fault.code("refusal") } else { fault })
    }

    /// Told in three places; two of them must agree.
    fn structured(&self, body: &Value) -> Option<Value> {
        let given = body.get("structured_output").filter(|value| value.is_object())?;
        let in_text = report::strict_object(words(body, "/result").as_bytes());
        let agreed = in_text.as_ref() == Some(given) || self.last_structured.as_ref() == Some(given);
        (agreed && self.turn.setup.schema).then(|| given.clone())
    }

    fn usage(&mut self, body: &Value) {
        let first = self.turn.setup.start == SessionStart::Fresh && self.results == 1;
        let whole_session = body.get("modelUsage").filter(|_| first);
        let models = body.get("model_usage_since_last_result").or(whole_session).and_then(Value::as_object);
        let mut known = false;
        for (model, said) in models.into_iter().flatten() {
            if let Some(usage) = model_usage(said) {
                self.turn.add_usage(&bound::shown_line(model), usage);
                known = true;
            }
        }
        if !known && models.is_none() {
            let model = self.turn.setup.model.clone();
            if let Some(usage) = body.get("usage").and_then(messages::claude_usage) {
                self.turn.add_usage(&model, usage);
                known = true;
            }
        }
        self.turn.usage_is_whole = known;
        self.turn.story.tokens(&self.turn.usage);
    }
}

fn model_usage(said: &Value) -> Option<Usage> {
    let thinking = count_or_zero(said, "/thinkingTokens")?;
    Some(Usage {
        input_tokens: count(said, "/inputTokens")?,
        output_tokens: count(said, "/outputTokens")?.checked_sub(thinking)?,
        reasoning_tokens: thinking,
        cache_read_tokens: count_or_zero(said, "/cacheReadInputTokens")?,
        cache_write_tokens: count_or_zero(said, "/cacheCreationInputTokens")?,
        cost_micro_usd: cost(said, "/costUSD"),
    })
}

fn first_text(body: &Value) -> String {
    let blocks = body.pointer("/message/content").and_then(Value::as_array).into_iter().flatten();
    blocks.filter_map(|block| text(block, "/text")).next().unwrap_or_default().to_owned()
}

fn structured_call(body: &Value) -> Option<&Value> {
    let blocks = body.pointer("/message/content").and_then(Value::as_array)?;
    blocks.iter().find(|block| words(block, "/name") == "StructuredOutput")?.get("input")
}
