//! `cargo xtask hostile`: the hostile agents, as scripts against the real
//! binary, each with every defence and without its own.

pub mod after;
mod case;
mod cases;
mod play;
mod sockets;
pub mod stage;
mod table;

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result, ensure};

use crate::args::{Extent, Hostile};
use crate::binaries;
use crate::players;
use crate::stages::Stages;
use crate::surroundings::{Surroundings, home_variables};
use crate::tally::Tally;
use crate::toolchain;
use case::{Setting, Verdict};
use table::{Cell, Count, Row};

/// The best first.
const LEVELS: [&str; 2] = ["namespaces", "landlock"];
const NOBODY: u32 = 65_534;
/// Says that this process plays for another, and where the results go.
const PLAYER: &str = "WINDLASS_HOSTILE_PLAYER";
const PAGE: &str = "docs/hostile.md";
pub const NO_LEVEL: &str = "this machine proves no level but none: `windlass doctor` says why";

pub fn run(asked: &Hostile) -> Result<ExitCode> {
    if let Some(results) = std::env::var_os(PLAYER) {
        return play_for_another(asked, Path::new(&results));
    }
    let around = Surroundings::new()?;
    let binaries = Binaries::build(&around)?;
    let levels = levels(&binaries, asked.extent);
    ensure!(!levels.is_empty(), "{NO_LEVEL}");
    let rows = rows(asked, &binaries, &levels)?;
    let count = told(&rows);
    if asked.cases.is_empty() && !asked.only_print {
        fs::write(around.root.join(PAGE), table::page(&rows)).with_context(|| format!("write {PAGE}"))?;
    }
    println!("{} not run", count.not_run);
    println!("{} passed, {} failed", count.passed, count.failed);
    Ok(if count.failed == 0 && !rows.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// One stage of several, its cases counted with the tests. The page stays as it is.
pub fn stage(around: &Surroundings, stages: &mut Stages, extent: Extent) {
    stages.run("hostile agents", |stages| {
        let asked = Hostile { extent, cases: Vec::new(), players: 3, only_print: true };
        let binaries = Binaries::build(around)?;
        let levels = levels(&binaries, extent);
        if levels.is_empty() {
            stages.not_run("hostile agents", NO_LEVEL);
            return Ok(());
        }
        let rows = rows(&asked, &binaries, &levels)?;
        let count = told(&rows);
        for line in table::not_run(&rows) {
            stages.not_run("hostile agents", &line);
        }
        stages.add(Tally { passed: count.passed, failed: count.failed });
        ensure!(count.failed == 0, "{} got through, or were not shown to work", count.failed);
        Ok(())
    });
}

/// In the order of the table.
fn rows(asked: &Hostile, binaries: &Binaries, levels: &[&'static str]) -> Result<Vec<Row>> {
    let mut rows = play_all(asked, binaries, levels);
    if asked.extent == Extent::Full && rustix::process::geteuid().is_root() {
        rows.extend(play_as_ordinary_user(asked, binaries)?);
    }
    rows.sort_by_key(|row| (order(&row.id), row.level.clone(), row.user.clone()));
    Ok(rows)
}

struct Binaries {
    plain: PathBuf,
    weakened: PathBuf,
}

impl Binaries {
    fn build(around: &Surroundings) -> Result<Self> {
        let weakened = binaries::weakened(around)?;
        Ok(Self { weakened, plain: binaries::plain(around)? })
    }
}

/// The best level that this machine proves; all that it does with `--full`.
fn levels(binaries: &Binaries, extent: Extent) -> Vec<&'static str> {
    let proven: Vec<&str> = LEVELS.into_iter().filter(|level| is_proven(&binaries.plain, level)).collect();
    for level in LEVELS.iter().filter(|level| !proven.contains(level)) {
        let why = match *level == "landlock" && rustix::process::geteuid().is_root() {
            true => "it is refused as root",
            false => "this machine does not prove it",
        };
        println!("not run: level {level}: {why}");
    }
    let wanted = if extent == Extent::Full { proven.len() } else { 1 };
    proven.into_iter().take(wanted).collect()
}

/// Whether this machine proves a level at which agents can be played at all.
pub fn has_level(windlass: &Path) -> bool {
    LEVELS.iter().any(|level| is_proven(windlass, level))
}

pub fn is_proven(windlass: &Path, level: &'static str) -> bool {
    let (scene, launch) = stage::Stage::new(level, windlass).set(None);
    let mut command = scene.launch(&launch);
    command.arg("--dry-run");
    scene.home.start(command).finish(stage::RUN).status.success()
}

fn play_all(asked: &Hostile, binaries: &Binaries, levels: &[&'static str]) -> Vec<Row> {
    let cases: Vec<case::Case> = cases::all().into_iter().filter(|case| asked.wants(case.id)).collect();
    let mut jobs: Vec<(&case::Case, &'static str)> =
        levels.iter().flat_map(|level| cases.iter().map(move |case| (case, *level))).collect();
    // By far the longest, so it begins first.
    jobs.sort_by_key(|(case, _)| case.id != "H51");
    // With two levels and two users these are 1,000 in all.
    let (kills, files) = if asked.extent == Extent::Full { (250, 200_000) } else { (40, 30_000) };
    players::play_all(&jobs, asked.players, |(case, level)| {
        let (plain, weakened) = (binaries.plain.clone(), binaries.weakened.clone());
        let row = row(case, &Setting { level, kills, files, plain, weakened });
        println!("{}", row.line());
        row
    })
}

fn row(case: &case::Case, setting: &Setting) -> Row {
    let played = play::play(case, setting);
    let cell = |verdict: Verdict| match verdict {
        Verdict::Passed => Cell::Passed,
        Verdict::Failed(why) => Cell::Failed(why),
        Verdict::NotRun(why) => Cell::NotRun(why),
        Verdict::Absent => Cell::Absent,
    };
    let user = if rustix::process::geteuid().is_root() { "root" } else { "ordinary" };
    Row {
        id: case.id.to_owned(),
        does: case.does.to_owned(),
        user: user.to_owned(),
        level: setting.level.to_owned(),
        means: played.means,
        held: cell(played.held),
        without: cell(played.without),
    }
}

/// Root passes every permission check, so all is played once more as somebody else, from a place that
/// such a user can reach.
fn play_as_ordinary_user(asked: &Hostile, binaries: &Binaries) -> Result<Vec<Row>> {
    let place = tempfile::Builder::new().prefix("windlass-user-").tempdir().context("temporary directory")?;
    let dir = place.path();
    fs::set_permissions(dir, fs::Permissions::from_mode(0o755))?;
    let bring = |file: &Path, name: &str| -> Result<PathBuf> {
        let copy = dir.join(name);
        fs::copy(file, &copy).with_context(|| format!("copy {}", file.display()))?;
        fs::set_permissions(&copy, fs::Permissions::from_mode(0o755))?;
        Ok(copy)
    };
    let player = bring(&std::env::current_exe().context("this program")?, "player")?;
    bring(&binaries.plain, "windlass")?;
    bring(&binaries.weakened, "windlass-weakened")?;
    for name in ["home", "tmp", "results"] {
        fs::create_dir(dir.join(name))?;
        chown(dir.join(name), Some(NOBODY), Some(NOBODY))?;
    }
    let results = dir.join("results/rows.json");
    let mut command = Command::new(&player);
    if let Some(cargo) = case::cargo() {
        command.env("CARGO", toolchain::for_anybody(&cargo, &dir.join("toolchain"))?);
    }
    command.args(["hostile", "--full"]).args(asked.cases.iter().flat_map(|case| ["--case", case]));
    command.current_dir(dir.join("home")).envs(home_variables(&dir.join("home")));
    command.env(PLAYER, &results).env("TMPDIR", dir.join("tmp")).env("PATH", "/usr/local/bin:/usr/bin:/bin");
    // The standard library drops root's other groups along with the user id.
    command.uid(NOBODY).gid(NOBODY);
    let status = command.status().with_context(|| format!("start {}", player.display()))?;
    let text = fs::read_to_string(&results).with_context(|| format!("the player ended with {status}"))?;
    serde_json::from_str(&text).context("what the player wrote")
}

/// The other side of [`play_as_ordinary_user`].
fn play_for_another(asked: &Hostile, results: &Path) -> Result<ExitCode> {
    let place = std::env::current_exe()?.parent().context("a program lies somewhere")?.to_owned();
    let binaries = Binaries { plain: place.join("windlass"), weakened: place.join("windlass-weakened") };
    let levels = levels(&binaries, asked.extent);
    let rows = play_all(asked, &binaries, &levels);
    fs::write(results, serde_json::to_string(&rows)?)?;
    Ok(ExitCode::SUCCESS)
}

/// In the order in which the cases are listed.
fn order(id: &str) -> usize {
    cases::all().iter().position(|case| case.id == id).unwrap_or(usize::MAX)
}

/// Says what went wrong and what could not be played.
fn told(rows: &[Row]) -> Count {
    println!();
    for failure in rows.iter().flat_map(Row::failures) {
        println!("FAILED: {failure}\n");
    }
    for line in table::not_run(rows) {
        println!("not run: {line}");
    }
    table::count(rows)
}
