//! Plays that are about windlass itself: killed, without its records, without
//! a sandbox, or with an operator who tidies up meanwhile.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use windlass_testkit::{alive, poll};

use super::super::case::{Case, Played, Setting, Verdict};
use super::super::stage::{LOOP, Launch, RUN, Scene, Stage};

pub fn cases() -> Vec<Case> {
    vec![
        Case::own("H48", "passes one time in five, and is tried until it does", flaky),
        Case::own("H51", "is a forking daemon that ignores SIGTERM while windlass is killed", kills),
        Case::own("H52", "has the records truncated, damaged and taken away", damaged),
        Case::own("H53", "is to run where there are no namespaces", refused),
        Case::never("H55", "sees the clock jump while it is verified", "it would set this machine's clock"),
        Case::own("X4", "works while the operator rewrites history and collects garbage", collected),
    ]
}

fn both(held: Result<(), String>, without: Result<(), String>, means: &str) -> Played {
    Played { held: Verdict::of(held), without: Verdict::of(without), means: means.to_owned() }
}

fn ensure(holds: bool, why: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(why()) }
}

/// A policy that would run a check until it is green is refused; one more try is the most there is.
fn flaky(setting: &Setting) -> Played {
    let try_with = |retry: u32| {
        let checks = format!("[[gate.check]]\nname = \"test\"\nrun = \"sh ./test.sh\"\nretry = {retry}\n");
        let stage =
            Stage::new(setting.level, &setting.plain).checks(checks).agent("echo 41 >answer.txt\ncomplete");
        let (scene, launch) = stage.set(None);
        scene.run(&launch)
    };
    let after = try_with(5);
    let held = ensure(after.ran.status.code() == Some(2) && after.view.is_null(), || after.ran.to_string());
    let after = try_with(1);
    let runs = after.events("check_finished").len();
    let without =
        ensure(after.ran.status.code() == Some(4) && runs >= 3, || format!("{runs} runs\n{}", after.ran));
    both(held, without, "`retry = 1`: red is tried once more")
}

/// Daemonises, ignores SIGTERM, and forks; two of them in one workspace find out about each other.
const HYDRA: &str = "exec 8<.; flock -n 8 || echo two agents >twice\n\
    perl -e '$SIG{TERM} = \"IGNORE\"; fork and exit; use POSIX; setsid; fork; sleep 1 while 1' \"$side/hydra\" </dev/null >/dev/null 2>&1 &\n\
    trap '' TERM\nsleep 0.3\necho $turn >n\ncomplete";

fn hydra(stage: Stage) -> Stage {
    stage.agent(HYDRA).iterations(3)
}

fn kills(setting: &Setting) -> Played {
    let held = kill_at_random(setting);
    let without = {
        let (scene, launch) = hydra(Stage::new(setting.level, &setting.weakened)).set(Some("pid".to_owned()));
        let mut running = scene.home.start(scene.launch(&launch));
        let side = scene.repo.beside("side").join("hydra").display().to_string();
        let up = poll::until(Duration::from_secs(20), || {
            running.has_ended() || !alive::carrying(&side).is_empty()
        });
        drop(running.kill());
        let left = alive::left_after(Duration::from_secs(2), &side);
        scene.end_survivors();
        ensure(up && !left.is_empty(), || "nothing outlived the killed windlass".to_owned())
    };
    both(held, without, "`pid`")
}

fn kill_at_random(setting: &Setting) -> Result<(), String> {
    let mut seed = 0x9e37_79b9_u64;
    let mut killed = 0;
    while killed < setting.kills {
        let (scene, launch) = hydra(Stage::new(setting.level, &setting.plain)).set(None);
        for _ in 0..10 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let moment = Duration::from_millis(30 + (seed >> 33) % 900);
            match kill_after(&scene, &launch, moment)? {
                true => killed += 1,
                false => break,
            }
        }
        let ran = scene.home.start(scene.launch(&launch)).finish(RUN);
        let after = scene.look(ran, Duration::ZERO);
        ensure(!after.view.is_null() && after.called_done().is_none(), || after.ran.to_string())?;
        ensure(after.left("twice").is_empty(), || "two agents were in one workspace".to_owned())?;
        let changes = after.stage.changes();
        ensure(changes.is_empty(), || changes.join("; "))?;
    }
    Ok(())
}

/// Whether it was killed, and not at its end already.
fn kill_after(scene: &Scene, launch: &Launch, moment: Duration) -> Result<bool, String> {
    let mut running = scene.home.start(scene.launch(launch));
    let end = Instant::now() + moment;
    let over = poll::until(RUN, || running.has_ended() || Instant::now() >= end);
    let killed = over && !running.has_ended();
    drop(running.kill());
    let left = scene.survivors();
    ensure(left.is_empty(), || format!("alive 2 s after the kill: {left:?}"))?;
    Ok(killed)
}

fn damaged(setting: &Setting) -> Played {
    let damage = |how: fn(&Path)| {
        let (scene, launch) = Stage::new(setting.level, &setting.plain).agent("complete").set(None);
        let after = scene.run(&launch);
        how(&after.stage.home.state());
        let status = after.stage.windlass(&["status", LOOP]);
        (status, after.stage.home.start(after.stage.launch(&launch)).finish(RUN))
    };
    let refused = |how: fn(&Path)| {
        let (status, again) = damage(how);
        let refused = status.status.code() == Some(1) && again.status.code() == Some(1);
        ensure(refused && again.stderr.contains("restore"), || format!("{status}\n{again}"))
    };
    let held =
        refused(|state| each(state, |bytes| bytes.iter_mut().take(4096).for_each(|byte| *byte ^= 0x5a)))
            .and(refused(|state| each(state, |bytes| bytes.truncate(40))))
            .and(refused(|state| each(state, Vec::clear)));
    let (_, again) = damage(|state| {
        let all = state.join("windlass");
        fs::remove_dir_all(&all).unwrap_or_else(|error| panic!("remove {}: {error}", all.display()));
    });
    let lost = ensure(again.status.code() == Some(4), || format!("it did not begin anew: {again}"));
    both(held, lost, "the whole vault gone: a new loop begins")
}

/// Changes the database and its write-ahead log.
fn each(dir: &Path, change: fn(&mut Vec<u8>)) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            each(&path, change);
        } else if path.file_name().is_some_and(|name| name.to_string_lossy().contains(".db")) {
            let mut bytes = fs::read(&path).unwrap_or_default();
            change(&mut bytes);
            fs::write(&path, bytes).unwrap_or_else(|error| panic!("write {}: {error}", path.display()));
        }
    }
}

/// A user namespace in which no further namespace may be made.
const NO_NAMESPACES: &str = "exec unshare -Ur sh -c 'for f in user pid mnt net ipc uts; do echo 0 >/proc/sys/user/max_${f}_namespaces; done; exec \"$@\"' sh \"$@\"";

fn refused(setting: &Setting) -> Played {
    if setting.level != "namespaces" {
        let not_run = || Verdict::NotRun("it is about level namespaces".to_owned());
        return Played { held: not_run(), without: not_run(), means: String::new() };
    }
    let usable = Command::new("unshare").args(["-Ur", "true"]).status().is_ok_and(|status| status.success());
    if !usable {
        let not_run = || Verdict::NotRun("there are no user namespaces to forbid further ones in".to_owned());
        return Played { held: not_run(), without: not_run(), means: String::new() };
    }
    let stage = |level| {
        let stage =
            Stage::new(level, &setting.plain).agent("echo 42 >answer.txt\ncomplete").wrapped(NO_NAMESPACES);
        let (scene, launch) = stage.set(None);
        scene.run(&launch)
    };
    let after = stage("namespaces");
    let said = after.ran.stderr.clone() + &after.ran.stdout;
    let held = ensure(after.ran.status.code() == Some(1), || after.ran.to_string())
        .and(ensure(said.contains("sandbox.minimum") && after.view.is_null(), || said.clone()));
    let after = stage("none");
    let without = ensure(after.called_done().is_some(), || after.ran.to_string());
    both(held, without, "level `none`: it runs unconfined")
}

/// The base disappears from the operator's repository while an agent works on it.
fn collected(setting: &Setting) -> Played {
    let stage = Stage::new(setting.level, &setting.plain);
    let told = stage.told();
    let read = format!("extra_read = [\"{}\"]", told.display());
    let agent = "while [ ! -e \"$told/go\" ]; do sleep 0.05; done\necho 42 >answer.txt\ncomplete";
    let (scene, launch) = stage.agent(agent).sandbox_keys(read).set(None);
    let borrowing = told.join("borrowing");
    let from = scene.repo.path().display().to_string();
    scene.repo.git(["clone", "--quiet", "--shared", &from, &borrowing.display().to_string()]);
    let running = scene.home.start(scene.launch(&launch));
    let scripts = scene.repo.beside("side").display().to_string();
    let at_work = poll::until(RUN, || !alive::carrying(&scripts).is_empty());
    scene.repo.git(["commit", "--quiet", "--amend", "-m", "another first"]);
    scene.repo.git(["reflog", "expire", "--expire=now", "--all"]);
    scene.repo.git(["gc", "--quiet", "--prune=now"]);
    let whole = |dir: &Path| {
        let mut git = Command::new("git");
        git.arg("-C").arg(dir).args(["rev-list", "--objects", "HEAD"]);
        git.output().is_ok_and(|ran| ran.status.success())
    };
    let broken = ensure(!whole(&borrowing), || "the borrowing clone is whole".to_owned());
    fs::write(told.join("go"), "").expect("beside the repository is room");
    let ran = running.finish(RUN);
    let after = scene.look(ran, Duration::ZERO);
    let landed = after.stage.repo.try_git(["rev-list", "--objects", "windlass/hostile"]);
    let held = ensure(at_work && after.called_done().is_some(), || after.ran.to_string())
        .and(ensure(landed.status.success(), || "objects are missing from what landed".to_owned()));
    both(held, broken, "shown with a clone that borrows objects")
}
