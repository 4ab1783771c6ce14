//! A plan's limit is waited out, also by the windlass that comes after one that was killed.

use serde_json::Value;
use windlass_testkit::poll;
use windlass_testkit::scratch::Running;

use crate::case::RUN;
use crate::play::{FIRST_CALL, NO_SECOND_CHANCE, NOT_REVIEWED, Play, Rest, cli, of_each, serve};

/// The first request meets the limit.
fn limited(agent: &'static str, resets_in: u64) -> Option<Play> {
    failing_first(agent, &format!("fail = \"usage_limit\", resets_in = {resets_in}"))
}

fn failing_first(agent: &'static str, failure: &str) -> Option<Play> {
    let agent = cli(agent)?;
    let server = serve(&format!(
        r#"
[[rule]]
request = 1
turns = [{{ {failure} }}]
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
    let waits = poll::until(FIRST_CALL, || {
        let told = play.case.windlass(&["status", crate::case::LOOP, "--json"]);
        view = if told.status.success() { told.json() } else { Value::Null };
        view["status"] == "waiting" || running.has_ended()
    });
    assert!(waits && view["status"] == "waiting", "{view:#}\n{}\n{}", running.stdout(), running.stderr());
    view
}

// Codex tells such times to the minute, the others to the second.
of_each!(ends_soon: claude opencode gemini qwen);

/// A limit that ends soon is waited out, also by a windlass that comes after, and the same iteration goes on.
#[track_caller]
fn ends_soon(name: &'static str) {
    // On a busy machine it takes seconds until the turn of a slow program is over.
    let Some(play) = limited(name, 30) else { return };
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

of_each!(lasts_hours);

#[track_caller]
fn lasts_hours(name: &'static str) {
    shows_its_end(name, limited(name, 5 * 60 * 60));
}

/// What Google says of keys: a quota that is counted by the day, and a time to try again that is far away.
mod lasts_long {
    use super::{failing_first, shows_its_end};

    #[test]
    fn gemini_by_the_day() {
        shows_its_end("gemini", failing_first("gemini", "fail = 'usage_limit'"));
    }

    #[test]
    fn gemini_by_its_retry_info() {
        shows_its_end("gemini", failing_first("gemini", "fail = 'http429', retry_after = 18000"));
    }
}

/// A limit of hours is shown with its end.
#[track_caller]
fn shows_its_end(name: &str, play: Option<Play>) {
    let Some(play) = play else { return };
    let mut running = play.case.start();
    let view = waiting(&play, &mut running);
    assert_eq!(view["waiting"]["why"], "usage_limit", "{view:#}");
    let end = &play.case.log().of("attempt_finished")[0]["end"].clone();
    eprintln!("measured: {name} limit of hours: {end} after {} requests", play.model_requests());
    assert_eq!(end["kind"], "usage_limit", "{end}");
    let until = view["waiting"]["until"].as_str().unwrap();
    assert!(until >= end["reset_at"].as_str().unwrap(), "{until} {end}");
    assert!(running.stdout().contains("usage limit until"), "the wait is told: {}", running.stdout());
    assert_eq!(play.model_requests(), 1, "{name} is not let to try again");
    play.case.windlass(&["cancel", crate::case::LOOP]).expect_code(0);
    running.finish(RUN).expect_code(5);
}
