//! The messages of Claude Code, which Qwen Code prints in the same shape: content blocks of text, of calls and
//! of their results.

use serde_json::Value;
use windlass_core::live::FileAction;
use windlass_core::usage::Usage;

use super::line::{count_or_zero, text, words};
use super::story::Story;
use super::turn::TurnState;

/// An assistant's line: its text is heard, its calls begin.
pub fn assistant(turn: &mut TurnState, body: &Value) {
    for block in blocks(body) {
        match words(block, "/type") {
            "text" => turn.said(words(block, "/text")),
            "tool_use" => {
                let name = words(block, "/name");
                turn.story.tool_started(words(block, "/id"), name, &input_words(block.get("input")));
            }
            _ => {}
        }
    }
}

/// A user's line holds the results of calls.
pub fn user(turn: &mut TurnState, body: &Value) {
    for block in blocks(body).filter(|block| words(block, "/type") == "tool_result") {
        let id = words(block, "/tool_use_id");
        let failed = block.get("is_error").and_then(Value::as_bool).unwrap_or(false);
        let said = content_text(block.get("content"));
        let exit = exit_code(&said);
        let Some(tool) = turn.story.tool_finished(id, exit, !failed) else { continue };
        if failed && was_refused(body, id) {
            turn.story.refused(&format!("{} {}", tool.name, tool.what), &said);
            continue;
        }
        if is_shell(&tool.name) {
            let exit = exit.or((!failed).then_some(0));
            turn.story.ran(&tool.what, exit, !failed && exit == Some(0));
        } else if !failed {
            touched(&mut turn.story, &tool.name, &tool.what, created(body, &said));
        }
        if failed {
            turn.story.error(&said);
        }
    }
}

fn blocks(body: &Value) -> impl Iterator<Item = &Value> {
    body.pointer("/message/content").and_then(Value::as_array).into_iter().flatten()
}

/// What a call is about: its command, its file, or all of its input.
pub fn input_words(input: Option<&Value>) -> String {
    const KEYS: [&str; 8] = [
        "/command",
        "/file_path",
        "/filePath",
        "/absolute_path",
        "/path",
        "/notebook_path",
        "/pattern",
        "/url",
    ];
    let Some(input) = input else { return String::new() };
    let known = KEYS.iter().find_map(|key| text(input, key));
    known.map(str::to_owned).unwrap_or_else(|| input.to_string())
}

pub fn is_shell(tool: &str) -> bool {
    matches!(tool, "Bash" | "bash" | "run_shell_command" | "shell")
}

/// The file that a call of a known tool has touched.
pub fn touched(story: &mut Story, tool: &str, path: &str, created: bool) {
    let how = match tool {
        "Write" | "write" | "write_file" if created => FileAction::Created,
        "Write" | "write" | "write_file" | "Edit" | "edit" | "MultiEdit" | "NotebookEdit"
        | "notebook_edit" | "replace" | "patch" => FileAction::Edited,
        "Read" | "read" | "read_file" => FileAction::Read,
        _ => return,
    };
    story.touched(path, how);
}

fn created(body: &Value, said: &str) -> bool {
    match text(body, "/tool_use_result/type") {
        Some(kind) => kind == "create",
        None => said.contains("created"),
    }
}

fn was_refused(body: &Value, id: &str) -> bool {
    let metas = body.get("tool_result_meta").and_then(Value::as_array).into_iter().flatten();
    let mut of_it = metas.filter(|meta| words(meta, "/id") == id);
    of_it.any(|meta| {
        words(meta, "/permission_decision/decision") == "reject" || meta.get("non_execution_kind").is_some()
    })
}

fn content_text(content: Option<&Value>) -> String {
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => {
            parts.iter().filter_map(|part| text(part, "/text")).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

/// `Exit code 137` as Claude Code writes it, `Exit Code: 0` as the two of Google's kin do.
pub fn exit_code(said: &str) -> Option<i32> {
    let line = |lead: &str| said.lines().find_map(|line| line.trim().strip_prefix(lead));
    let number = line("Exit code ").or_else(|| line("Exit Code: "))?;
    number.split_whitespace().next()?.parse().ok()
}

/// The usage of one message: input without what came from a cache.
pub fn claude_usage(usage: &Value) -> Option<Usage> {
    usage.as_object()?;
    let output = count_or_zero(usage, "/output_tokens")?;
    let thinking = count_or_zero(usage, "/output_tokens_details/thinking_tokens")?;
    Some(Usage {
        input_tokens: count_or_zero(usage, "/input_tokens")?,
        output_tokens: output.checked_sub(thinking)?,
        reasoning_tokens: thinking,
        cache_read_tokens: count_or_zero(usage, "/cache_read_input_tokens")?,
        cache_write_tokens: count_or_zero(usage, "/cache_creation_input_tokens")?,
        ..Usage::default()
    })
}
