//! Each way a model's service can fail, as each real program tells it: the class it gives, how many requests
//! that took, and what the run comes to.

use std::time::{Duration, Instant};

use windlass_testkit::poll;

use crate::case::{LONG, LOOP};
use crate::play::{NO_SECOND_CHANCE, NOT_REVIEWED, Play, Rest, cli, serve};

/// What must come of one failure.
struct Wanted {
    class: &'static str,
    /// The most requests the model may see. The programs' own settings make up to 30.
    requests: usize,
    code: i32,
}

/// Well below what the programs take when left alone: up to 190 s, or for ever.
const AT_MOST: Duration = Duration::from_secs(45);

#[track_caller]
fn fails(name: &'static str, turn: &str, wanted: &Wanted) {
    let Some(agent) = cli(name) else { return };
    let server = serve(&format!("[[rule]]\nturns = [{turn}]\n"));
    let agents = agent.keys(&server);
    let rest = Rest { agent: "silence = \"8s\"\n", review: NOT_REVIEWED, limits: NO_SECOND_CHANCE };
    let play = Play::one_task(server, &agents, &rest);
    let begun = Instant::now();
    let seen = play.case.run();
    let took = begun.elapsed();
    let ends: Vec<_> = seen.log.of("attempt_finished").iter().map(|event| event["end"].clone()).collect();
    let requests = play.model_requests();
    eprintln!("measured: {name} {turn}: {} after {requests} requests, {took:?}", ends[0]);
    assert!(ends.iter().all(|end| end["kind"] == wanted.class), "{ends:?}\n{}\n{}", seen.ran, seen.log);
    assert_eq!(seen.ran.code(), wanted.code, "{}", seen.ran);
    assert!(requests >= 1 && requests <= wanted.requests, "{requests} requests");
    assert!(took < AT_MOST, "{took:?}");
    assert_eq!(seen.log.count("task_done"), 0);
    if wanted.class == "auth" {
        let remedy = seen.view["paused"]["detail"].as_str().unwrap();
        assert!(remedy.contains("login") || remedy.contains("_API_KEY"), "{remedy}");
        assert_eq!(ends.len(), 1, "at once");
    }
}

macro_rules! failures {
    ($($test:ident: $agent:literal, $turn:literal => $class:literal, $requests:literal requests, exit $code:literal;)*) => {
        $(#[test]
        fn $test() {
            fails($agent, $turn, &Wanted { class: $class, requests: $requests, code: $code });
        })*
    };
}

// The requests are as measured. Codex tells an answer that is no JSON in the words of a cut one; a context that
// is too long is tried once more with a smaller brief.
failures! {
    codex_http500: "codex", "{ fail = 'http500' }" => "overloaded", 6 requests, exit 6;
    codex_http529: "codex", "{ fail = 'http529' }" => "overloaded", 6 requests, exit 6;
    codex_http429: "codex", "{ fail = 'http429', retry_after = 1 }" => "rate_limited", 2 requests, exit 6;
    codex_http401: "codex", "{ fail = 'http401' }" => "auth", 3 requests, exit 6;
    codex_http404: "codex", "{ fail = 'http404' }" => "model_not_found", 3 requests, exit 6;
    codex_ctx: "codex", "{ fail = 'ctx' }" => "context_overflow", 2 requests, exit 3;
    codex_ctxsse: "codex", "{ fail = 'ctxsse' }" => "context_overflow", 2 requests, exit 3;
    codex_overloadedsse: "codex", "{ fail = 'overloadedsse' }" => "overloaded", 1 requests, exit 6;
    codex_malformed: "codex", "{ fail = 'malformed' }" => "network", 2 requests, exit 6;
    codex_midcut: "codex", "{ fail = 'midcut' }" => "network", 2 requests, exit 6;
    codex_midend: "codex", "{ fail = 'midend' }" => "network", 2 requests, exit 6;
    codex_refused: "codex", "{ fail = 'refused' }" => "refused", 1 requests, exit 3;
    codex_hang: "codex", "{ fail = 'hang' }" => "stalled", 1 requests, exit 3;
    codex_hangmid: "codex", "{ fail = 'hangmid' }" => "stalled", 1 requests, exit 3;
    claude_http500: "claude", "{ fail = 'http500' }" => "overloaded", 3 requests, exit 6;
    claude_http529: "claude", "{ fail = 'http529' }" => "overloaded", 3 requests, exit 6;
    claude_http429: "claude", "{ fail = 'http429', retry_after = 1 }" => "rate_limited", 3 requests, exit 6;
    claude_http401: "claude", "{ fail = 'http401' }" => "auth", 3 requests, exit 6;
    claude_http404: "claude", "{ fail = 'http404' }" => "model_not_found", 2 requests, exit 6;
    claude_ctx: "claude", "{ fail = 'ctx' }" => "context_overflow", 2 requests, exit 3;
    claude_overloadedsse: "claude", "{ fail = 'overloadedsse' }" => "overloaded", 4 requests, exit 6;
    claude_malformed: "claude", "{ fail = 'malformed' }" => "protocol", 2 requests, exit 3;
    claude_midcut: "claude", "{ fail = 'midcut' }" => "network", 4 requests, exit 6;
    claude_midend: "claude", "{ fail = 'midend' }" => "network", 3 requests, exit 6;
    claude_refused: "claude", "{ fail = 'refused' }" => "refused", 2 requests, exit 3;
    claude_hang: "claude", "{ fail = 'hang' }" => "stalled", 1 requests, exit 3;
    claude_hangmid: "claude", "{ fail = 'hangmid' }" => "stalled", 1 requests, exit 3;
}

/// A server that fails twice and then works costs nothing but time.
#[test]
fn two_failures_are_tried_over() {
    for name in ["codex", "claude"] {
        let Some(agent) = cli(name) else { return };
        let server = serve(
            r#"
[[rule]]
turns = [
  { fail = "http500", times = 2 },
  { run = "echo 'echo $(($1 + $2))' > add.sh" },
  { report = { nonce = "$nonce", status = "complete", summary = "done" } },
]
"#,
        );
        let agents = agent.keys(&server);
        let play = Play::one_task(server, &agents, &Rest { agent: "", review: NOT_REVIEWED, limits: "" });
        play.case.run().completed();
        play.usage_is_the_servers();
    }
}

/// Where the server is not there at all.
#[test]
fn codex_hears_nobody() {
    hears_nobody("codex");
}

#[test]
fn claude_hears_nobody() {
    hears_nobody("claude");
}

#[track_caller]
fn hears_nobody(name: &'static str) {
    let Some(agent) = cli(name) else { return };
    let server = serve("");
    let agents = agent.keys(&server);
    let rest = Rest { agent: "silence = \"20s\"\n", review: NOT_REVIEWED, limits: NO_SECOND_CHANCE };
    let Play { case, server } = Play::one_task(server, &agents, &rest);
    drop(server);
    let seen = case.run();
    let end = &seen.log.of("attempt_finished")[0]["end"];
    assert_eq!(end["kind"], "network", "{}\n{}", seen.ran, seen.log);
    assert_eq!(seen.ran.code(), 6, "{}", seen.ran);
}

/// `kill -9` of windlass while the agent's tool runs something that has left the agent's session.
#[test]
fn a_kill_in_a_tool_call_leaves_nobody() {
    for name in ["codex", "claude"] {
        let Some(agent) = cli(name) else { return };
        let server = serve(
            r#"
[[rule]]
turns = [{ run = "setsid sh -c 'touch begun; exec sleep 7331' > /dev/null 2>&1 & sleep 7331" }]
"#,
        );
        let agents = agent.keys(&server);
        let play = Play::one_task(server, &agents, &Rest { agent: "", review: NOT_REVIEWED, limits: "" });
        let mut running = play.case.start();
        let space = || {
            let told = play.case.windlass(&["status", LOOP, "--json"]);
            told.status
                .success()
                .then(|| told.json()["workspace"].as_str().map(std::path::PathBuf::from))
                .flatten()
        };
        let begun = poll::until(LONG, || {
            running.has_ended() || space().is_some_and(|dir| dir.join("begun").exists())
        });
        assert!(begun && !running.has_ended(), "{}\n{}", running.stdout(), running.stderr());
        running.kill();
        let left = windlass_testkit::alive::left_after(Duration::from_secs(2), &play.case.token());
        assert!(left.is_empty(), "{name}: {left:?}");
    }
}
