//! The model, the effort, and conversations that go on, as far as an agent offers them.

use super::{all, keys};
use crate::case::LOOP;
use crate::play::{NOT_REVIEWED, Play, Rest, serve};
use crate::resumed::{SCRIPT, second_begins_afresh, second_knows_the_first};

fn play(name: &str, more: &str) -> Option<Play> {
    let server = serve(SCRIPT);
    let agents = keys(name, &server)?;
    Some(Play::one_task(server, &agents, &Rest { agent: more, review: NOT_REVIEWED, limits: "" }))
}

/// Claude asks for a title when it loads a conversation, and does not tell what that used.
#[track_caller]
fn tokens_are_the_servers(play: &Play) {
    let usage = play.case.windlass(&["usage", LOOP, "--json"]).expect_code(0).json();
    let buckets =
        ["input_tokens", "output_tokens", "reasoning_tokens", "cache_read_tokens", "cache_write_tokens"];
    let told: u64 = buckets.iter().map(|name| usage["total"][name].as_u64().unwrap()).sum();
    let requests = play.server.requests();
    let sum = |titles: bool| -> u64 {
        requests
            .iter()
            .filter(|seen| titles || !seen.side)
            .filter_map(|seen| seen.tokens.as_ref())
            .map(all)
            .sum()
    };
    assert!((sum(false)..=sum(true)).contains(&told), "{told}, {} to {}: {usage:#}", sum(false), sum(true));
}

#[track_caller]
fn goes_on(name: &str) {
    let Some(play) = play(name, "resume = true\n") else { return };
    let seen = play.case.run();
    seen.completed();
    assert_eq!(seen.task("001-add")["attempts"], 2);
    assert!(second_knows_the_first(&play), "it began afresh");
    let second = &seen.log.of("attempt_finished")[1];
    let summary = second["result"]["summary"].to_string();
    assert!(
        !summary.contains("$1 - $2"),
        "what the first did is told again, and is not the second's: {second}"
    );
    tokens_are_the_servers(&play);
}

#[test]
fn a_conversation_with_claude_goes_on_and_is_counted_once() {
    goes_on("claude-agent-acp");
}

#[test]
fn a_conversation_with_codex_goes_on_and_is_counted_once() {
    goes_on("codex-acp");
}

#[test]
fn a_conversation_with_claude_that_is_gone_begins_afresh_and_says_so() {
    begins_afresh("claude-agent-acp", ".claude");
}

#[test]
fn a_conversation_with_codex_that_is_gone_begins_afresh_and_says_so() {
    begins_afresh("codex-acp", ".codex");
}

#[track_caller]
fn begins_afresh(name: &str, kept: &str) {
    let Some(play) = play(name, "resume = true\n") else { return };
    second_begins_afresh(&play, kept);
    tokens_are_the_servers(&play);
}

/// What the model was asked for: its name, and the body of the request.
#[track_caller]
fn asked_for(name: &str, more: &str) -> Option<(String, serde_json::Value)> {
    let play = play(name, more)?;
    play.case.windlass(&["run", "--name", LOOP, "--max", "1"]);
    let requests = play.server.requests();
    let first = requests.iter().find(|seen| seen.rule.as_deref() == Some("first"));
    // The tools of Codex's newest models are none that the scripted model knows.
    let first = first.or_else(|| requests.iter().find(|seen| seen.api.is_some() && seen.method == "POST"));
    let first = first.unwrap_or_else(|| panic!("nothing was asked"));
    Some((first.model.clone().unwrap_or_default(), (*first.body).clone()))
}

#[test]
fn codex_uses_the_model_and_the_effort_it_is_asked_for() {
    let Some((model, body)) = asked_for("codex-acp", "model = \"gpt-6-sol\"\neffort = \"high\"\n") else {
        return;
    };
    assert_eq!(
        (model.as_str(), body["reasoning"]["effort"].as_str()),
        ("gpt-6-sol", Some("high")),
        "{body:#}"
    );
}

#[test]
fn claude_uses_the_model_and_the_effort_it_is_asked_for() {
    let Some((model, body)) = asked_for("claude-agent-acp", "model = \"opus\"\neffort = \"low\"\n") else {
        return;
    };
    assert!(model.contains("opus"), "{model}");
    assert_eq!(body["output_config"]["effort"], "low", "{body:#}");
}

/// By `session/set_model`: it has no options.
#[test]
fn gemini_uses_the_model_it_is_asked_for() {
    let Some((model, _)) = asked_for("gemini", "model = \"gemini-2.5-pro\"\n") else { return };
    assert_eq!(model, "gemini-2.5-pro");
}

#[test]
fn a_model_that_is_not_offered_is_said_before_anything_is_asked() {
    for name in ["claude-agent-acp", "codex-acp", "gemini"] {
        let Some(play) = play(name, "model = \"no-such-model\"\n") else { return };
        let seen = play.case.run();
        assert_eq!(seen.ran.code(), 6, "{}", seen.ran);
        assert_eq!(seen.view["paused"]["why"], "model_not_found", "{:#}", seen.view);
        let detail = seen.view["paused"]["detail"].as_str().unwrap();
        assert!(detail.contains("no-such-model") && detail.contains("it offers"), "{detail}");
        assert_eq!(play.model_requests(), 0, "{name}");
    }
}
