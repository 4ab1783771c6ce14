//! Agents who do their work while something around windlass goes wrong. Nothing is switched off for these: each is
//! about what windlass makes of it, and that it names the way out.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use windlass_testkit::poll;

use super::super::after::After;
use super::super::case::{Case, Ending, Played, Setting, ensure, is_documented};
use super::super::stage::{LOOP, RUN, Scene, Stage};

const WORK: &str = "echo 42 >answer.txt\ncomplete";
/// Says that it is there, and waits for a word.
const WAIT: &str = ": >\"$told/up\"; while [ ! -e \"$told/go\" ]; do sleep 0.05; done\n";

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("F60", "works while nobody can be told of it: the log's disk is full", |stage| {
            stage.agent(WORK).wrapped("exec \"$@\" >/dev/full 2>&1")
        })
        .ends(Ending::Done)
        .got_through(|_| None),
        Case::own("F61", "is to run where a process may open few files", few_files),
        Case::own("F62", "has its workspace deleted by somebody else", workspace_gone),
        Case::own("F63", "works while the operator deletes the branch it landed on", branch_gone),
        Case::own("F64", "works while a git that was killed leaves a lock on its branch", branch_locked),
        Case::own("F65", "works while user namespaces are switched off", level_gone),
    ]
}

fn few_files(setting: &Setting) -> Played {
    let held = [12, 16, 24, 32, 48, 64].into_iter().try_for_each(|most| {
        let stage = Stage::new(setting.level, &setting.plain).agent(WORK);
        let (scene, launch) = stage.wrapped(format!("ulimit -n {most}; exec \"$@\"")).set(None);
        let ran = scene.home.start(scene.launch(&launch)).finish(RUN);
        let said = ["ulimit -n 1024", "Too many open files"].iter().any(|words| ran.stderr.contains(words));
        let done = ran.status.code() == Some(0);
        ensure(is_documented(&ran) && (done || said), || format!("{most} open files: {ran}"))
    });
    Played::control(held)
}

/// What happens when the agent has said that it is there, and what that must come to.
struct Meanwhile {
    act: fn(&Scene),
    must: fn(&After) -> Result<(), String>,
}

impl Meanwhile {
    fn play(&self, stage: Stage) -> Played {
        let told = stage.told();
        let (scene, launch) = stage.sandbox_keys(format!("extra_write = [\"{}\"]", told.display())).set(None);
        let mut running = scene.home.start(scene.launch(&launch));
        let up = poll::until(RUN, || running.has_ended() || told.join("up").exists());
        (self.act)(&scene);
        fs::write(told.join("go"), "").expect("beside the repository is room");
        let after = scene.look(running.finish(RUN), Duration::ZERO);
        let held = ensure(up && is_documented(&after.ran), || after.ran.to_string());
        let left = after.stage.survivors();
        let held = held.and_then(|()| (self.must)(&after).map_err(|why| format!("{why}\n{}", after.ran)));
        Played::control(held.and(ensure(left.is_empty(), || format!("alive after the end: {left:?}"))))
    }
}

fn workspace_gone(setting: &Setting) -> Played {
    let act = |scene: &Scene| {
        let view = scene.windlass(&["status", LOOP, "--json"]).json();
        let workspace = PathBuf::from(view["workspace"].as_str().expect("a loop at work has a workspace"));
        fs::remove_dir_all(workspace).expect("it can be removed");
    };
    let must = |after: &After| after.finding_of("the workspace was deleted");
    Meanwhile { act, must }.play(Stage::new(setting.level, &setting.plain).agent(format!("{WAIT}{WORK}")))
}

fn branch_gone(setting: &Setting) -> Played {
    let act = |scene: &Scene| {
        scene.repo.git(["branch", "--quiet", "-D", &format!("windlass/{LOOP}")]);
    };
    let must = |after: &After| paused_with(after, &format!("git branch windlass/{LOOP} "));
    let agent = format!("if [ \"$WINDLASS_TASK\" = later ]; then {WAIT}echo x >later.txt; fi\n{WORK}");
    let stage = Stage::new(setting.level, &setting.plain)
        .file("tasks/later.md", "---\ndepends_on: [answer]\n---\n# Another\n")
        .iterations(2)
        .agent(agent);
    Meanwhile { act, must }.play(stage)
}

fn branch_locked(setting: &Setting) -> Played {
    let act = |scene: &Scene| {
        let dir = scene.repo.path().join(".git/refs/heads/windlass");
        fs::create_dir_all(&dir).expect("a repository has room");
        fs::write(dir.join(format!("{LOOP}.lock")), "").expect("a repository has room");
    };
    let must = |after: &After| paused_with(after, "is locked by ");
    Meanwhile { act, must }.play(Stage::new(setting.level, &setting.plain).agent(format!("{WAIT}{WORK}")))
}

fn paused_with(after: &After, words: &str) -> Result<(), String> {
    let paused = &after.view["paused"];
    let told = paused["detail"].as_str().is_some_and(|detail| detail.contains(words));
    ensure(after.ran.status.code() == Some(6) && told, || format!("paused: {paused}"))
}

/// In a user namespace of the play's own, from which PID namespaces are taken once the agent is there.
fn level_gone(setting: &Setting) -> Played {
    if setting.level != "namespaces" {
        return Played::not_run("it is about level namespaces");
    }
    let usable = Command::new("unshare").args(["-Ur", "true"]).status().is_ok_and(|status| status.success());
    if !usable {
        return Played::not_run("there are no user namespaces to switch others off in");
    }
    let stage = Stage::new(setting.level, &setting.plain).agent(format!("{WAIT}{WORK}"));
    let told = stage.told();
    let told = told.display();
    let wrapper = format!(
        "exec unshare -Ur sh -c '\"$@\" & until [ -e {told}/up ]; do sleep 0.05; done\n\
         echo 0 >/proc/sys/user/max_pid_namespaces; : >{told}/off; wait $!' sh \"$@\""
    );
    let act = |scene: &Scene| {
        let off = scene.repo.beside("told").join("off");
        assert!(poll::until(RUN, || off.exists()), "they cannot be switched off");
    };
    let must = |after: &After| {
        let paused = &after.view["paused"];
        let right = paused["why"] == "sandbox_unavailable" && after.ran.status.code() == Some(6);
        ensure(right && after.called_done().is_none(), || format!("paused: {paused}"))
    };
    Meanwhile { act, must }.play(stage.wrapped(wrapper))
}
