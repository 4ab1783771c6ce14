//! Codex: `codex exec --json`.
//!
//! Its wrapper in node dies of SIGKILL without its child, so the native program beside it is started. Items of
//! type `error` are remarks; lines of type `error` are retries. Only `turn.failed` is final. The tokens of
//! `turn.completed` are those of the whole session.

use std::path::{Path, PathBuf};

use serde_json::Value;
use windlass_core::input::{AttemptEnd, CONFINED};
use windlass_core::live::{FileAction, Live, Retry};
use windlass_core::policy::MAX_OWN_TRIES;
use windlass_core::time::Timestamp;
use windlass_core::usage::{ModelUsage, Usage};

use super::fault::AgentFault;
use super::line::{count, count_or_zero, words};
use super::turn::{AFTER_MARK, Mark, NO_MARK, TWO_MARKS, TurnState};
use super::{
    Cli, CliInvocation, Confined, FileAccess, InvocationSpec, OutputReader, OwnConfig, ProgramEnd,
    ReaderSetup, TurnEnding,
};

pub struct Codex;

const REMEDY: &str = "codex login, or set CODEX_API_KEY";

impl Cli for Codex {
    fn invocation(&self, spec: &InvocationSpec<'_>) -> CliInvocation {
        let mut call = CliInvocation::default();
        call.argv.push(spec.program.into());
        let mut put = |words: &[&str]| call.argv.extend(words.iter().map(|word| (*word).into()));
        put(&["exec"]);
        if let Some(session) = spec.resume {
            put(&["resume", session]);
        }
        put(&["--json", "--skip-git-repo-check"]);
        if !spec.model.is_empty() {
            put(&["-m", spec.model]);
        }
        if !spec.effort.is_empty() {
            put(&["-c", &format!("model_reasoning_effort=\"{}\"", spec.effort)]);
        }
        put(&["-c", "analytics.enabled=false", "-c", "check_for_update_on_startup=false"]);
        put(&["-c", "otel.exporter=\"none\""]);
        if spec.own_config == OwnConfig::KeptOut {
            put(&["--disable", "plugins", "--disable", "apps", "--ignore-user-config", "--ignore-rules"]);
        }
        match (spec.confined, spec.access) {
            (Confined::ByWindlass, _) => put(&["--dangerously-bypass-approvals-and-sandbox"]),
            // `exec resume` has no --sandbox.
            (Confined::ByItself, FileAccess::Write) => put(&["-c", "sandbox_mode=\"workspace-write\""]),
            (Confined::ByItself, FileAccess::ReadOnly) => put(&["-c", "sandbox_mode=\"read-only\""]),
        }
        if spec.schema.is_some() {
            call.argv.extend(["--output-schema".into(), spec.schema_file.into()]);
        }
        call.argv.extend(spec.args.iter().map(Into::into));
        call.argv.extend(fewer_retries(spec.args).into_iter().map(Into::into));
        call.argv.push("-".into());
        call.env.push(("CODEX_HOME".into(), spec.home.join(".codex").into()));
        // It does not start where its home does not exist.
        call.files.push((PathBuf::from(".codex/.windlass"), Vec::new()));
        if spec.confined == Confined::ByWindlass {
            call.notes.push(format!("its own sandbox is {CONFINED}"));
        }
        call
    }

    fn native(&self, found: &Path, exists: &dyn Fn(&Path) -> bool) -> PathBuf {
        // found: …/node_modules/@openai/codex/bin/codex.js
        let scope = found.ancestors().nth(3).filter(|_| found.ends_with("codex/bin/codex.js"));
        let packages = [
            ("codex-linux-x64", "x86_64-unknown-linux-musl"),
            ("codex-linux-arm64", "aarch64-unknown-linux-musl"),
            ("codex-darwin-arm64", "aarch64-apple-darwin"),
            ("codex-darwin-x64", "x86_64-apple-darwin"),
        ];
        let places = scope.into_iter().flat_map(|scope| {
            packages.iter().flat_map(move |(package, target)| {
                let below = Path::new("vendor").join(target).join("bin/codex");
                let nested = Path::new("codex/node_modules/@openai").join(package).join(&below);
                [scope.join(package).join(&below), scope.join(nested)]
            })
        });
        places.into_iter().find(|place| exists(place)).unwrap_or_else(|| found.to_path_buf())
    }

    fn reader(&self, setup: ReaderSetup) -> Box<dyn OutputReader> {
        Box::new(CodexReader {
            turn: TurnState::new(setup, REMEDY),
            started: false,
            mark: Mark::Missing(NO_MARK),
            network_waits: 0,
        })
    }
}

/// A provider of the operator's is told to try less by itself. The built-in ones cannot be: the program
/// refuses every key below their names.
fn fewer_retries(args: &[String]) -> Vec<String> {
    let provider = args.iter().find_map(|arg| arg.strip_prefix("model_provider="));
    let Some(provider) = provider.map(|name| name.trim_matches('"')).filter(|name| !name.is_empty()) else {
        return Vec::new();
    };
    [("request_max_retries", 2), ("stream_max_retries", 1)]
        .into_iter()
        .filter(|(key, _)| !args.iter().any(|arg| arg.contains(key)))
        .flat_map(|(key, n)| ["-c".to_owned(), format!("model_providers.{provider}.{key}={n}")])
        .collect()
}

struct CodexReader {
    turn: TurnState,
    started: bool,
    mark: Mark,
    network_waits: u32,
}

impl OutputReader for CodexReader {
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
        if matches!(self.mark, Mark::Well) {
            self.turn.structured_from_message();
        }
        self.turn.end(self.mark, over)
    }
}

impl CodexReader {
    fn event(&mut self, kind: &str, body: &Value, now: Timestamp) {
        if let Mark::Well = self.mark {
            self.mark = Mark::Missing(if kind.starts_with("turn.") { TWO_MARKS } else { AFTER_MARK });
            return;
        }
        match kind {
            "thread.started" => self.turn.session(words(body, "/thread_id")),
            "turn.started" => self.started = true,
            "item.started" => self.item(body, Stage::Started),
            "item.updated" => {}
            "item.completed" => self.item(body, Stage::Completed),
            "error" => self.error(words(body, "/message"), now),
            "turn.completed" => self.completed(body),
            "turn.failed" => {
                let fault = AgentFault::said(words(body, "/error/message"));
                self.turn.failing(fault.clone(), now);
                self.mark = Mark::Failed(fault);
            }
            _ => {}
        }
    }

    fn completed(&mut self, body: &Value) {
        let first = matches!(self.mark, Mark::Missing(NO_MARK));
        self.mark = if first && self.started { Mark::Well } else { Mark::Missing(TWO_MARKS) };
        self.turn.went_on();
        if let Some(usage) = body.get("usage").and_then(usage) {
            let model = self.turn.setup.model.clone();
            self.turn.session_usage(vec![ModelUsage { model, usage, messages: 0 }]);
        }
    }

    fn error(&mut self, message: &str, now: Timestamp) {
        let Some(rest) = message.strip_prefix("Reconnecting... ") else {
            return self.turn.failing(AgentFault::said(message), now);
        };
        let (numbers, why) = rest.split_once(" (").unwrap_or((rest, ""));
        let why = why.strip_suffix(')').unwrap_or(why);
        let (attempt, of) = numbers.split_once('/').unwrap_or_default();
        let number = |text: &str| text.trim().parse::<u32>().ok();
        let retry = Retry {
            attempt: number(attempt),
            of: number(of),
            delay_ms: None,
            why: crate::bound::shown_line(why),
        };
        // Its WebSocket may be missing where its plain requests work: a 404 there is no missing model.
        let fault = AgentFault::said(if why.contains("url: ws") { "connection failed" } else { why });
        self.turn.retrying(retry, fault, now);
        if numbers.contains("waiting for network") {
            // It would wait without end.
            self.network_waits += 1;
            if self.network_waits >= MAX_OWN_TRIES {
                self.turn.give_up(AttemptEnd::Network);
            }
        }
    }

    fn item(&mut self, body: &Value, stage: Stage) {
        let Some(item) = body.get("item") else { return };
        let id = words(item, "/id");
        match (words(item, "/type"), stage) {
            ("agent_message", Stage::Completed) => {
                self.turn.went_on();
                self.turn.messages += 1;
                self.turn.said(words(item, "/text"));
            }
            ("command_execution", stage) => self.command(id, item, stage),
            ("file_change", Stage::Completed) => self.file_change(item),
            ("mcp_tool_call", stage) => {
                let name = format!("{}.{}", words(item, "/server"), words(item, "/tool"));
                let arguments = item.get("arguments").map(Value::to_string).unwrap_or_default();
                self.turn.story.tool_started(id, &name, &arguments);
                if stage == Stage::Completed {
                    self.turn.story.tool_finished(id, None, words(item, "/status") == "completed");
                }
            }
            // A remark about itself: what fails is told as a line of its own, not as an item.
            ("error", Stage::Completed) => self.turn.noted(words(item, "/message")),
            _ => {}
        }
    }

    fn command(&mut self, id: &str, item: &Value, stage: Stage) {
        self.turn.went_on();
        let command = words(item, "/command");
        self.turn.story.tool_started(id, "shell", command);
        if stage == Stage::Started {
            return;
        }
        let exit = item.get("exit_code").and_then(Value::as_i64).and_then(|code| i32::try_from(code).ok());
        let ok = exit == Some(0);
        if self.turn.story.tool_finished(id, exit, ok).is_none() {
            return;
        }
        match words(item, "/status") {
            "declined" => self.turn.story.refused(command, "the program's rules do not allow it"),
            _ => self.turn.story.ran(command, exit, ok),
        }
    }

    fn file_change(&mut self, item: &Value) {
        if words(item, "/status") == "failed" {
            return self.turn.story.error("a patch could not be applied");
        }
        for change in item.get("changes").and_then(Value::as_array).into_iter().flatten() {
            let how = match words(change, "/kind") {
                "add" => FileAction::Created,
                "delete" => FileAction::Deleted,
                _ => FileAction::Edited,
            };
            self.turn.story.touched(words(change, "/path"), how);
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Started,
    Completed,
}

/// What came from a cache, or went into one, is part of the input; reasoning is part of the output.
fn usage(said: &Value) -> Option<Usage> {
    let (input, output) = (count(said, "/input_tokens")?, count(said, "/output_tokens")?);
    let read = count_or_zero(said, "/cached_input_tokens")?;
    let write = count_or_zero(said, "/cache_write_input_tokens")?;
    let reasoning = count_or_zero(said, "/reasoning_output_tokens")?;
    Some(Usage {
        input_tokens: input.checked_sub(read)?.checked_sub(write)?,
        output_tokens: output.checked_sub(reasoning)?,
        reasoning_tokens: reasoning,
        cache_read_tokens: read,
        cache_write_tokens: write,
        ..Usage::default()
    })
}
