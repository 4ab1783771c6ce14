//! Every recording of a real program goes through its reader: the class is written here by hand, from what was
//! measured when it was recorded; all else is a text under `tests/snapshots`. `WINDLASS_BLESS=1` writes those.

use std::collections::BTreeSet;
use std::path::Path;

use windlass_agent::cli::TurnEnding;
use windlass_core::input::AttemptEnd;
use windlass_core::live::Live;
use windlass_core::usage::ModelUsage;
use windlass_process::ProgramExit as Exit;

use crate::recorded::{Read, folder, read, recording};

/// The recorder sent SIGKILL at its time limit.
const CUT: Exit = Exit::Signal(9);

/// Name, exit, class.
pub const TABLE: &[(&str, Exit, &str)] = &[
    ("codex-appserver", Exit::Code(0), "protocol"),
    ("codex-builtin-openai", Exit::Code(0), "normal"),
    ("codex-ctx", Exit::Code(1), "context_overflow"),
    ("codex-ctxsse", Exit::Code(1), "context_overflow"),
    ("codex-flaky500", Exit::Code(0), "normal"),
    ("codex-hang", CUT, "killed"),
    ("codex-hang-400s", CUT, "killed"),
    ("codex-hang-idle5s", CUT, "killed"),
    ("codex-hangmid-default", CUT, "killed"),
    ("codex-hangmid-idle5s", Exit::Code(1), "network"),
    ("codex-http401", Exit::Code(1), "auth"),
    ("codex-http429", Exit::Code(1), "rate_limited"),
    ("codex-http429-noretry", Exit::Code(1), "rate_limited"),
    ("codex-http500", Exit::Code(1), "overloaded"),
    ("codex-http500-noretry", Exit::Code(1), "overloaded"),
    // It says the same of a broken stream as of a cut one.
    ("codex-malformed", Exit::Code(1), "network"),
    ("codex-midcut", Exit::Code(1), "network"),
    ("codex-nativesig-SIGINT", Exit::Code(1), "crashed"),
    ("codex-nativesig-SIGKILL", Exit::Signal(9), "killed"),
    ("codex-nativesig-SIGTERM", Exit::Signal(15), "killed"),
    ("codex-nokey", Exit::Code(1), "auth"),
    ("codex-noplugins", Exit::Code(0), "normal"),
    ("codex-noplugins2", Exit::Code(0), "normal"),
    ("codex-ok", Exit::Code(0), "normal"),
    ("codex-pidns-SIGKILL", Exit::Signal(9), "killed"),
    // Its tool failed on a read-only file system; the turn did not.
    ("codex-readonly-opthome", Exit::Code(0), "normal"),
    ("codex-resume", Exit::Code(0), "normal"),
    ("codex-resume-bogus", Exit::Code(1), "crashed"),
    ("codex-schema", Exit::Code(0), "normal"),
    ("codex-sig-SIGINT", Exit::Code(1), "crashed"),
    ("codex-sig-SIGKILL", Exit::Signal(9), "killed"),
    ("codex-sig-SIGTERM", Exit::Signal(15), "killed"),
    ("codex-stdin", Exit::Code(0), "normal"),
    ("codex-wire-chat", Exit::Code(1), "crashed"),
    ("codex-ws-opthome", Exit::Code(0), "normal"),
    ("codex-ws-tmphome", Exit::Code(0), "normal"),
    ("claude-acceptEdits", Exit::Code(0), "normal"),
    ("claude-bare", Exit::Code(0), "normal"),
    ("claude-bidi", Exit::Code(0), "normal"),
    ("claude-ctx", Exit::Code(1), "context_overflow"),
    ("claude-default-perm", Exit::Code(0), "normal"),
    ("claude-dontAsk-allowedBash", Exit::Code(0), "normal"),
    ("claude-dsp-root-IS_SANDBOX", Exit::Code(0), "normal"),
    ("claude-dsp-root-nosandboxenv", Exit::Code(1), "crashed"),
    ("claude-flaky500", Exit::Code(0), "normal"),
    ("claude-hang", CUT, "killed"),
    ("claude-hang-apitimeout5s", Exit::Code(1), "network"),
    ("claude-hangmid-apitimeout5s", CUT, "killed"),
    ("claude-hangmid-default", CUT, "killed"),
    // Still at it when it was cut, and certain since its first answer.
    ("claude-http401", CUT, "auth"),
    ("claude-http401-full", Exit::Code(1), "auth"),
    ("claude-http401-max2", Exit::Code(1), "auth"),
    ("claude-http429", CUT, "killed"),
    ("claude-http429-full", Exit::Code(1), "rate_limited"),
    ("claude-http429-max2", Exit::Code(1), "rate_limited"),
    ("claude-http500", CUT, "killed"),
    ("claude-http500-max2", Exit::Code(1), "overloaded"),
    ("claude-http529", CUT, "killed"),
    ("claude-http529-max2", Exit::Code(1), "overloaded"),
    ("claude-json", Exit::Code(0), "normal"),
    ("claude-malformed", Exit::Code(1), "protocol"),
    ("claude-mcp", Exit::Code(0), "normal"),
    ("claude-midcut", Exit::Code(1), "network"),
    ("claude-noverbose", Exit::Code(1), "crashed"),
    ("claude-ok", Exit::Code(0), "normal"),
    ("claude-pidns-SIGKILL", Exit::Signal(9), "killed"),
    ("claude-resume", Exit::Code(0), "normal"),
    ("claude-resume-bogus", Exit::Code(1), "crashed"),
    ("claude-schema", Exit::Code(0), "normal"),
    // It was allowed one turn.
    ("claude-sessionid", Exit::Code(1), "timed_out"),
    ("claude-sig-SIGKILL", Exit::Signal(9), "killed"),
    ("claude-sig-SIGTERM", Exit::Code(143), "killed"),
    ("claude-stdin", Exit::Code(0), "normal"),
    // A rejected call ended it before the model's last word.
    ("opencode-ask-noauto", Exit::Code(0), "protocol"),
    ("opencode-default-noauto", Exit::Code(0), "normal"),
    ("opencode-http401", Exit::Code(1), "auth"),
    ("opencode-http429", Exit::Code(1), "rate_limited"),
    ("opencode-http500", Exit::Code(1), "overloaded"),
    ("opencode-http529", Exit::Code(1), "overloaded"),
    ("opencode-malformed", Exit::Code(1), "protocol"),
    ("opencode-mcp", Exit::Code(0), "normal"),
    // It asks again without end.
    ("opencode-midcut", CUT, "network"),
    ("opencode-nosnapshot", Exit::Code(0), "normal"),
    ("opencode-ok", Exit::Code(0), "normal"),
    ("opencode-pure", Exit::Code(0), "normal"),
    ("opencode-resume-bogus", Exit::Code(1), "crashed"),
    ("opencode-resume-samedir", Exit::Code(0), "normal"),
    ("opencode-sig-SIGINT", CUT, "killed"),
    ("opencode-sig-SIGKILL", Exit::Signal(9), "killed"),
    ("opencode-sig-SIGTERM", Exit::Signal(15), "killed"),
    ("opencode-stdin", Exit::Code(0), "normal"),
    ("gemini-ctx", Exit::Code(144), "context_overflow"),
    ("gemini-default-perm", Exit::Code(0), "normal"),
    ("gemini-hang", CUT, "killed"),
    ("gemini-http401", Exit::Code(145), "auth"),
    ("gemini-http429", CUT, "rate_limited"),
    ("gemini-http429-full", Exit::Code(173), "rate_limited"),
    ("gemini-http500", CUT, "overloaded"),
    ("gemini-http503", CUT, "overloaded"),
    ("gemini-malformed", Exit::Code(1), "protocol"),
    ("gemini-mcp", Exit::Code(0), "normal"),
    // Exit code 0, and its result is an error without a word of which.
    ("gemini-midcut", Exit::Code(0), "network"),
    ("gemini-ok", Exit::Code(0), "normal"),
    ("gemini-pidns-SIGKILL", Exit::Signal(9), "killed"),
    ("gemini-resume", Exit::Code(0), "normal"),
    // Signals end it with exit code 0 and half a stream.
    ("gemini-sig-SIGINT", Exit::Code(0), "protocol"),
    ("gemini-sig-SIGKILL", Exit::Signal(9), "killed"),
    ("gemini-sig-SIGTERM", Exit::Code(0), "protocol"),
    ("gemini-stdin", Exit::Code(0), "normal"),
    ("qwen-ctx", Exit::Code(1), "context_overflow"),
    ("qwen-default-perm", Exit::Code(0), "normal"),
    ("qwen-hang", CUT, "killed"),
    ("qwen-http401", Exit::Code(1), "auth"),
    // It announces waits of minutes, which are windlass's to make.
    ("qwen-http429", CUT, "rate_limited"),
    ("qwen-http500", Exit::Code(1), "overloaded"),
    ("qwen-http529", Exit::Code(1), "overloaded"),
    ("qwen-mcp", Exit::Code(0), "normal"),
    ("qwen-midcut", Exit::Code(1), "network"),
    ("qwen-node22", Exit::Code(0), "normal"),
    ("qwen-ok", Exit::Code(0), "normal"),
    ("qwen-pidns-SIGKILL", Exit::Signal(9), "killed"),
    ("qwen-resume", Exit::Code(0), "normal"),
    ("qwen-schema", Exit::Code(0), "normal"),
    ("qwen-sig-SIGINT", Exit::Code(130), "killed"),
    ("qwen-sig-SIGKILL", Exit::Signal(9), "killed"),
    ("qwen-sig-SIGTERM", Exit::Code(130), "killed"),
    ("qwen-stdin", Exit::Code(0), "normal"),
];

#[test]
fn every_recording_ends_with_its_class() {
    let wrong: Vec<String> = TABLE
        .iter()
        .filter_map(|(name, exit, class)| {
            let end = read(&recording(name, exit.clone())).ending.end;
            (class_name(&end) != *class).then(|| format!("{name}: {end:?} is not {class}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_recording_is_left_out() {
    let files = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let recorded = files.filter(|path| path.extension().is_some_and(|kind| kind != "md"));
    let names: BTreeSet<String> =
        recorded.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    let in_table: BTreeSet<String> = TABLE.iter().map(|(name, ..)| (*name).to_owned()).collect();
    assert_eq!(names, in_table);
}

#[test]
fn every_recording_is_read_as_its_snapshot_says() {
    let bless = std::env::var_os("WINDLASS_BLESS").is_some();
    let snapshots = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots");
    let mut wrong = Vec::new();
    for (name, exit, _) in TABLE {
        let shown = show(&read(&recording(name, exit.clone())), exit);
        let file = snapshots.join(format!("{name}.txt"));
        if bless {
            std::fs::create_dir_all(&snapshots).unwrap();
            std::fs::write(&file, &shown).unwrap();
        } else if std::fs::read_to_string(&file).unwrap_or_default() != shown {
            wrong.push(format!("{name}:\n{shown}"));
        }
    }
    assert!(wrong.is_empty(), "{} differ\n\n{}", wrong.len(), wrong.join("\n"));
}

pub fn class_name(end: &AttemptEnd) -> &'static str {
    match end {
        AttemptEnd::Normal => "normal",
        AttemptEnd::RateLimited { .. } => "rate_limited",
        AttemptEnd::UsageLimit { .. } => "usage_limit",
        AttemptEnd::Overloaded => "overloaded",
        AttemptEnd::Network => "network",
        AttemptEnd::Killed => "killed",
        AttemptEnd::Auth { .. } => "auth",
        AttemptEnd::ModelNotFound { .. } => "model_not_found",
        AttemptEnd::ContextOverflow => "context_overflow",
        AttemptEnd::Refused { .. } => "refused",
        AttemptEnd::Crashed { .. } => "crashed",
        AttemptEnd::TimedOut => "timed_out",
        AttemptEnd::Stalled => "stalled",
        AttemptEnd::Protocol { .. } => "protocol",
        AttemptEnd::Budget => "budget",
        AttemptEnd::Interrupted => "interrupted",
        AttemptEnd::Lost => "lost",
        AttemptEnd::Faulted(_) => "faulted",
    }
}

fn show(read: &Read, exit: &Exit) -> String {
    let mut lines: Vec<String> = read.told.iter().map(show_live).collect();
    lines.dedup();
    lines.push(format!("exit {exit:?}"));
    if let Some(hopeless) = &read.hopeless {
        lines.push(format!("hopeless {hopeless:?}"));
    }
    lines.extend(show_ending(&read.ending));
    lines.join("\n") + "\n"
}

fn show_live(live: &Live) -> String {
    match live {
        Live::Text { text } => format!("text {text:?}"),
        Live::ToolStarted(tool) => format!("started {} {}: {}", tool.id, tool.name, tool.what),
        Live::ToolFinished { tool, exit, ok } => format!("finished {} exit {exit:?} ok {ok}", tool.id),
        Live::Touched(touched) => format!("touched {} {:?}", touched.path, touched.how),
        Live::Tokens(usage) => format!("tokens {}", usage.tokens()),
        Live::Retry(retry) => {
            format!("retry {:?} of {:?} in {:?}: {}", retry.attempt, retry.of, retry.delay_ms, retry.why)
        }
        Live::RefusedCall(call) => format!("refused {}: {}", call.what, call.why),
        Live::StepStarted(_) | Live::CheckFinished(_) | Live::Held => panic!("no agent says {live:?}"),
    }
}

fn show_ending(ending: &TurnEnding) -> Vec<String> {
    let mut lines = vec![format!("end {:?}", ending.end), format!("message {:?}", ending.message)];
    lines.extend(ending.structured.iter().map(|value| format!("structured {value}")));
    let usage = |what: &str, models: &[ModelUsage]| -> Vec<String> {
        models.iter().map(|model| format!("{what} {}", show_usage(model))).collect()
    };
    lines.extend(usage(if ending.usage_is_whole { "used" } else { "used at least" }, &ending.usage));
    if let Some(session) = &ending.session {
        lines.push(format!("session {}", session.id));
        lines.extend(usage("session total", &session.total));
    }
    if ending.session_is_gone {
        lines.push("the session is gone".to_owned());
    }
    let summary = &ending.summary;
    for (how, files) in [("created", &summary.created), ("edited", &summary.edited), ("read", &summary.read)]
    {
        lines.extend(files.iter().map(|file| format!("{how} {file}")));
    }
    lines.extend(summary.commands.iter().map(|ran| format!("ran {} exit {:?}", ran.what, ran.exit)));
    lines.extend(summary.errors.iter().map(|error| format!("error {error}")));
    lines.extend(summary.refused.iter().map(|call| format!("refused call {call}")));
    lines.extend(ending.notes.iter().map(|note| format!("note {note}")));
    lines
}

fn show_usage(model: &ModelUsage) -> String {
    let used = &model.usage;
    format!(
        "{}: input {} output {} reasoning {} cache read {} write {}, cost {:?}, {} messages",
        model.model,
        used.input_tokens,
        used.output_tokens,
        used.reasoning_tokens,
        used.cache_read_tokens,
        used.cache_write_tokens,
        used.cost_micro_usd,
        model.messages
    )
}
