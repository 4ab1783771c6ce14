//! Instruction counts: they do not depend on what else the machine does, so a
//! rise of two percent is a fact. They do depend on the compiler, which the
//! committed file names; counts of another one are not compared.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use super::Baseline;
use crate::stages::Stages;

const RISE_PERCENT: u64 = 2;

/// Something whose instructions are counted.
#[allow(dead_code, reason = "one of the two kinds may have no entry")]
pub enum Counted {
    /// Work done in this binary, `repeats` times. What one repeat adds is what
    /// counts, so that starting up and preparing does not.
    Work { name: &'static str, run: fn(repeats: u32) -> Result<()> },
    /// A whole run of `windlass`.
    Command { name: &'static str, args: &'static [&'static str] },
}

pub type Counts = BTreeMap<String, u64>;

pub fn count_all(valgrind: &Path, all: &[Counted], windlass: &Path) -> Result<Counts> {
    let own = std::env::current_exe()?;
    let mut counts = Counts::new();
    for counted in all {
        let (name, count) = match counted {
            Counted::Work { name, .. } => {
                let of = |repeats: &str| count(valgrind, &own, &["workload", name, repeats]);
                (name, of("2")?.saturating_sub(of("1")?))
            }
            Counted::Command { name, args } => (name, count(valgrind, windlass, args)?),
        };
        println!("{name}: {count} instructions");
        counts.insert((*name).to_owned(), count);
    }
    Ok(counts)
}

/// The instructions of one run of a program, its children not included.
pub fn count(valgrind: &Path, program: &Path, args: &[&str]) -> Result<u64> {
    let file = tempfile::NamedTempFile::new().context("temporary file")?;
    let mut command = Command::new(valgrind);
    command.args(["--quiet", "--tool=callgrind"]);
    command.arg(format!("--callgrind-out-file={}", file.path().display()));
    command.arg(program).args(args).stdin(Stdio::null()).stdout(Stdio::null());
    let status = command.status().with_context(|| format!("start {command:?}"))?;
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
