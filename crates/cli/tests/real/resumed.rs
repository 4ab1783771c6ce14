//! `resume = true`: a second attempt at a task goes on with the conversation of the first.

use std::fs;
use std::path::Path;

use crate::case::LOOP;
use crate::play::{NOT_REVIEWED, Play, Rest, cli, of_each, serve};

/// A first attempt that is red, and a second that mends it.
pub const SCRIPT: &str = r#"
[[rule]]
name = "first"
attempt = 1
turns = [
  { say = "I think it is a matter of subtraction.", run = "echo 'echo $(($1 - $2))' > add.sh" },
  { report = { nonce = "$nonce", status = "complete", summary = "done" } },
]
[[rule]]
name = "second"
turns = [
  { run = "echo 'echo $(($1 + $2))' > add.sh" },
  { report = { nonce = "$nonce", status = "complete", summary = "done" } },
]
"#;
const FIRST_WORDS: &str = "a matter of subtraction";
/// Of the task's text.
const TASK_WORDS: &str = "add.sh 2 3` prints 5";

fn resuming(name: &'static str) -> Option<Play> {
    let agent = cli(name)?;
    let server = serve(SCRIPT);
    let agents = agent.keys(&server);
    let rest = Rest { agent: "resume = true\n", review: NOT_REVIEWED, limits: "" };
    Some(Play::one_task(server, &agents, &rest))
}

pub fn second_knows_the_first(play: &Play) -> bool {
    let asked = play.asked("second");
    assert!(!asked.is_empty());
    asked.iter().all(|seen| seen.body.to_string().contains(FIRST_WORDS))
}

of_each!(goes_on);

/// A conversation goes on, and is counted once.
#[track_caller]
fn goes_on(name: &'static str) {
    let Some(play) = resuming(name) else { return };
    let seen = play.run();
    seen.completed();
    assert_eq!(seen.task("001-add")["attempts"], 2);
    assert!(second_knows_the_first(&play), "{name} began afresh");
    let first = &play.asked("second")[0].body.to_string();
    assert_eq!(first.matches(TASK_WORDS).count(), 1, "{name} is told the task once: {first}");
    play.usage_is_the_servers();
}

of_each!(begins_afresh);

/// A conversation that is gone begins afresh, and it is said so.
#[track_caller]
fn begins_afresh(name: &'static str) {
    let Some(play) = resuming(name) else { return };
    second_begins_afresh(&play, &kept(name));
    play.usage_is_the_servers();
}

/// The second attempt, when the directory with the conversations is gone after the first.
#[track_caller]
pub fn second_begins_afresh(play: &Play, kept: &str) {
    play.case.windlass(&["run", "--name", LOOP, "--max", "1"]).expect_code(0);
    let mut removed = 0;
    remove(&play.case.home.state(), kept, &mut removed);
    assert!(removed > 0, "no {kept} in the loop's state");
    play.case.windlass(&["run", "--name", LOOP]).expect_code(0);
    play.case.windlass(&["prove", LOOP]).expect_code(0);
    assert!(!second_knows_the_first(play), "it knows what is gone");
    assert!(play.asked("second")[0].body.to_string().contains(TASK_WORDS), "and is told the task anew");
    let notes = play.case.log().of("attempt_finished")[1]["result"]["notes"].to_string();
    assert!(notes.contains("began afresh"), "{notes}");
}

/// The directory with an agent's conversations.
fn kept(name: &str) -> String {
    match name {
        "opencode" => ".local".to_owned(),
        _ => format!(".{name}"),
    }
}

fn remove(dir: &Path, name: &str, removed: &mut usize) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        if path.ends_with(name) {
            fs::remove_dir_all(&path).unwrap();
            *removed += 1;
        } else {
            remove(&path, name, removed);
        }
    }
}
