//! A plan's limit is waited out, also by the windlass that comes after one that was killed.

use std::time::{Duration, SystemTime};

use serde_json::Value;
use windlass_core::time::Timestamp;
use windlass_testkit::poll;
use windlass_testkit::scratch::Running;

use crate::case::{LOOP, RUN};
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
        let told = play.case.windlass(&["status", LOOP, "--json"]);
        view = if told.status.success() { told.json() } else { Value::Null };
        view["status"] == "waiting" || running.has_ended()
    });
    assert!(waits && view["status"] == "waiting", "{view:#}\n{}\n{}", running.stdout(), running.stderr());
    view
}

// The others tell such times to the second.
of_each!(ends_soon: claude opencode gemini qwen);

#[track_caller]
fn ends_soon(name: &'static str) {
    // On a busy machine it takes seconds until the turn of a slow program is over.
    let Some(play) = limited(name, 30) else { return };
    waited_out(&play, "UTC");
}

/// Codex tells such times to the minute, which is then waited for to its end. So it is shown a clock of which the
/// minute is over soon: a zone may be seconds away from the others.
#[test]
fn a_limit_of_codex_that_ends_soon_is_waited_out_and_the_same_iteration_goes_on() {
    let begun = now();
    let Some(play) = limited("codex", 3) else { return };
    let served = now();
    waited_out(&play, &zone_with_a_minute_that_ends_in(20));
    let asked: Vec<i64> =
        play.server.requests().iter().filter(|seen| seen.api.is_some()).map(|seen| millis(seen.at)).collect();
    let reset_at = play.case.log().of("attempt_finished")[0]["result"]["end"]["reset_at"].clone();
    let reset_at: Timestamp = reset_at.as_str().unwrap().parse().unwrap();
    // The server counts in whole seconds from the moment it was asked.
    let truly = Timestamp((begun + asked[0]) / 1000 * 1000 + 3000);
    assert!(reset_at >= truly, "{reset_at} is before the limit ends, {truly}");
    assert!(reset_at.0 <= truly.0 + 62_000, "{reset_at} is long after the limit ends, {truly}");
    assert!(served + asked[1] >= reset_at.0, "asked before {reset_at}");
}

/// As `TZ` names one.
fn zone_with_a_minute_that_ends_in(seconds: i64) -> String {
    let behind = (60 - seconds - now() / 1000).rem_euclid(60);
    format!("ODD-0:00:{behind:02}")
}

fn now() -> i64 {
    millis(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap())
}

fn millis(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap()
}

/// A limit that ends soon is waited out, also by a windlass that comes after, and the same iteration goes on.
#[track_caller]
fn waited_out(play: &Play, zone: &str) {
    let start = || {
        let mut command = play.case.command(&["run", "--name", LOOP]);
        command.env("TZ", zone);
        play.case.home.start(command)
    };
    let mut running = start();
    let first = waiting(play, &mut running);
    assert_eq!(first["waiting"]["why"], "usage_limit", "{first:#}");
    running.kill();
    let mut again = start();
    let view = waiting(play, &mut again);
    assert_eq!(view["waiting"], first["waiting"], "killed and started again, it waits for the same moment");
    let asked = play.model_requests();
    let seen = play.case.look(again.finish(RUN));
    seen.completed();
    assert_eq!(asked, 1, "nothing is asked while it waits");
    assert_eq!(seen.log.count("iteration_opened"), 1, "{}", seen.log);
    assert_eq!(seen.task("001-add")["failures"], 0);
    let end = &seen.log.of("attempt_finished")[0]["result"]["end"];
    let time = |value: &Value| value.as_str().unwrap().parse::<Timestamp>().unwrap();
    let late = time(&first["waiting"]["until"]).0 - time(&end["reset_at"]).0;
    assert!((0..30_000).contains(&late), "{late} ms after {end}");
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
    let end = &play.case.log().of("attempt_finished")[0]["result"]["end"].clone();
    eprintln!("measured: {name} limit of hours: {end} after {} requests", play.model_requests());
    assert_eq!(end["kind"], "usage_limit", "{end}");
    let until = view["waiting"]["until"].as_str().unwrap();
    assert!(until >= end["reset_at"].as_str().unwrap(), "{until} {end}");
    assert!(running.stdout().contains("usage limit until"), "the wait is told: {}", running.stdout());
    assert_eq!(play.model_requests(), 1, "{name} is not let to try again");
    play.case.windlass(&["cancel", LOOP]).expect_code(0);
    running.finish(RUN).expect_code(5);
}
