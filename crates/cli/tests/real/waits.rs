//! A plan's limit is waited out, also by the windlass that comes after one that was killed.

use serde_json::Value;
use windlass_testkit::poll;
use windlass_testkit::scratch::Running;

use crate::case::{LONG, RUN};
use crate::play::{NO_SECOND_CHANCE, NOT_REVIEWED, Play, Rest, cli, serve};

/// The first request meets the limit.
fn limited(agent: &'static str, resets_in: u64) -> Option<Play> {
    let agent = cli(agent)?;
    let server = serve(&format!(
        r#"
[[rule]]
request = 1
turns = [{{ fail = "usage_limit", resets_in = {resets_in} }}]
[[rule]]
turns = [
  {{ run = "echo 'echo $(($1 + $2))' > add.sh" }},
  {{ report = {{ nonce = "$nonce", status = "complete", summary = "done" }} }},
]
"#
    ));
    let agents = agent.keys_of_a_plan(&server);
    let rest = Rest { agent: "", review: NOT_REVIEWED, limits: NO_SECOND_CHANCE };
    Some(Play::one_task(server, &agents, &rest))
}

/// The view of a loop that waits.
#[track_caller]
fn waiting(play: &Play, running: &mut Running) -> Value {
    let mut view = Value::Null;
    let waits = poll::until(LONG, || {
        let told = play.case.windlass(&["status", crate::case::LOOP, "--json"]);
        view = if told.status.success() { told.json() } else { Value::Null };
        view["status"] == "waiting" || running.has_ended()
    });
    assert!(waits && view["status"] == "waiting", "{view:#}\n{}\n{}", running.stdout(), running.stderr());
    view
}

#[test]
fn a_limit_that_ends_soon_is_waited_out_and_the_same_iteration_goes_on() {
    // Codex tells such times to the minute, Claude to the second.
    let Some(play) = limited("claude", 3) else { return };
    let mut running = play.case.start();
    let first = waiting(&play, &mut running);
    assert_eq!(first["waiting"]["why"], "usage_limit", "{first:#}");
    running.kill();
    let mut again = play.case.start();
    let view = waiting(&play, &mut again);
    assert_eq!(view["waiting"], first["waiting"], "killed and started again, it waits for the same moment");
    let asked = play.model_requests();
    let seen = play.case.look(again.finish(RUN));
    seen.completed();
    assert_eq!(asked, 1, "nothing is asked while it waits");
    assert_eq!(seen.log.count("iteration_opened"), 1, "{}", seen.log);
    assert_eq!(seen.task("001-add")["failures"], 0);
}

#[test]
fn a_limit_of_hours_is_shown_with_its_end() {
    for name in ["codex", "claude"] {
        let Some(play) = limited(name, 5 * 60 * 60) else { return };
        let mut running = play.case.start();
        let view = waiting(&play, &mut running);
        assert_eq!(view["waiting"]["why"], "usage_limit", "{view:#}");
        let end = &play.case.log().of("attempt_finished")[0]["end"].clone();
        assert_eq!(end["kind"], "usage_limit", "{end}");
        let until = view["waiting"]["until"].as_str().unwrap();
        assert!(until >= end["reset_at"].as_str().unwrap(), "{until} {end}");
        assert!(running.stdout().contains("usage limit until"), "the wait is told: {}", running.stdout());
        assert_eq!(play.model_requests(), 1, "{name} is not let to try again");
        play.case.windlass(&["cancel", crate::case::LOOP]).expect_code(0);
        running.finish(RUN).expect_code(5);
    }
}
