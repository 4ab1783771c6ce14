//! Agents who hang, and agents who leave something running.

use std::time::{Duration, Instant};

use windlass_testkit::capability;

use crate::case::Setup;

#[test]
fn hanging_in_silence_is_stalled() {
    let case = Setup::new("while :; do sleep 1; done")
        .agent_keys("silence = \"700ms\"\ngrace = \"200ms\"")
        .limits("max_stalls = 3")
        .ready();
    let begun = Instant::now();
    let seen = case.run();
    seen.blocked("stalled");
    assert_eq!(seen.log.counted("stalls"), 3);
    let ends: Vec<_> =
        seen.log.of("attempt_finished").iter().map(|line| line["result"]["end"]["kind"].clone()).collect();
    assert_eq!(ends, ["stalled", "stalled", "stalled"]);
    for finished in seen.log.of("attempt_finished") {
        let note = finished["result"]["notes"][0].as_str().unwrap_or_default();
        assert!(note.starts_with("no output for ") && note.ends_with(" %, no file written"), "{finished}");
    }
    assert_eq!(seen.log.count("iteration_opened"), 1, "the phase is tried again in the same iteration");
    assert!(begun.elapsed() < Duration::from_secs(20), "within the limits: {:?}", begun.elapsed());
}

#[test]
fn five_stalls_are_the_default() {
    let case =
        Setup::new("while :; do sleep 1; done").agent_keys("silence = \"300ms\"\ngrace = \"100ms\"").ready();
    let seen = case.run();
    seen.blocked("stalled");
    assert_eq!(seen.log.counted("stalls"), 5);
}

#[test]
fn a_spinner_is_stalled_when_its_time_is_up() {
    let case = Setup::new("while :; do printf '\\r|'; printf '\\r/'; sleep 0.1; done")
        .timeout("1s")
        .agent_keys("silence = \"30s\"\ngrace = \"200ms\"")
        .limits("max_stalls = 2")
        .ready();
    let begun = Instant::now();
    let seen = case.run();
    seen.blocked("stalled");
    let ends: Vec<_> =
        seen.log.of("attempt_finished").iter().map(|line| line["result"]["end"]["kind"].clone()).collect();
    assert_eq!(ends, ["timed_out", "timed_out"]);
    assert!(begun.elapsed() < Duration::from_secs(20), "within the limits: {:?}", begun.elapsed());
}

#[test]
fn a_spinner_and_a_heartbeat_are_silence() {
    let script = "i=0\nwhile :; do i=$((i + 1)); printf '\\r| thinking'; echo \"still working (${i}s)\" >&2; sleep 0.1; done";
    let case = Setup::new(script)
        .agent_keys("silence = \"900ms\"\ngrace = \"200ms\"")
        .limits("max_stalls = 2")
        .ready();
    let seen = case.run();
    seen.blocked("stalled");
    for finished in seen.log.of("attempt_finished") {
        assert_eq!(finished["result"]["end"]["kind"], "stalled", "{finished}");
        let note = finished["result"]["notes"][0].as_str().unwrap_or_default();
        assert!(note.starts_with("no new output for "), "{finished}");
    }
}

#[test]
fn working_without_a_word_is_never_a_stall() {
    let script = "timeout 3 sh -c 'while :; do :; done'\n\
                  for i in 1 2 3 4 5 6 7 8; do echo $i >>answer.txt; sleep 0.3; done\n\
                  echo 42 >answer.txt\ncomplete";
    let seen = Setup::new(script).agent_keys("silence = \"1200ms\"").ready().run();
    seen.completed();
    assert_eq!(seen.log.counted("stalls"), 0);
}

#[test]
fn slow_but_active_is_never_a_stall() {
    let words = "one two three four five six seven eight";
    let script = format!("for i in {words}; do echo $i; sleep 0.3; done\necho 42 >answer.txt\ncomplete");
    let seen = Setup::new(&script).agent_keys("silence = \"1500ms\"").ready().run();
    seen.completed();
    assert_eq!(seen.log.counted("stalls"), 0);
}

#[test]
fn what_a_hanging_agent_did_is_kept_for_the_next_attempt() {
    let script = "if [ $n -eq 1 ]; then echo 42 >answer.txt; while :; do sleep 1; done; fi\n\
                  cp answer.txt \"$side/found\"\ncomplete";
    let case = Setup::new(script).agent_keys("silence = \"700ms\"\ngrace = \"200ms\"").ready();
    case.run().completed();
    assert_eq!(case.left("found").trim(), "42");
}

#[test]
fn ignoring_sigterm_ends_in_sigkill() {
    let case = Setup::new("trap '' TERM INT HUP\nwhile :; do sleep 1; done")
        .agent_keys("silence = \"500ms\"\ngrace = \"300ms\"")
        .limits("max_stalls = 2")
        .ready();
    case.run().blocked("stalled");
}

#[test]
fn a_child_that_ignores_sigterm_is_dead_before_the_snapshot() {
    let script = "(trap '' TERM INT HUP; while :; do date +%N >noise.txt; sleep 0.01; done) >/dev/null 2>&1 &\n\
                  echo 42 >answer.txt\ncomplete";
    let case = Setup::new(script).agent_keys("grace = \"300ms\"").ready();
    let seen = case.run();
    seen.completed();
    assert!(seen.log.of("attempt_finished")[0]["result"]["strays"].as_u64() >= Some(1), "{}", seen.log);
}

#[test]
fn a_child_that_forks_on_sigterm_is_dead_before_the_snapshot() {
    let script = r#"cat >"$side/hydra.sh" <<'END'
trap 'for i in 1 2 3; do sh "$0" & done' TERM INT HUP
i=0
while [ $i -lt 600 ]; do i=$((i + 1)); sleep 0.05; done
END
sh "$side/hydra.sh" >/dev/null 2>&1 &
sh "$side/hydra.sh" >/dev/null 2>&1 &
echo 42 >answer.txt
complete"#;
    let case = Setup::new(script).agent_keys("grace = \"300ms\"").ready();
    case.run().completed();
    let left = windlass_testkit::alive::carrying(&case.side().join("hydra.sh").display().to_string());
    assert!(left.is_empty(), "{left:?}");
}

/// A daemon of its own session, with neither a marked environment nor a pipe of the attempt's.
#[test]
fn a_daemon_that_rewrites_files_is_dead_before_the_snapshot() {
    if capability::program("setsid").is_none() {
        return;
    }
    let script = r#"cat >"$side/daemon.sh" <<'END'
while :; do date +%N >"$1/noise.txt"; date +%N >>"$2/beat"; sleep 0.01; done
END
env -i PATH="$PATH" setsid sh -c 'sh "$0" "$1" "$2" </dev/null >/dev/null 2>&1 &' "$side/daemon.sh" "$PWD" "$side"
while [ ! -e "$side/beat" ]; do sleep 0.01; done
echo 42 >answer.txt
complete"#;
    let case = Setup::new(script).agent_keys("grace = \"300ms\"").ready();
    let seen = case.run();
    seen.completed();
    assert!(seen.log.of("attempt_finished")[0]["result"]["strays"].as_u64() >= Some(1), "{}", seen.log);
    let left = windlass_testkit::alive::carrying(&case.side().join("daemon.sh").display().to_string());
    assert!(left.is_empty(), "{left:?}");
    let noise = std::fs::read_to_string(seen.view["workspace"].as_str().unwrap().to_owned() + "/noise.txt");
    assert_eq!(noise.unwrap().trim(), case.landed("noise.txt"), "nothing wrote after the snapshot");
}

#[test]
fn a_daemon_that_undoes_the_work_does_not_land() {
    if capability::program("setsid").is_none() {
        return;
    }
    let script = r#"setsid sh -c 'while :; do echo 0 >answer.txt; done' </dev/null >/dev/null 2>&1 &
while [ "$(cat answer.txt)" != 0 ]; do :; done
complete"#;
    Setup::new(script)
        .agent_keys("grace = \"200ms\"")
        .limits("max_no_progress = 2")
        .ready()
        .run()
        .blocked("no_progress");
}

/// Waiting for the pipe would be waiting for the grandchild.
#[test]
fn a_grandchild_that_holds_the_pipe_holds_nobody_up() {
    let script = "sh -c 'trap \"\" HUP; while :; do sleep 1; done' &\necho 42 >answer.txt\ncomplete";
    let begun = Instant::now();
    Setup::new(script).agent_keys("grace = \"300ms\"").ready().run().completed();
    assert!(begun.elapsed() < Duration::from_secs(40), "{:?}", begun.elapsed());
}

#[test]
fn a_check_past_its_timeout_is_red_and_dead() {
    let case = Setup::new("echo 42 >answer.txt\ncomplete")
        .checks("[[gate.check]]\nname = \"slow\"\nrun = \"sh ./test.sh && while :; do sleep 1; done\"\ntimeout = \"1s\"\n")
        .limits("max_no_progress = 1\nmax_task_failures = 1")
        .ready();
    let seen = case.run();
    seen.blocked("failing");
    let check = *seen.log.of("check_finished").last().unwrap();
    assert_eq!(check["result"]["timed_out"], true, "{check}");
    assert!(check["result"]["duration_ms"].as_u64() >= Some(1000), "{check}");
}

#[test]
fn a_check_that_leaves_a_process_leaves_none() {
    let case = Setup::new("echo 42 >answer.txt\ncomplete")
        .file("test.sh", format!("(while :; do sleep 1; done) >/dev/null 2>&1 &\n{}", crate::case::TEST))
        .ready();
    case.run().completed();
}
