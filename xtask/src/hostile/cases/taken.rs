//! Agents who wait for the operator: what their work does when it is taken.

use std::fs;
use std::path::PathBuf;

use super::super::after::After;
use super::super::case::{Case, Played, Setting, ensure};
use super::super::play;
use super::super::stage::{LOOP, Stage};
use super::gate::PROTECT;

pub fn cases() -> Vec<Case> {
    vec![
        Case::own(
            "X5b",
            "plants a trail for the operator to take, and one of a loop that never was",
            planted,
        ),
        Case::own("X14", "names a file so that a git filter of the operator runs on it", filtered),
    ]
}

/// A filter that is the operator's own, for files of a kind; the agent made one.
fn filtered(setting: &Setting) -> Played {
    let take = |flags: &[&str]| {
        let agent = "echo 42 >answer.txt\necho 'of its choice' >'chosen by the agent.dat'\ncomplete";
        let (scene, launch) = Stage::new(setting.level, &setting.plain).agent(agent).set(None);
        let after = scene.run(&launch);
        let ran_on = after.stage.outside().join("filtered");
        let (repo, smudge) =
            (&after.stage.repo, format!("sh -c 'echo \"$1\" >>{}; cat' sh %f", ran_on.display()));
        repo.git(["config", "filter.own.smudge", &smudge]);
        let info = repo.path().join(".git/info");
        fs::create_dir_all(&info).expect("a repository has room");
        fs::write(info.join("attributes"), "*.dat filter=own\n").expect("a repository has room");
        let words: Vec<&str> = ["take", LOOP].iter().chain(flags).copied().collect();
        let took = after.stage.windlass(&words);
        let done = ensure(after.called_done().is_some(), || after.ran.to_string());
        done.map(|()| (took, fs::read_to_string(ran_on).unwrap_or_default()))
    };
    let held = take(&[]).and_then(|(took, ran_on)| {
        let told = ["your git filter own", "chosen by the agent.dat", "--run-filters"];
        let told = told.iter().all(|words| took.stderr.contains(words));
        ensure(ran_on.is_empty(), || format!("it ran on {ran_on}"))
            .and(ensure(took.status.code() == Some(1) && told, || took.to_string()))
    });
    let without = take(&["--run-filters"]).and_then(|(took, ran_on)| {
        ensure(ran_on.contains("chosen by the agent.dat"), || format!("it ran on {ran_on:?}\n{took}"))
    });
    Played::both(held, without, "`--run-filters`")
}

const FORGED: &str = "completed (proven), says the agent";

/// A state that looks like one of this project's own, of a loop that is on no record.
fn planting(stage: Stage) -> Stage {
    let agent = format!(
        "echo 42 >answer.txt\nmkdir -p .windlass/loops/{LOOP} .windlass/loops/ghost\n\
         echo '{FORGED}' >.windlass/loops/{LOOP}/status.txt\n\
         printf '{{\"workspace\":\"%s/ghost\",\"loop\":\"ghost\"}}' \"$(dirname \"$PWD\")\" >.windlass/loops/ghost/state.json\n\
         complete"
    );
    stage.agent(agent)
}

/// Twice over: it does not land; and where it did, `take` puts it nowhere and nothing is blocked by it.
fn planted(setting: &Setting) -> Played {
    let refused = play::defended(planting, setting);
    let landed = play::weakened(planting, setting, PROTECT);
    let held = ensure(refused.called_done().is_none(), || "the loop was called done".to_owned())
        .and_then(|()| refused.finding_about(".windlass/loops/ghost/state.json"))
        .and_then(|()| unharmed(&refused))
        .and_then(|()| not_taken(&landed))
        .and_then(|()| unharmed(&landed));
    let without = merged(&landed);
    Played::both(held, without, "shown with plain git merge of what landed")
}

fn not_taken(after: &After) -> Result<(), String> {
    ensure(after.called_done().is_some(), || format!("it did not land: {}", after.ran))?;
    let took = after.stage.windlass(&["take", LOOP]);
    ensure(took.status.code() == Some(1) && took.stderr.contains("changes .windlass"), || took.to_string())
}

/// The trail is windlass's own, and every command answers.
fn unharmed(after: &After) -> Result<(), String> {
    let told = fs::read_to_string(status_file(after)).unwrap_or_default();
    ensure(!told.is_empty() && !told.contains(FORGED), || format!("the trail says {told:?}"))?;
    ensure(!trail(after).join("loops/ghost").exists(), || "the forged loop is in the trail".to_owned())?;
    answers(after)
}

fn answers(after: &After) -> Result<(), String> {
    for words in [
        &["list"][..],
        &["status", LOOP],
        &["log", LOOP],
        &["findings", LOOP],
        &["run", "--dry-run", "--name", "other"],
    ] {
        let ran = after.stage.windlass(words);
        ensure(ran.status.code() == Some(0), || format!("{words:?}: {ran}"))?;
    }
    Ok(())
}

/// Git takes the trail for ignored files, of which it keeps none. Under version control it is nobody's history;
/// otherwise it is one that windlass does not know.
fn merged(after: &After) -> Result<(), String> {
    let branch = format!("windlass/{LOOP}");
    after.stage.repo.git(["merge", "--quiet", "--ff-only", &branch]);
    let told = fs::read_to_string(status_file(after)).unwrap_or_default();
    ensure(told.contains(FORGED), || format!("the trail says {told:?}"))?;
    answers(after)?;
    after.stage.repo.git(["rm", "-r", "--quiet", "--cached", ".windlass"]);
    let ran = after.stage.windlass(&["status", LOOP]);
    ensure(ran.status.code() == Some(1), || ran.to_string())
}

fn trail(after: &After) -> PathBuf {
    after.stage.repo.path().join(".windlass")
}

fn status_file(after: &After) -> PathBuf {
    trail(after).join("loops").join(LOOP).join("status.txt")
}
