//! Gemini CLI: `gemini -o stream-json`.
//!
//! Its exit code is the HTTP status modulo 256, and 0 for a turn that failed or was ended by a signal. While it
//! tries again it prints nothing but stack traces on standard error.

use std::path::PathBuf;

use serde_json::{Value, json};
use windlass_core::input::{AttemptEnd, CONFINED};
use windlass_core::live::{Live, Retry};
use windlass_core::time::Timestamp;
use windlass_core::usage::Usage;
use windlass_process::ProgramExit;

use super::fault::AgentFault;
use super::line::{count, count_or_zero, text, words};
use super::messages;
use super::turn::{AFTER_MARK, Mark, NO_MARK, TWO_MARKS, TurnState};
use super::{
    Cli, CliInvocation, Confined, FileAccess, InvocationSpec, OutputReader, OwnConfig, ProgramEnd,
    ReaderSetup, TurnEnding,
};
use crate::bound;

pub struct Gemini;

const ANSWER_BYTES: usize = 256 * 1024;

const REMEDY: &str = "run gemini once and log in, or set GEMINI_API_KEY";

impl Cli for Gemini {
    fn invocation(&self, spec: &InvocationSpec<'_>) -> CliInvocation {
        let mut call = CliInvocation::default();
        call.argv.push(spec.program.into());
        let mut put = |words: &[&str]| call.argv.extend(words.iter().map(|word| (*word).into()));
        put(&["-o", "stream-json", "--skip-trust"]);
        if !spec.model.is_empty() {
            put(&["-m", spec.model]);
        }
        if let Some(session) = spec.resume {
            put(&["--resume", session]);
        }
        match (spec.confined, spec.access) {
            (Confined::ByWindlass, _) => put(&["--approval-mode", "yolo"]),
            (Confined::ByItself, FileAccess::Write) => {
                put(&["--approval-mode", "auto_edit", "--allowed-tools", "run_shell_command"]);
            }
            (Confined::ByItself, FileAccess::ReadOnly) => put(&["--approval-mode", "plan"]),
        }
        if spec.own_config == OwnConfig::KeptOut {
            put(&["-e", "none", "--allowed-mcp-server-names", "none"]);
        }
        call.argv.extend(spec.args.iter().map(Into::into));
        call.env.push(("GEMINI_CLI_HOME".into(), spec.home.into()));
        call.env.push(("GEMINI_CLI_SYSTEM_SETTINGS_PATH".into(), spec.home.join(place(spec)).into()));
        for (name, value) in
            [("GEMINI_TELEMETRY_ENABLED", "false"), ("GEMINI_CLI_NO_RELAUNCH", "true"), ("NO_BROWSER", "1")]
        {
            call.env.push((name.into(), value.into()));
        }
        call.files.push((PathBuf::from(place(spec)), format!("{:#}\n", settings(spec)).into_bytes()));
        if !spec.effort.is_empty() {
            call.notes.push("it has no setting for the reasoning effort: it is not used".to_owned());
        }
        if spec.confined == Confined::ByWindlass {
            call.notes.push(format!("its own approvals are {CONFINED}"));
        }
        call
    }

    fn reader(&self, setup: ReaderSetup) -> Box<dyn OutputReader> {
        Box::new(GeminiReader {
            turn: TurnState::new(setup, REMEDY),
            mark: Mark::Missing(NO_MARK),
            answer: String::new(),
            status: None,
            last_error: String::new(),
        })
    }
}

/// The user's file, named as the system's too, which no file of a project can override. The program passes over
/// a system's file below a directory that others may write, so it must be the user's as well.
fn place(spec: &InvocationSpec<'_>) -> &'static str {
    match spec.own_config {
        OwnConfig::KeptOut => ".gemini/settings.json",
        OwnConfig::Wanted => ".gemini/windlass.json",
    }
}

fn settings(spec: &InvocationSpec<'_>) -> Value {
    let mut settings = json!({
        "privacy": {"usageStatisticsEnabled": false},
        "telemetry": {"enabled": false},
        "general": {"enableAutoUpdate": false, "maxAttempts": 2},
        // Not every confinement has pseudo-terminals.
        "tools": {"shell": {"enableInteractiveShell": false}},
    });
    if spec.own_config == OwnConfig::KeptOut {
        settings["security"] = json!({"auth": {"selectedType": login(spec)}});
        settings["hooksConfig"] = json!({"enabled": false});
    }
    if spec.max_turns > 0 {
        settings["model"] = json!({"maxSessionTurns": spec.max_turns});
    }
    if spec.access == FileAccess::ReadOnly {
        settings["tools"]["exclude"] = json!(["write_file", "replace"]);
    }
    settings
}

/// It does not start without being told which login to use.
fn login(spec: &InvocationSpec<'_>) -> &'static str {
    if spec.has_variable("GEMINI_API_KEY") {
        "gemini-api-key"
    } else if spec.has_variable("GOOGLE_API_KEY") || spec.has_variable("GOOGLE_GENAI_USE_VERTEXAI") {
        "vertex-ai"
    } else {
        "oauth-personal"
    }
}

struct GeminiReader {
    turn: TurnState,
    mark: Mark,
    /// The model's text comes in pieces; a call ends a message.
    answer: String,
    /// The last HTTP status that standard error told of.
    status: Option<u64>,
    last_error: String,
}

impl OutputReader for GeminiReader {
    fn line(&mut self, line: &[u8], now: Timestamp) -> Vec<Live> {
        if let Some((kind, body)) = self.turn.event(line) {
            self.event(&kind, &body, now);
        }
        self.turn.story.drain()
    }

    fn error_line(&mut self, line: &[u8], now: Timestamp) -> Vec<Live> {
        let line = String::from_utf8_lossy(line);
        let line = line.trim();
        if let Some((attempt, rest)) =
            line.strip_prefix("Attempt ").and_then(|rest| rest.split_once(" failed"))
        {
            self.failed(attempt.parse().ok(), rest, now);
        } else if let Some(ms) = wait_ms(line) {
            // The message before it had several lines.
            let fault = self.turn.last_fault().unwrap_or_default();
            let why = bound::shown_line(fault.words());
            self.turn.retrying(Retry { attempt: None, of: None, delay_ms: Some(ms), why }, fault, now);
        } else if let Some(said) = line.strip_prefix("Error when talking to Gemini API") {
            self.turn.failing(AgentFault::said(without_place(said)), now);
        }
        if let Some(status) = line.strip_prefix("status: ").or_else(|| line.strip_prefix("code: ")) {
            self.status = leading_number(status).filter(|status| (400..600).contains(status)).or(self.status);
        }
        self.turn.story.drain()
    }

    fn hopeless(&self) -> Option<AttemptEnd> {
        self.turn.hopeless()
    }

    fn end(mut self: Box<Self>, over: &ProgramEnd<'_>) -> TurnEnding {
        self.close_message();
        let told = std::mem::replace(&mut self.mark, Mark::Missing(NO_MARK));
        let mark = match told {
            Mark::Failed(fault) => {
                let status = self.status.or_else(|| status_of(over.exit));
                let code = if status == Some(429) { "RESOURCE_EXHAUSTED" } else { "" };
                Mark::Failed(fault.status_if_unknown(status).code(code))
            }
            mark @ (Mark::Well | Mark::Aborted | Mark::Bounded | Mark::Missing(_)) => mark,
        };
        self.turn.end(mark, over)
    }
}

impl GeminiReader {
    fn event(&mut self, kind: &str, body: &Value, now: Timestamp) {
        if matches!(self.mark, Mark::Well | Mark::Missing(AFTER_MARK | TWO_MARKS)) {
            let why = if kind == "result" { TWO_MARKS } else { AFTER_MARK };
            self.mark = Mark::Missing(why);
            return;
        }
        match kind {
            "init" => {
                self.turn.session(words(body, "/session_id"));
                self.turn.model(words(body, "/model"));
            }
            "message" if words(body, "/role") == "assistant" => {
                self.turn.went_on();
                let piece = words(body, "/content");
                self.turn.story.text(piece);
                self.answer.push_str(bound::head(piece, ANSWER_BYTES - self.answer.len()));
            }
            "tool_use" => {
                self.turn.went_on();
                self.close_message();
                let what = messages::input_words(body.get("parameters"));
                self.turn.story.tool_started(words(body, "/tool_id"), words(body, "/tool_name"), &what);
            }
            "tool_result" => self.tool_result(body),
            "error" if words(body, "/severity") == "error" => {
                self.last_error = words(body, "/message").to_owned();
                self.turn.story.error(words(body, "/message"));
                self.turn.failing(AgentFault::said(words(body, "/message")), now);
            }
            "result" => self.result(body, now),
            _ => {}
        }
    }

    /// `Attempt 1 failed with status 503. Retrying with backoff... _ApiError: {…}`, or for a quota
    /// `Attempt 1 failed: … Retrying after 1093ms...`. It has its own bounds for its own models, and does not
    /// look at the settings for those.
    fn failed(&mut self, attempt: Option<u32>, rest: &str, now: Timestamp) {
        let status = rest.strip_prefix(" with status ").and_then(leading_number);
        let (said, is_last) = match rest.strip_suffix(" Max attempts reached") {
            Some(said) => (said, true),
            None => (rest, false),
        };
        let said = said.trim_start_matches([':', ' ']);
        let fault = AgentFault::said(said).status(status);
        let quota = rest.starts_with(':') && !self.turn.tells(&fault, now);
        let fault = fault.code(if quota { "RESOURCE_EXHAUSTED" } else { "" });
        if is_last {
            return self.turn.failing(fault, now);
        }
        let why = match status {
            Some(status) => format!("HTTP {status}"),
            None => bound::shown_line(fault.words()),
        };
        let retry = Retry { attempt, of: None, delay_ms: wait_ms(rest), why };
        self.turn.trying_on(retry, fault, now);
    }

    fn close_message(&mut self) {
        if !self.answer.is_empty() {
            self.turn.messages += 1;
            let answer = std::mem::take(&mut self.answer);
            self.turn.last_word(&answer);
        }
    }

    fn tool_result(&mut self, body: &Value) {
        let output = words(body, "/output");
        let error = text(body, "/error/message").unwrap_or_default();
        let ok = words(body, "/status") == "success";
        let exit = messages::exit_code(output).or_else(|| messages::exit_code(error));
        let Some(tool) = self.turn.story.tool_finished(words(body, "/tool_id"), exit, ok) else { return };
        let kind = words(body, "/error/type");
        if matches!(kind, "policy_violation" | "permission_denied" | "tool_not_registered")
            || error.contains("Path not in workspace")
        {
            return self.turn.story.refused(&format!("{} {}", tool.name, tool.what), error);
        }
        if messages::is_shell(&tool.name) {
            let exit = exit.or(ok.then_some(0));
            self.turn.story.ran(&tool.what, exit, ok && exit == Some(0));
        } else if ok {
            messages::touched(&mut self.turn.story, &tool.name, &tool.what, false);
        }
        self.turn.story.error(error);
    }

    fn result(&mut self, body: &Value, now: Timestamp) {
        self.close_message();
        self.usage(body);
        let message = text(body, "/error/message").unwrap_or(&self.last_error);
        self.mark = match words(body, "/status") {
            "success" => {
                self.turn.went_on();
                Mark::Well
            }
            _ if message.contains("max session turns") => Mark::Bounded,
            _ => {
                let fault = AgentFault::said(message).code(words(body, "/error/type"));
                self.turn.failing(fault.clone(), now);
                Mark::Failed(fault)
            }
        };
    }

    fn usage(&mut self, body: &Value) {
        let models = body.pointer("/stats/models").and_then(Value::as_object);
        for (model, said) in models.into_iter().flatten() {
            let Some(usage) = usage(said).filter(|usage| usage.tokens() > 0) else { continue };
            self.turn.add_usage(&bound::shown_line(model), usage);
        }
        self.turn.usage_is_whole = !self.turn.usage.is_empty();
        self.turn.story.tokens(&self.turn.usage);
    }
}

/// What came from a cache is part of `input_tokens`. Thoughts are in no field but in the total.
fn usage(said: &Value) -> Option<Usage> {
    let (input, output) = (count(said, "/input_tokens")?, count(said, "/output_tokens")?);
    let cached = count_or_zero(said, "/cached")?;
    let total = count(said, "/total_tokens")?;
    Some(Usage {
        input_tokens: input.checked_sub(cached)?,
        output_tokens: output,
        reasoning_tokens: total.checked_sub(input)?.checked_sub(output)?,
        cache_read_tokens: cached,
        ..Usage::default()
    })
}

fn status_of(exit: &ProgramExit) -> Option<u64> {
    let ProgramExit::Code(code @ 144..=255) = exit else { return None };
    u64::try_from(*code).ok().map(|code| code + 256)
}

/// ` Full report available at: <file> <error>`: a file that is gone with the attempt tells nobody anything.
fn without_place(said: &str) -> &str {
    let said = said.trim_start();
    let report = said.strip_prefix("Full report available at: ").and_then(|rest| rest.split_once(' '));
    report.map_or(said, |(_, error)| error)
}

/// `Retrying after 1093ms...`
fn wait_ms(line: &str) -> Option<u64> {
    let (_, wait) = line.split_once("Retrying after ")?;
    leading_number(wait).filter(|_| wait.contains("ms..."))
}

fn leading_number(text: &str) -> Option<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    text[..digits].parse().ok()
}
