//! Agents of the Agent Client Protocol through a whole loop: a fake one that tries what it may not, confined,
//! and the real ones, as npm installs them, against a scripted model.

use windlass_testkit::model::Server;
use windlass_testkit::{Repo, capability};

use crate::case::{Case, Seen};

const FAKE: &str = r#"
say() { printf '%s\n' "$1"; }
ask() { say '{"jsonrpc":"2.0","id":"a","method":"'"$1"'","params":'"$2"'}'; read -r answer; }
read -r line; say '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentInfo":{"name":"fake","version":"1"}}}'
read -r line; say '{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s1"}}'
read -r line
ask terminal/create '{"sessionId":"s1","command":"echo x > OUTSIDE/by-terminal; echo done > ended"}'
ask terminal/wait_for_exit '{"sessionId":"s1","terminalId":"terminal-1"}'
ask fs/write_text_file '{"sessionId":"s1","path":"OUTSIDE/by-file","content":"x"}'
ask session/request_permission '{"sessionId":"s1","options":[{"optionId":"y","kind":"allow_once"},{"optionId":"n","kind":"reject_once"}],"toolCall":{"toolCallId":"c","title":"edit a file","kind":"edit","locations":[{"path":"OUTSIDE/by-tool"}]}}'
case $answer in *'"optionId":"n"'*) ;; *) exit 7 ;; esac
ask fs/write_text_file '{"sessionId":"s1","path":"'"$PWD"'/add.sh","content":"echo $(($1 + $2))\n"}'
rm -f ended
say '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"It adds."}}}}'
say '{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}'
"#;

const ADD: &str = r#"
[[rule]]
turns = [
  { run = "echo 'echo $(($1 + $2))' > add.sh" },
  { report = { nonce = "$nonce", status = "complete", summary = "done" } },
]
"#;

/// One task: `add.sh` is to add.
fn case(agent: &str, limits: &str) -> Case {
    let repo = Repo::empty();
    repo.file("tasks/001-add.md", "---\nchecks: [add]\n---\n# Write add.sh\n\n`sh add.sh 2 3` prints 5.\n");
    repo.file("test/add.sh", "test \"$(sh add.sh 2 3)\" = 5\n");
    let policy = format!(
        "[agent]\nuse = \"acp\"\n{agent}\ntimeout = \"60s\"\n[plan]\nsource = \"tasks/\"\n[gate]\nprotect = [\"test/\"]\n\
         [[gate.check]]\nname = \"add\"\nrun = \"sh test/add.sh\"\n[review]\ntasks = false\nfinal = false\n[loop]\n{limits}\n"
    );
    Case::of(repo, &policy)
}

#[test]
fn what_it_may_not_is_refused_and_the_work_lands() {
    let elsewhere = tempfile::tempdir().unwrap();
    let script = elsewhere.path().join("agent.sh");
    std::fs::write(&script, FAKE.replace("OUTSIDE", elsewhere.path().to_str().unwrap())).unwrap();
    let seen = case(&format!("command = [\"sh\", \"{}\"]", script.display()), "").run();
    seen.completed();
    for name in ["by-terminal", "by-file", "by-tool"] {
        assert!(!elsewhere.path().join(name).exists(), "{name}\n{}", seen.log);
    }
    let end = &seen.log.of("attempt_finished")[0];
    assert_eq!(end["agent"], "fake 1", "{end}");
    let refused = end["summary"]["refused"].to_string();
    assert!(refused.contains("by-file") && refused.contains("by-tool"), "{end}");
}

/// Its keys in `[agent]`, with a provider that is the scripted model; none when it is not installed.
fn keys(name: &str, server: &Server) -> Option<String> {
    let program = capability::agent(name)?;
    let (program, url) = (program.display(), &server.url);
    Some(match name {
        "gemini" => format!(
            r#"command = ["{program}", "--acp", "--skip-trust", "-m", "gemini-2.5-flash"]
env = {{ GEMINI_API_KEY = "test-key", GOOGLE_GEMINI_BASE_URL = "{url}/gemini" }}"#
        ),
        "claude-agent-acp" => format!(
            r#"command = ["{program}"]
env = {{ ANTHROPIC_API_KEY = "test-key", ANTHROPIC_BASE_URL = "{url}/claude", ANTHROPIC_MODEL = "claude-sonnet-4-5" }}"#
        ),
        "codex-acp" => format!(
            r#"command = ["{program}"]
env = {{ FAKE_KEY = "test-key", CODEX_CONFIG = '{{"model":"gpt-5.1-codex","model_provider":"fake","model_providers":{{"fake":{{"name":"fake","base_url":"{url}/codex/v1","env_key":"FAKE_KEY","wire_api":"responses"}}}}}}' }}"#
        ),
        _ => format!(
            r#"command = ["{program}", "acp"]
env = {{ OPENCODE_CONFIG_CONTENT = '{{"model":"fake/test-model","provider":{{"fake":{{"npm":"@ai-sdk/openai-compatible","options":{{"baseURL":"{url}/opencode/v1","apiKey":"test-key"}},"models":{{"test-model":{{}}}}}}}}}}' }}"#
        ),
    })
}

#[track_caller]
fn played(name: &str, script: &str, limits: &str) -> Option<Seen> {
    let server = Server::start(script.parse().unwrap());
    let keys = keys(name, &server)?;
    Some(case(&keys, limits).run())
}

#[track_caller]
fn completes(name: &str) {
    let Some(seen) = played(name, ADD, "") else { return };
    seen.completed();
    let end = &seen.log.of("attempt_finished")[0];
    assert_eq!(end["claim"]["status"], "complete", "{end}");
    assert!(end["usage"]["input_tokens"].as_u64().is_some_and(|tokens| tokens > 0), "{end}");
}

#[test]
fn gemini_completes() {
    completes("gemini");
}

#[test]
fn claude_completes() {
    completes("claude-agent-acp");
}

#[test]
fn opencode_completes() {
    completes("opencode");
}

#[test]
fn codex_completes_outside_its_own_sandbox() {
    completes("codex-acp");
}

#[track_caller]
fn fails(name: &str, failure: &str, class: &str) {
    let script = format!("[[rule]]\nturns = [{{ fail = '{failure}' }}]\n");
    let limits = "max_transient = 1\nmax_agent_failures = 1\nmax_stalls = 1\n";
    let Some(seen) = played(name, &script, limits) else { return };
    assert_eq!(seen.log.of("attempt_finished")[0]["end"]["kind"], class, "{}\n{}", seen.ran, seen.log);
}

#[test]
fn gemini_without_a_key() {
    fails("gemini", "http401", "auth");
}

#[test]
fn codex_without_a_key() {
    fails("codex-acp", "http401", "auth");
}

/// It says `end_turn`.
#[test]
fn codex_overloaded() {
    fails("codex-acp", "http500", "overloaded");
}
