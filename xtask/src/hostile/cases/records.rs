//! Plays that are about windlass itself: killed, without its records, without
//! a sandbox, or with an operator who tidies up meanwhile.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use windlass_testkit::{Running, alive, poll};

use super::super::case::{Case, Played, Setting, ensure};
use super::super::stage::{LOOP, Launch, RUN, Scene, Stage, put};

pub fn cases() -> Vec<Case> {
    vec![
        Case::own("H34b", "makes more files than anybody can name at once", many),
        Case::own("H48b", "passes one time in five, and is tried until it does", flaky),
        Case::own("H51", "is a forking daemon that ignores SIGTERM while windlass is killed", kills),
        Case::own("H52", "has the records truncated, damaged and taken away", damaged),
        Case::own("H53", "is to run where there are no namespaces", refused),
        Case::never("H55", "sees the clock jump while it is verified", "it would set this machine's clock"),
        Case::own(
            "X21",
            "leaves a set-uid program of root's, at a level that has no say over modes",
            set_uid,
        ),
        Case::own("X4", "works while the operator rewrites history and collects garbage", collected),
    ]
}

/// Longer than a machine under load takes for so many files.
const PATIENCE: Duration = Duration::from_secs(900);

fn many(setting: &Setting) -> Played {
    let agent = format!(
        "perl -e 'mkdir \"many\"; for $i (0..{}) {{ $d = sprintf \"many/%04d\", $i / 1000; mkdir $d unless $i % 1000; \
         open(F, \">\", \"$d/\" . (\"n\" x 100) . $i) or die $!; close F }}'\necho 42 >answer.txt\ncomplete",
        setting.files - 1
    );
    let stage = Stage::new(setting.level, &setting.plain).agent(agent).agent_keys("timeout = \"10m\"");
    let (scene, launch) = stage.set(None);
    let begun = Instant::now();
    let ran = scene.home.start(scene.launch(&launch)).finish(PATIENCE);
    let after = scene.look(ran, begun.elapsed());
    let landed = after.stage.repo.try_git(["ls-tree", "-r", "--name-only", "windlass/hostile", "many"]);
    let count = landed.stdout.iter().filter(|byte| **byte == b'\n').count();
    let refused = !after.findings.is_empty() || after.view["outcome"]["kind"] == "failed";
    let done = after.called_done().is_some() && count == setting.files;
    let changes = after.stage.changes();
    let held =
        ensure(done || refused, || format!("{count} files landed after {:?}\n{}", after.took, after.ran))
            .and(ensure(changes.is_empty(), || changes.join("; ")))
            .and(ensure(after.stage.survivors().is_empty(), || {
                "something is alive after the end".to_owned()
            }));
    let naive = after.naively("cat many/*/*");
    let without = ensure(naive.stderr.contains("too long"), || naive.to_string());
    Played::both(held, without, "shown with plain cat of all of them")
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
    Played::both(held, without, "`retry = 1`: red is tried once more")
}

/// Daemonises, ignores SIGTERM, and forks. All of it holds one lock while anything of it lives, so two agents
/// at a time find out about each other.
const HYDRA: &str = "exec 8>>\"$told/lock\"; flock -n 8 || echo two agents >>\"$told/twice\"\n\
    perl -e '$SIG{TERM} = \"IGNORE\"; fork and exit; use POSIX; setsid; fork; open(F, \">>\", $ARGV[1]); close F; sleep 1 while 1' \"$side/hydra\" \"$told/up\" </dev/null >/dev/null 2>&1 &\n\
    trap '' TERM\nsleep 0.5\necho $turn >n\ncomplete";

fn hydra(stage: Stage) -> Stage {
    let write = format!("extra_write = [\"{}\"]", stage.told().display());
    stage.agent(HYDRA).sandbox_keys(write).unlimited().iterations(3)
}

fn kills(setting: &Setting) -> Played {
    let held = kill_at_random(setting);
    let without = {
        let (scene, launch) = hydra(Stage::new(setting.level, &setting.weakened)).set(Some("pid".to_owned()));
        let mut running = scene.home.start(scene.launch(&launch));
        let side = scene.repo.beside("side").join("hydra").display().to_string();
        let sign = scene.repo.beside("told").join("up");
        let up = poll::until(Duration::from_secs(20), || running.has_ended() || sign.exists());
        drop(running.kill());
        let left = alive::left_after(Duration::from_secs(2), &side);
        scene.end_survivors();
        ensure(up && !left.is_empty(), || "nothing outlived the killed windlass".to_owned())
    };
    Played::both(held, without, "`pid`")
}

fn kill_at_random(setting: &Setting) -> Result<(), String> {
    let mut chance = Chance(0x9e37_79b9);
    let (mut killed, mut at_work) = (0, 0);
    while killed < setting.kills {
        let (scene, launch) = hydra(Stage::new(setting.level, &setting.plain)).set(None);
        let mut dying = Vec::new();
        for _ in 0..10 {
            let running = scene.home.start(scene.launch(&launch));
            gone(&scene, &dying)?;
            let Some(met) = kill(&scene, running, &mut chance) else { break };
            killed += 1;
            at_work += usize::from(met.agent);
            dying = met.alive;
            // Otherwise the next one is started at once, while this one's may still be dying.
            if chance.of(2) == 0 {
                let left = scene.survivors();
                ensure(left.is_empty(), || format!("alive 2 s after the kill: {left:?}"))?;
            }
        }
        let ran = scene.home.start(scene.launch(&launch)).finish(RUN);
        let after = scene.look(ran, Duration::ZERO);
        ensure(!after.view.is_null() && after.called_done().is_none(), || after.ran.to_string())?;
        let twice = after.stage.repo.beside("told").join("twice");
        ensure(!twice.exists(), || "two agents were in one workspace".to_owned())?;
        let left = after.stage.survivors();
        ensure(left.is_empty(), || format!("alive 2 s after the end: {left:?}"))?;
        let changes = after.stage.changes();
        ensure(changes.is_empty(), || changes.join("; "))?;
    }
    // Kills that never meet an agent would show nothing.
    ensure(at_work * 4 >= killed, || format!("only {at_work} of {killed} kills met an agent at work"))
}

/// The same numbers in every run.
struct Chance(u64);

impl Chance {
    fn of(&mut self, many: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % many
    }
}

/// What was there when windlass was killed.
struct Met {
    agent: bool,
    alive: Vec<u32>,
}

/// Half of the time at any moment, half of the time when an agent is at work. `None`: it had ended before.
fn kill(scene: &Scene, mut running: Running, chance: &mut Chance) -> Option<Met> {
    let scripts = scene.repo.beside("side").display().to_string();
    let agents = || alive::carrying(&scripts);
    let most = if chance.of(2) == 0 {
        let met = poll::until(RUN, || running.has_ended() || !agents().is_empty());
        assert!(met, "no agent was started");
        250
    } else {
        900
    };
    let end = Instant::now() + Duration::from_millis(chance.of(most));
    assert!(poll::until(RUN, || running.has_ended() || Instant::now() >= end), "a moment passes");
    let agent = !agents().is_empty();
    let alive =
        scene.tokens().iter().flat_map(|token| alive::carrying(token)).map(|found| found.id).collect();
    let killed = !running.has_ended();
    drop(running.kill());
    killed.then_some(Met { agent, alive })
}

/// None of those lives on beside the windlass that was started after them.
fn gone(scene: &Scene, dying: &[u32]) -> Result<(), String> {
    let still = || {
        let all = scene.tokens().into_iter().flat_map(|token| alive::carrying(&token));
        all.filter(|process| dying.contains(&process.id)).collect::<Vec<_>>()
    };
    let gone = dying.is_empty() || poll::until(Duration::from_secs(2), || still().is_empty());
    ensure(gone, || format!("alive 2 s after the kill: {:?}", still()))
}

/// Damage to what a finished drive left, and to what a killed one did; each is refused, and nothing begins anew.
fn damaged(setting: &Setting) -> Played {
    let finished = |how: fn(&Path)| refuses(&end(setting, Drive::Finished), how);
    let killed = |how: fn(&Path)| refuses(&end(setting, Drive::Killed), how);
    let mut held = Ok(());
    for how in
        [flip as fn(&Path), |state| each(state, |bytes| bytes.truncate(40)), |state| each(state, Vec::clear)]
    {
        held = held.and_then(|()| finished(how)).and_then(|()| killed(how));
    }
    for how in [remove_log as fn(&Path), |state| log(state, Vec::clear), |state| log(state, halve), flip_log]
    {
        held = held.and_then(|()| killed(how));
    }
    held = held.and_then(|()| finished(remove_all)).and_then(|()| finished(remove_database));
    let without = believed(&end(setting, Drive::Killed)).and_then(|()| {
        let (scene, launch) = end(setting, Drive::Finished);
        remove_all(&scene.home.state());
        remove_trail(&scene);
        let again = scene.home.start(scene.launch(&launch)).finish(RUN);
        ensure(again.status.code() == Some(4), || format!("it did not begin anew: {again}"))
    });
    Played::both(
        held,
        without,
        "no receipts: an older state is believed; no vault and no trail: a new loop begins",
    )
}

#[derive(Clone, Copy)]
enum Drive {
    Finished,
    /// Killed while its agent worked, with the newest records in the write-ahead log alone.
    Killed,
}

fn end(setting: &Setting, drive: Drive) -> (Scene, Launch) {
    let agent = match drive {
        Drive::Finished => "complete",
        Drive::Killed => "sleep 600",
    };
    let (scene, launch) = Stage::new(setting.level, &setting.plain).agent(agent).set(None);
    match drive {
        Drive::Finished => drop(scene.home.start(scene.launch(&launch)).finish(RUN)),
        Drive::Killed => kill_at_work(&scene, &launch),
    }
    (scene, launch)
}

fn kill_at_work(scene: &Scene, launch: &Launch) {
    let running = scene.home.start(scene.launch(launch));
    let scripts = scene.repo.beside("side").display().to_string();
    let at_work = poll::until(RUN, || !alive::carrying(&scripts).is_empty());
    assert!(at_work, "the agent never began");
    drop(running.kill());
}

fn refuses((scene, launch): &(Scene, Launch), how: fn(&Path)) -> Result<(), String> {
    let sound = scene.windlass(&["status", LOOP]);
    ensure(sound.status.code() == Some(0), || format!("refused before the damage: {sound}"))?;
    how(&scene.home.state());
    for told in [
        scene.windlass(&["status", LOOP]),
        scene.windlass(&["list"]),
        scene.home.start(scene.launch(launch)).finish(RUN),
    ] {
        ensure(told.status.code() == Some(1) && told.stderr.contains("restore"), || told.to_string())?;
    }
    Ok(())
}

/// Without its receipts, a vault whose write-ahead log is gone tells of an earlier time:
/// of the last process that closed it in good order.
fn believed((scene, launch): &(Scene, Launch)) -> Result<(), String> {
    scene.windlass(&["note", LOOP, "closed in good order"]);
    kill_at_work(scene, launch);
    let events = || scene.windlass(&["log", LOOP, "--json"]).stdout.lines().count();
    let before = events();
    let state = scene.home.state();
    remove_log(&state);
    below(&state, &|path| path.ends_with("receipts"), &|path| remove(path));
    let status = scene.windlass(&["status", LOOP]);
    let now = events();
    ensure(status.status.code() == Some(0) && (1..before).contains(&now), || {
        format!("{now} of {before} events\n{status}")
    })
}

fn flip(state: &Path) {
    each(state, |bytes| bytes.iter_mut().take(4096).for_each(|byte| *byte ^= 0x5a));
}

/// A checksum that fails ends the log for SQLite, without a word.
fn flip_log(state: &Path) {
    log(state, |bytes| bytes.iter_mut().skip(32).step_by(97).for_each(|byte| *byte ^= 0x5a));
}

fn halve(bytes: &mut Vec<u8>) {
    bytes.truncate(bytes.len() / 2);
}

fn remove_log(state: &Path) {
    below(state, &is_log, &|path| remove(path));
}

/// The database and whatever says that there was one; the vault's snapshots stay.
fn remove_database(state: &Path) {
    let is_record = |path: &Path| is_database(path) || path.ends_with("marker") || path.ends_with("receipts");
    below(state, &is_record, &|path| remove(path));
}

fn remove_all(state: &Path) {
    let all = state.join("windlass");
    fs::remove_dir_all(&all).unwrap_or_else(|error| panic!("remove {}: {error}", all.display()));
}

fn remove_trail(scene: &Scene) {
    let trail = scene.repo.path().join(".windlass");
    fs::remove_dir_all(&trail).unwrap_or_else(|error| panic!("remove {}: {error}", trail.display()));
}

fn remove(path: &Path) {
    fs::remove_file(path).unwrap_or_else(|error| panic!("remove {}: {error}", path.display()));
}

fn is_database(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().contains("windlass.db"))
}

fn is_log(path: &Path) -> bool {
    path.ends_with("windlass.db-wal")
}

/// Changes the database and its write-ahead log.
fn each(dir: &Path, change: fn(&mut Vec<u8>)) {
    below(dir, &is_database, &|path| rewrite(path, change));
}

fn log(dir: &Path, change: fn(&mut Vec<u8>)) {
    below(dir, &is_log, &|path| rewrite(path, change));
}

fn rewrite(path: &Path, change: fn(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).unwrap_or_default();
    change(&mut bytes);
    fs::write(path, bytes).unwrap_or_else(|error| panic!("write {}: {error}", path.display()));
}

/// Does this to every file of a kind, of which there must be one.
fn below(dir: &Path, is_meant: &dyn Fn(&Path) -> bool, act: &dyn Fn(&Path)) {
    let mut found = 0;
    let mut open = vec![dir.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                open.push(path);
            } else if is_meant(&path) {
                act(&path);
                found += 1;
            }
        }
    }
    assert!(found > 0, "nothing to damage below {}", dir.display());
}

/// A user namespace in which no further namespace may be made.
const NO_NAMESPACES: &str = "exec unshare -Ur sh -c 'for f in user pid mnt net ipc uts; do echo 0 >/proc/sys/user/max_${f}_namespaces; done; exec \"$@\"' sh \"$@\"";

fn refused(setting: &Setting) -> Played {
    if setting.level != "namespaces" {
        return Played::not_run("it is about level namespaces");
    }
    let usable = Command::new("unshare").args(["-Ur", "true"]).status().is_ok_and(|status| status.success());
    if !usable {
        return Played::not_run("there are no user namespaces to forbid further ones in");
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
    Played::both(held, without, "level `none`: it runs unconfined")
}

/// Whatever level the suite plays at: this one is refused to root.
fn set_uid(setting: &Setting) -> Played {
    if !rustix::process::geteuid().is_root() {
        return Played::not_run("no ordinary user can leave a program of root's");
    }
    let play = |binary: &Path, weakened: Option<String>| {
        let stage = Stage::new("landlock", binary).agent("chmod 4755 \"$outside/shell\"\ncomplete");
        let shell = stage.outside().join("shell");
        put(&shell, "#!/bin/sh\n");
        let (scene, launch) = stage.set(weakened);
        let after = scene.run(&launch);
        let mode = fs::metadata(&shell).expect("it was put there").permissions().mode();
        (after.ran, mode & 0o4000 != 0)
    };
    let (ran, is_set_uid) = play(&setting.plain, None);
    let refused = ran.status.code() == Some(1) && ran.stderr.contains("refused as root");
    let held = ensure(refused && !is_set_uid, || ran.to_string());
    let (ran, is_set_uid) = play(&setting.weakened, Some("root".to_owned()));
    let without = ensure(is_set_uid, || ran.to_string());
    Played::both(held, without, "`root`")
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
    Played::both(held, broken, "shown with a clone that borrows objects")
}
