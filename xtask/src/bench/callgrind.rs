//! Instruction counts: they do not depend on what else the machine does, so a
//! rise of two percent is a fact. They do depend on the compiler, which the
//! committed file names; counts of another one are not compared.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use super::Baseline;
use super::programs::Programs;
use super::project::{Project, finish};
use crate::stages::Stages;

const RISE_PERCENT: u64 = 2;

/// Something whose instructions are counted.
pub struct Counted {
    pub name: &'static str,
    pub work: Work,
}

pub enum Work {
    /// An example that takes how often it is to repeat its work as its last
    /// word. What one repeat adds is what counts, so that starting up and
    /// preparing does not.
    Example { program: &'static str, args: &'static [&'static str] },
    /// A whole `windlass status` of a small loop that has ended.
    Status,
}

pub type Counts = BTreeMap<String, u64>;

pub fn count_all(valgrind: &Path, all: &[Counted], programs: &Programs) -> Result<Counts> {
    let mut counts = Counts::new();
    for Counted { name, work } in all {
        let count = match work {
            Work::Example { program, args } => {
                let program = programs.example(program)?;
                let of = |repeats| least(|| count(valgrind, &program, &[*args, &[repeats]].concat()));
                of("2")?.saturating_sub(of("1")?)
            }
            Work::Status => least(|| status(valgrind, programs))?,
        };
        println!("{name}: {count} instructions");
        counts.insert((*name).to_owned(), count);
    }
    Ok(counts)
}

/// Of three runs: threads that wait for one another, and hash maps with seeds of
/// their own, add a little by chance.
fn least(count: impl Fn() -> Result<u64>) -> Result<u64> {
    Ok(count()?.min(count()?).min(count()?))
}

fn status(valgrind: &Path, programs: &Programs) -> Result<u64> {
    let dir = tempfile::tempdir().context("temporary directory")?;
    let project = Project::small(dir.path(), &programs.windlass, 3)?;
    finish(project.run())?;
    counted(|options| project.watched(valgrind, options, &["status", "bench", "--json"]))
}

/// The instructions of one run of a program, its children not included.
fn count(valgrind: &Path, program: &Path, args: &[&str]) -> Result<u64> {
    counted(|options| {
        let mut command = Command::new(valgrind);
        command.args(options).arg(program).args(args).stdin(Stdio::null());
        command
    })
}

fn counted(command: impl FnOnce(&[&str]) -> Command) -> Result<u64> {
    let file = tempfile::NamedTempFile::new().context("temporary file")?;
    let out = format!("--callgrind-out-file={}", file.path().display());
    let mut command = command(&["--quiet", "--tool=callgrind", &out]);
    let status = command.stdout(Stdio::null()).status().with_context(|| format!("start {command:?}"))?;
    if !status.success() {
        bail!("{command:?}: {status}");
    }
    let profile = fs::read_to_string(file.path()).context("callgrind's output")?;
    total(&profile).with_context(|| format!("{command:?} wrote no total"))
}

/// Compares with the committed counts, or replaces them.
pub fn settle(file: &Path, counts: &Counts, baseline: Baseline, stages: &mut Stages) -> Result<()> {
    let compiler = compiler()?;
    if baseline == Baseline::Rewrite {
        return fs::write(file, written(&compiler, counts))
            .with_context(|| format!("write {}", file.display()));
    }
    let text = fs::read_to_string(file).with_context(|| format!("read {}", file.display()))?;
    let (made_with, committed) = read(&text).with_context(|| format!("{}", file.display()))?;
    if made_with != compiler {
        let why = format!("the committed counts are of {made_with:?}, this is {compiler:?}");
        stages.not_run("comparison of instruction counts", &why);
        return Ok(());
    }
    let risen = risen(&committed, counts);
    if risen.is_empty() { Ok(()) } else { bail!("{}; --rebaseline accepts it", risen.join("; ")) }
}

fn risen(committed: &Counts, counts: &Counts) -> Vec<String> {
    let judge = |(name, count): (&String, &u64)| {
        let Some(before) = committed.get(name) else { return Some(format!("{name} has no committed count")) };
        let risen = count * 100 > before * (100 + RISE_PERCENT);
        let percent = (*count as f64 / *before as f64 - 1.0) * 100.0;
        risen.then(|| format!("{name} rose by {percent:.1} %: {before} -> {count}"))
    };
    counts.iter().filter_map(judge).collect()
}

fn written(compiler: &str, counts: &Counts) -> String {
    let lines = counts.iter().map(|(name, count)| format!("{name} {count}\n"));
    format!("# {compiler}\n{}", lines.collect::<String>())
}

fn read(text: &str) -> Result<(String, Counts)> {
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    let compiler = first.strip_prefix("# ").context("the first line does not name the compiler")?;
    let mut counts = Counts::new();
    for line in rest.lines() {
        let (name, count) = line.split_once(' ').with_context(|| format!("{line:?} is not `name count`"))?;
        counts
            .insert(name.to_owned(), count.parse().with_context(|| format!("{line:?} is not `name count`"))?);
    }
    Ok((compiler.to_owned(), counts))
}

fn total(profile: &str) -> Option<u64> {
    let line = profile.lines().rev().find_map(|line| line.strip_prefix("totals: "))?;
    line.split_whitespace().next()?.parse().ok()
}

fn compiler() -> Result<String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("--version").output().context("start rustc --version")?;
    Ok(format!("{}, {}", String::from_utf8_lossy(&output.stdout).trim(), std::env::consts::ARCH))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rise_over_two_percent_is_named() {
        let committed = Counts::from([("fold".to_owned(), 1000), ("step".to_owned(), 1000)]);
        let now = |fold, step| {
            risen(&committed, &Counts::from([("fold".to_owned(), fold), ("step".to_owned(), step)]))
        };
        assert_eq!(now(1020, 500), [""; 0]);
        assert_eq!(now(1021, 1000), ["fold rose by 2.1 %: 1000 -> 1021"]);
        assert_eq!(risen(&committed, &Counts::from([("new".to_owned(), 1)])), ["new has no committed count"]);
    }

    #[test]
    fn the_file_reads_back() {
        let counts = Counts::from([("fold".to_owned(), 12), ("step".to_owned(), 3)]);
        let text = written("rustc 1.95.0, x86_64", &counts);
        assert_eq!(text, "# rustc 1.95.0, x86_64\nfold 12\nstep 3\n");
        assert_eq!(read(&text).unwrap(), ("rustc 1.95.0, x86_64".to_owned(), counts));
        assert!(read("fold 12\n").is_err() && read("# x\nfold\n").is_err());
    }

    #[test]
    fn settling_fails_on_a_rise_and_rewriting_accepts_it() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("instructions.txt");
        let of = |count| Counts::from([("fold".to_owned(), count)]);
        let settle = |count, baseline| settle(&file, &of(count), baseline, &mut Stages::new());
        settle(1000, Baseline::Rewrite).unwrap();
        settle(1010, Baseline::Compare).unwrap();
        assert!(settle(1100, Baseline::Compare).is_err());
        settle(1100, Baseline::Rewrite).unwrap();
        settle(1100, Baseline::Compare).unwrap();
    }

    #[test]
    fn a_program_is_counted() {
        let Some(valgrind) = windlass_testkit::capability::program("valgrind") else { return };
        let count = |script: &str| count(&valgrind, Path::new("/bin/sh"), &["-c", script]).unwrap();
        let (little, much) = (count(":"), count("i=0; while [ $i -lt 2000 ]; do i=$((i+1)); done"));
        assert!(little > 1000 && much > little + 100_000, "{little} {much}");
    }
}
