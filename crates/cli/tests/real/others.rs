//! The agents that `cargo xtask test --all-agents` installs: a loop each, and how they tell the two failures
//! that matter most.

use crate::play::{NO_SECOND_CHANCE, NOT_REVIEWED, Play, Rest, cli, serve};

const ADD: &str = r#"
[[rule]]
name = "add"
turns = [
  { run = "echo 'echo $(($1 + $2))' > add.sh" },
  { report = { nonce = "$nonce", status = "complete", summary = "done" } },
]
"#;

#[track_caller]
fn completes(name: &'static str) {
    let Some(agent) = cli(name) else { return };
    let server = serve(ADD);
    let agents = agent.keys(&server);
    let play = Play::one_task(server, &agents, &Rest { agent: "", review: NOT_REVIEWED, limits: "" });
    let seen = play.case.run();
    seen.completed();
    let end = &seen.log.of("attempt_finished")[0];
    assert!(end["agent"].to_string().contains(name), "{end}");
    // Not every program tells thoughts from words, or names its model as the server does: the sum is the same.
    let told: u64 = ["input_tokens", "output_tokens", "reasoning_tokens", "cache_read_tokens"]
        .iter()
        .map(|name| seen.view["usage"][name].as_u64().unwrap())
        .sum();
    let handed: u64 = play
        .server
        .tokens()
        .values()
        .map(|sum| sum.input + sum.output + sum.reasoning + sum.cached + sum.cache_write)
        .sum();
    assert_eq!(told, handed, "{}", seen.view["usage"]);
    assert_eq!(end["claim"]["status"], "complete", "{end}");
}

#[test]
fn opencode_completes() {
    completes("opencode");
}

#[test]
fn gemini_completes() {
    completes("gemini");
}

#[test]
fn qwen_completes() {
    completes("qwen");
}

#[track_caller]
fn fails(name: &'static str, turn: &str, class: &str) {
    let Some(agent) = cli(name) else { return };
    let server = serve(&format!("[[rule]]\nturns = [{turn}]\n"));
    let agents = agent.keys(&server);
    let play =
        Play::one_task(server, &agents, &Rest { agent: "", review: NOT_REVIEWED, limits: NO_SECOND_CHANCE });
    let seen = play.case.run();
    let end = &seen.log.of("attempt_finished")[0]["end"];
    eprintln!("measured: {name} {turn}: {end} after {} requests", play.model_requests());
    assert_eq!(end["kind"], class, "{}\n{}", seen.ran, seen.log);
    assert_eq!(seen.ran.code(), 6, "{}", seen.ran);
    assert_eq!(seen.log.count("attempt_finished"), 1);
}

#[test]
fn opencode_without_a_key() {
    fails("opencode", "{ fail = 'http401' }", "auth");
}

#[test]
fn gemini_without_a_key() {
    fails("gemini", "{ fail = 'http401' }", "auth");
}

#[test]
fn qwen_without_a_key() {
    fails("qwen", "{ fail = 'http401' }", "auth");
}

#[test]
fn opencode_too_often() {
    fails("opencode", "{ fail = 'http429', retry_after = 1 }", "rate_limited");
}

#[test]
fn gemini_too_often() {
    fails("gemini", "{ fail = 'http429', retry_after = 1 }", "rate_limited");
}

#[test]
fn qwen_too_often() {
    fails("qwen", "{ fail = 'http429', retry_after = 1 }", "rate_limited");
}
