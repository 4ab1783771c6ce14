//! Qwen Code: `qwen -o stream-json`, whose lines are like Claude Code's.
//!
//! The command that npm installs is a wrapper that passes no signal on, so its script is run directly. Its
//! tokens are those of the whole session, the work of its memory included, which is switched off: it goes on
//! after the result. It tries each request seven times whatever its settings say.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use windlass_core::input::{AttemptEnd, CONFINED};
use windlass_core::live::{Live, Retry};
use windlass_core::time::Timestamp;
use windlass_core::usage::{ModelUsage, Usage};
use windlass_process::ProgramExit;

use super::fault::AgentFault;
use super::line::{count, count_or_zero, text, words};
use super::messages;
use super::turn::{AFTER_MARK, Mark, NO_MARK, TWO_MARKS, TurnState, add};
use super::{
    Cli, CliInvocation, Confined, FileAccess, InvocationSpec, OutputReader, OwnConfig, ProgramEnd,
    ReaderSetup, TurnEnding,
};
use crate::bound;
use crate::report;

pub struct Qwen;

const REMEDY: &str = "run qwen once and log in, or set OPENAI_API_KEY";
/// How it tells an answer in words where one by the schema was wanted: to windlass a turn without a report.
const PROSE: &str = "Model produced plain text instead of calling the structured_output tool";
const REQUEST_MS: u32 = 300_000;

impl Cli for Qwen {
    fn invocation(&self, spec: &InvocationSpec<'_>) -> CliInvocation {
        let mut call = CliInvocation::default();
        if spec.program.extension().is_some_and(|extension| extension == "js") {
            call.argv.extend(["node", "--expose-gc"].map(Into::into));
        }
        call.argv.push(spec.program.into());
        let mut put = |words: &[&str]| call.argv.extend(words.iter().map(|word| (*word).into()));
        put(&["-o", "stream-json"]);
        if !spec.model.is_empty() {
            put(&["-m", spec.model]);
        }
        if spec.max_turns > 0 {
            put(&["--max-session-turns", &spec.max_turns.to_string()]);
        }
        if let Some(session) = spec.resume {
            put(&["--resume", session]);
        }
        match (spec.confined, spec.access) {
            (Confined::ByWindlass, _) => put(&["--approval-mode", "yolo"]),
            (Confined::ByItself, FileAccess::Write) => {
                put(&["--approval-mode", "auto-edit", "--allowed-tools", "run_shell_command"]);
            }
            (Confined::ByItself, FileAccess::ReadOnly) => put(&["--approval-mode", "default"]),
        }
        if spec.access == FileAccess::ReadOnly {
            put(&["--exclude-tools", "edit,write_file,notebook_edit"]);
        }
        if spec.own_config == OwnConfig::KeptOut {
            put(&["-e", "none", "--allowed-mcp-server-names", "none"]);
        }
        if spec.schema.is_some() {
            put(&["--json-schema", &format!("@{}", spec.schema_file.display())]);
        }
        call.argv.extend(spec.args.iter().map(Into::into));
        call.env.push(("QWEN_CODE_SYSTEM_SETTINGS_PATH".into(), spec.home.join(place(spec)).into()));
        for (name, value) in [("QWEN_CODE_NO_RELAUNCH", "true"), ("QWEN_CODE_SUPPRESS_YOLO_WARNING", "1")] {
            call.env.push((name.into(), value.into()));
        }
        call.files.push((PathBuf::from(place(spec)), format!("{:#}\n", settings(spec)).into_bytes()));
        if spec.confined == Confined::ByWindlass {
            call.notes.push(format!("its own approvals are {CONFINED}"));
        }
        call
    }

    fn native(&self, found: &Path, exists: &dyn Fn(&Path) -> bool) -> PathBuf {
        let script = found.with_file_name("cli.js");
        let wrapped = found.file_name().is_some_and(|name| name == "cli-entry.js") && exists(&script);
        if wrapped { script } else { found.to_path_buf() }
    }

    fn reader(&self, setup: ReaderSetup) -> Box<dyn OutputReader> {
        Box::new(QwenReader {
            turn: TurnState::new(setup, REMEDY),
            mark: Mark::Missing(NO_MARK),
            so_far: Vec::new(),
            last_structured: None,
            in_prose: false,
        })
    }
}

/// The user's file, named as the system's too, which no file of a project can override. The program passes over
/// a system's file below a directory that others may write, so it must be the user's as well.
fn place(spec: &InvocationSpec<'_>) -> &'static str {
    match spec.own_config {
        OwnConfig::KeptOut => ".qwen/settings.json",
        OwnConfig::Wanted => ".qwen/windlass.json",
    }
}

fn settings(spec: &InvocationSpec<'_>) -> Value {
    let mut generation = json!({"maxRetries": 0, "timeout": REQUEST_MS});
    if !spec.effort.is_empty() {
        generation["reasoning"] = json!({"effort": spec.effort});
    }
    let mut settings = json!({
        "privacy": {"usageStatisticsEnabled": false},
        "telemetry": {"enabled": false},
        "general": {"enableAutoUpdate": false},
        "memory": {"enableManagedAutoMemory": false, "enableManagedAutoDream": false},
        "model": {"generationConfig": generation},
        // Not every confinement has pseudo-terminals.
        "tools": {"shell": {"enableInteractiveShell": false}},
    });
    if spec.own_config == OwnConfig::KeptOut {
        let login = if spec.has_variable("OPENAI_API_KEY") { "openai" } else { "qwen-oauth" };
        settings["security"] = json!({"auth": {"selectedType": login}});
        settings["disableAllHooks"] = json!(true);
    }
    settings
}

struct QwenReader {
    turn: TurnState,
    mark: Mark,
    so_far: Vec<ModelUsage>,
    last_structured: Option<Value>,
    /// It answered in words, and calls that an error.
    in_prose: bool,
}

impl OutputReader for QwenReader {
    fn line(&mut self, line: &[u8], now: Timestamp) -> Vec<Live> {
        if let Some((kind, body)) = self.turn.event(line) {
            self.event(&kind, &body, now);
        }
        self.turn.story.drain()
    }

    fn error_line(&mut self, line: &[u8], now: Timestamp) -> Vec<Live> {
        let line = String::from_utf8_lossy(line);
        // `Retrying in 60s (attempt 1/10): [API Error: 429 …]`; the wait itself is told on standard output.
        if let Some((_, why)) = line.strip_prefix("Retrying in ").and_then(|rest| rest.split_once("): ")) {
            self.turn.failing(AgentFault::said(why), now);
        }
        self.turn.story.drain()
    }

    fn hopeless(&self) -> Option<AttemptEnd> {
        self.turn.hopeless()
    }

    fn end(mut self: Box<Self>, over: &ProgramEnd<'_>) -> TurnEnding {
        if self.turn.usage.is_empty() && self.turn.session_total.is_empty() {
            self.turn.usage = self.so_far;
        }
        let exit = if self.in_prose && *over.exit == ProgramExit::Code(1) {
            &ProgramExit::Code(0)
        } else {
            over.exit
        };
        self.turn.end(self.mark, &ProgramEnd { exit, ..*over })
    }
}

impl QwenReader {
    fn event(&mut self, kind: &str, body: &Value, now: Timestamp) {
        self.turn.session(words(body, "/session_id"));
        if matches!(self.mark, Mark::Well | Mark::Missing(AFTER_MARK | TWO_MARKS)) {
            match kind {
                "result" => self.mark = Mark::Missing(TWO_MARKS),
                "assistant" | "user" => self.mark = Mark::Missing(AFTER_MARK),
                _ => {}
            }
            return;
        }
        match kind {
            "system" if words(body, "/subtype") == "init" => self.turn.model(words(body, "/model")),
            "system" if words(body, "/subtype") == "retry" => self.retry(body, now),
            "assistant" => self.assistant(body, now),
            "user" => messages::user(&mut self.turn, body),
            "result" => self.result(body, now),
            _ => {}
        }
    }

    fn retry(&mut self, body: &Value, now: Timestamp) {
        let number = |at| count(body, at).and_then(|n| u32::try_from(n).ok());
        let retry = Retry {
            attempt: number("/data/attempt"),
            of: number("/data/maxRetries"),
            delay_ms: count(body, "/data/delayMs"),
            why: bound::shown_line(words(body, "/data/reason")),
        };
        self.turn.retrying(retry, AgentFault::default(), now);
    }

    fn assistant(&mut self, body: &Value, now: Timestamp) {
        let said = text(body, "/message/content/0/text").unwrap_or_default();
        let tokens = count(body, "/message/usage/output_tokens");
        if said.starts_with("[API Error: ") && tokens == Some(0) {
            return self.turn.failing(AgentFault::said(said), now);
        }
        self.turn.went_on();
        self.turn.messages += 1;
        if let Some(usage) = body.pointer("/message/usage").and_then(usage) {
            add(&mut self.so_far, words(body, "/message/model"), usage);
            self.turn.story.tokens(&self.so_far);
        }
        let mut blocks = body.pointer("/message/content").and_then(Value::as_array).into_iter().flatten();
        let structured = blocks.rfind(|block| words(block, "/name") == "structured_output");
        if let Some(input) = structured.and_then(|block| block.get("input")) {
            self.last_structured = Some(input.clone());
        }
        messages::assistant(&mut self.turn, body);
    }

    fn result(&mut self, body: &Value, now: Timestamp) {
        if let Some(usage) = body.get("usage").and_then(usage).filter(|usage| usage.tokens() > 0) {
            let model = self.turn.setup.model.clone();
            self.turn.session_usage(vec![ModelUsage { model, usage, messages: 0 }]);
        }
        for denied in body.get("permission_denials").and_then(Value::as_array).into_iter().flatten() {
            let input = messages::input_words(denied.get("tool_input"));
            self.turn.story.denied(&format!("{} {input}", words(denied, "/tool_name")));
        }
        let well = body.get("is_error").and_then(Value::as_bool) == Some(false);
        let subtype = words(body, "/subtype");
        let message = text(body, "/error/message").or_else(|| text(body, "/result")).unwrap_or(subtype);
        if well && subtype == "success" && body.get("error").is_none_or(Value::is_null) {
            self.turn.went_on();
            self.turn.last_word(words(body, "/result"));
            self.turn.structured = self.structured(body);
            self.mark = Mark::Well;
        } else if message.starts_with(PROSE) {
            self.mark = Mark::Well;
            self.in_prose = true;
        } else if subtype == "error_max_turns" || message.contains("max session turns") {
            self.mark = Mark::Bounded;
        } else {
            let fault = AgentFault::said(message);
            self.turn.failing(fault.clone(), now);
            self.mark = Mark::Failed(fault);
        }
    }

    /// Told in three places; two of them must agree.
    fn structured(&self, body: &Value) -> Option<Value> {
        let given = body.get("structured_result").filter(|value| value.is_object())?;
        let in_text = report::strict_object(words(body, "/result").as_bytes());
        let agreed = in_text.as_ref() == Some(given) || self.last_structured.as_ref() == Some(given);
        (agreed && self.turn.setup.schema).then(|| given.clone())
    }
}

/// What came from a cache is part of the input. Reasoning is not told, and is part of the output.
fn usage(said: &Value) -> Option<Usage> {
    let cached = count_or_zero(said, "/cache_read_input_tokens")?;
    Some(Usage {
        input_tokens: count(said, "/input_tokens")?.checked_sub(cached)?,
        output_tokens: count(said, "/output_tokens")?,
        cache_read_tokens: cached,
        ..Usage::default()
    })
}
