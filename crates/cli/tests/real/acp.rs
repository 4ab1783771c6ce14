//! Agents of the Agent Client Protocol, as npm installs them: from the first brief to a proof, with a model that
//! lies, and after `kill -9`.

mod failures;
mod sessions;

use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;
use windlass_testkit::capability;
use windlass_testkit::model::{Server, Tokens};
use windlass_testkit::poll;

use crate::case::{LONG, LOOP, Seen};
use crate::loops::THREE_TASKS;
use crate::play::{NOT_REVIEWED, Play, REVIEWED, Rest, serve};

/// Its keys in `[agent]`, with a provider that is the scripted model; none when it is not installed.
pub fn keys(name: &str, server: &Server) -> Option<String> {
    let program = capability::agent(name)?;
    let (program, url) = (program.display(), &server.url);
    let keys = match name {
        "claude-agent-acp" => format!(
            r#"command = ["{program}"]
env = {{ ANTHROPIC_API_KEY = "test-key", ANTHROPIC_BASE_URL = "{url}/claude", ANTHROPIC_MODEL = "claude-sonnet-4-5" }}"#
        ),
        "codex-acp" => format!(
            r#"command = ["{program}"]
env = {{ FAKE_KEY = "test-key", CODEX_CONFIG = '{{"model":"gpt-5.1-codex","model_provider":"fake","model_providers":{{"fake":{{"name":"fake","base_url":"{url}/codex/v1","env_key":"FAKE_KEY","wire_api":"responses"}}}}}}' }}"#
        ),
        "gemini" => format!(
            r#"command = ["{program}", "--acp", "--skip-trust", "-m", "gemini-2.5-flash"]
env = {{ GEMINI_API_KEY = "test-key", GOOGLE_GEMINI_BASE_URL = "{url}/gemini" }}"#
        ),
        "qwen" => format!(
            r#"command = ["{program}", "--acp", "--auth-type", "openai", "-m", "test-model"]
env = {{ OPENAI_API_KEY = "test-key", OPENAI_BASE_URL = "{url}/qwen/v1" }}"#
        ),
        _ => format!(
            r#"command = ["{program}", "acp", "--print-logs", "--log-level", "ERROR"]
env = {{ OPENCODE_CONFIG_CONTENT = '{{"model":"fake/test-model","provider":{{"fake":{{"npm":"@ai-sdk/openai-compatible","options":{{"baseURL":"{url}/opencode/v1","apiKey":"test-key"}},"models":{{"test-model":{{}}}}}}}}}}' }}"#
        ),
    };
    Some(format!("use = \"acp\"\n{keys}\n"))
}

/// How far the tokens that an agent tells are the server's.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Told {
    /// In every bucket, model by model.
    Exactly,
    /// In sum: thoughts are counted as words.
    InSum,
    /// It tells a part, and the record says that there may be more.
    InPart,
    /// It tells none: unknown is not zero.
    Nothing,
}

#[test]
fn claude_completes_three_tasks() {
    three_tasks("claude-agent-acp", Told::InSum, REVIEWED);
}

#[test]
fn codex_completes_three_tasks() {
    three_tasks("codex-acp", Told::Exactly, REVIEWED);
}

#[test]
fn gemini_completes_three_tasks() {
    three_tasks("gemini", Told::InPart, NOT_REVIEWED);
}

#[test]
fn opencode_completes_three_tasks() {
    three_tasks("opencode", Told::InPart, NOT_REVIEWED);
}

#[test]
fn qwen_completes_three_tasks() {
    three_tasks("qwen", Told::Nothing, NOT_REVIEWED);
}

/// Where there are reviews, the same agent works and reviews, and the first review rejects.
#[track_caller]
fn three_tasks(name: &'static str, told: Told, review: &str) {
    let server = serve(THREE_TASKS);
    let Some(agents) = keys(name, &server) else { return };
    let play = Play::tasks(server, &agents, &Rest { agent: "", review, limits: "" }, 3);
    let seen = run(&play);
    seen.completed();
    for task in ["001-add", "002-sub", "003-mul"] {
        seen.task_is(task, "done", None);
    }
    assert_ne!(seen.view["sandbox"], "none", "{:#}", seen.view);
    if review == REVIEWED {
        assert_eq!(seen.task("001-add")["rejections"], 1);
        assert!(!play.asked("add again").is_empty(), "the finding was in the brief of the next iteration");
    }
    for end in seen.log.of("attempt_finished") {
        assert_eq!(end["result"]["end"]["kind"], "normal", "{end}");
        assert!(
            end["result"]["agent"].as_str().is_some_and(|agent| agent.contains(' ')),
            "with its version: {end}"
        );
    }
    counted(&play, &seen, told);
}

/// Slow programs on a busy machine.
#[track_caller]
fn run(play: &Play) -> Seen {
    play.case.look(play.case.start().finish(Duration::from_secs(400)))
}

#[track_caller]
fn counted(play: &Play, seen: &Seen, told: Told) {
    let usage = play.case.windlass(&["usage", LOOP, "--json"]).expect_code(0).json();
    let attempts = seen.log.of("attempt_finished");
    let of = |name: &str| usage["total"][name].as_u64().unwrap_or_else(|| panic!("{usage:#}"));
    let sum =
        ["input_tokens", "output_tokens", "reasoning_tokens", "cache_read_tokens", "cache_write_tokens"];
    let sum: u64 = sum.iter().map(|name| of(name)).sum();
    let handed: u64 = play.server.tokens().values().map(all).sum();
    let in_part = |end: &Value| end["result"]["notes"].to_string().contains("it used at least those");
    eprintln!("measured: tokens {sum} of {handed}");
    match told {
        Told::Exactly => play.usage_is_the_servers(),
        Told::InSum => assert_eq!((sum, of("attempts_unknown")), (handed, 0), "{usage:#}"),
        Told::InPart => {
            assert!(sum > 0 && sum <= handed, "{sum} of {handed}: {usage:#}");
            assert_eq!(attempts.iter().filter(|end| in_part(end)).count(), attempts.len(), "{}", seen.log);
        }
        Told::Nothing => {
            assert_eq!((sum, of("attempts_unknown")), (0, attempts.len() as u64), "{usage:#}");
        }
    }
}

fn all(tokens: &Tokens) -> u64 {
    tokens.input + tokens.output + tokens.reasoning + tokens.cached + tokens.cache_write
}

/// Says that all is done, and did nothing, or something else.
#[track_caller]
fn lies(name: &'static str, deed: &str, reason: &str) {
    let report =
        r#"{ report = { nonce = "$nonce", status = "complete", summary = "done, all tests pass" } }"#;
    let server = serve(&format!("[[rule]]\nturns = [{deed}{report}]\n"));
    let Some(agents) = keys(name, &server) else { return };
    let limits = "max_no_progress = 2\nmax_task_failures = 2\n";
    let play = Play::one_task(server, &agents, &Rest { agent: "", review: NOT_REVIEWED, limits });
    let seen = run(&play);
    seen.ended(3, "blocked", reason);
    assert_eq!(seen.log.count("task_done"), 0, "{}", seen.log);
    assert!(seen.view["commit"].is_null(), "nothing landed: {:#}", seen.view);
    for end in seen.log.of("attempt_finished") {
        assert_eq!(
            (&end["result"]["end"]["kind"], &end["claim"]["status"]),
            (&"normal".into(), &"complete".into())
        );
    }
}

const NO_DEED: &str = "";
/// Gemini runs no command with a command inside.
const NOT_THE_DEED: &str = r#"{ run = "date +%N > add.sh; echo '5 passed, 0 failed'" }, "#;

#[test]
fn claude_is_not_believed() {
    lies("claude-agent-acp", NO_DEED, "no_progress");
    lies("claude-agent-acp", NOT_THE_DEED, "failing");
}

#[test]
fn codex_is_not_believed() {
    lies("codex-acp", NO_DEED, "no_progress");
    lies("codex-acp", NOT_THE_DEED, "failing");
}

#[test]
fn gemini_is_not_believed() {
    lies("gemini", NOT_THE_DEED, "failing");
}

#[test]
fn opencode_is_not_believed() {
    lies("opencode", NOT_THE_DEED, "failing");
}

#[test]
fn qwen_is_not_believed() {
    lies("qwen", NOT_THE_DEED, "failing");
}

#[test]
fn a_kill_in_a_tool_call_of_claude_leaves_nobody() {
    killed("claude-agent-acp");
}

#[test]
fn a_kill_in_a_tool_call_of_codex_leaves_nobody() {
    killed("codex-acp");
}

#[test]
fn a_kill_in_a_tool_call_of_gemini_leaves_nobody() {
    killed("gemini");
}

#[test]
fn a_kill_in_a_tool_call_of_opencode_leaves_nobody() {
    killed("opencode");
}

#[test]
fn a_kill_in_a_tool_call_of_qwen_leaves_nobody() {
    killed("qwen");
}

/// `kill -9` of windlass while the agent's tool runs something that has left the agent's session.
#[track_caller]
fn killed(name: &'static str) {
    let server = serve(
        r#"
[[rule]]
turns = [{ run = "setsid sh -c 'touch begun; exec sleep 7331' > /dev/null 2>&1 & sleep 7331" }]
"#,
    );
    let Some(agents) = keys(name, &server) else { return };
    let play = Play::one_task(server, &agents, &Rest { agent: "", review: NOT_REVIEWED, limits: "" });
    let mut running = play.case.start();
    let workspace = || -> Option<PathBuf> {
        let told = play.case.windlass(&["status", LOOP, "--json"]);
        told.status.success().then(|| told.json()["workspace"].as_str().map(PathBuf::from)).flatten()
    };
    let begun = poll::until(LONG, || {
        running.has_ended() || workspace().is_some_and(|dir| dir.join("begun").exists())
    });
    assert!(begun && !running.has_ended(), "{}\n{}", running.stdout(), running.stderr());
    running.kill();
    let left = windlass_testkit::alive::left_after(Duration::from_secs(2), &play.case.token());
    assert!(left.is_empty(), "{left:?}");
}
