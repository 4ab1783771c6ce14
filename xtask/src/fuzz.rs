//! Random bytes through the readers of what agents print, of plans and of planners' answers, led by coverage: the targets of `fuzz/`, built
//! without cargo-fuzz, which a stable toolchain can do as well.
//!
//! It starts from every recording. What it learns stays in the target directory, so that the next run goes on
//! from there. Memory is not watched: all that is fuzzed is safe Rust.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context as _, Result, bail, ensure};
use windlass_agent::registry::AGENTS;

use crate::surroundings::Surroundings;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    pub seconds: u32,
}

impl Default for Asked {
    fn default() -> Self {
        Self { seconds: 60 }
    }
}

/// What agents print, what people write as plans, and what planners answer.
const TARGETS: [&str; 3] = [READERS, "plans", "proposals"];
const READERS: &str = "readers";

/// What libFuzzer needs of the compiler: counters at every edge, and the operands of comparisons.
const FLAGS: [&str; 6] = [
    "--cfg=fuzzing",
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
];

/// Longer inputs are slow, and a few lines show all there is. Some recordings are longer, and are cut.
const MAX_LEN: usize = 4 * 1024;

/// The first byte of an input chooses the program: the known agents in their order, then any that speaks the
/// Agent Client Protocol.
const ACP: usize = AGENTS.len();

pub fn run(asked: Asked) -> Result<ExitCode> {
    let around = Surroundings::new()?;
    let mut is_sound = true;
    for target in TARGETS {
        is_sound &= fuzz_target(&around, target, asked)?;
    }
    Ok(if is_sound { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Whether nothing was found.
fn fuzz_target(around: &Surroundings, target: &str, asked: Asked) -> Result<bool> {
    let built = around.target.join("fuzz");
    let binary = match build(around, target, &built) {
        Ok(binary) => binary,
        Err(error) => {
            println!("not run: fuzzing {target}: {error:#}");
            return Ok(false);
        }
    };
    let place = built.join("of").join(target);
    let seeds = seeds(around, target, &place)?;
    let told = fuzz(around, &Fuzz { binary, seeds, place: place.clone() }, asked)?;
    println!(
        "{target}: {} executions in {} s, {} edges and {} features covered, {} inputs kept in {}",
        told.executions,
        asked.seconds,
        told.edges,
        told.features,
        count(&place.join("corpus"))?,
        place.join("corpus").display(),
    );
    let found = files(&place.join("artifacts"))?;
    for artifact in &found {
        println!("found: {}", artifact.display());
    }
    println!("{} findings", found.len());
    ensure!(!found.is_empty() || told.ended_well, "the fuzzer failed, and kept no input that made it");
    Ok(found.is_empty())
}

/// A target given by name keeps these flags away from what runs while it builds.
fn build(around: &Surroundings, target: &str, place: &Path) -> Result<PathBuf> {
    let host = host(around)?;
    let dir = around.root.join("fuzz");
    // The same versions as the workspace has; what fuzzing needs beyond them is added.
    fs::copy(around.root.join("Cargo.lock"), dir.join("Cargo.lock")).context("copy Cargo.lock")?;
    let mut command = around.cargo(["build", "--bin", target, "--target", &host, "--manifest-path"]);
    command.arg(dir.join("Cargo.toml")).arg("--target-dir").arg(place);
    command.env("CARGO_ENCODED_RUSTFLAGS", FLAGS.join("\u{1f}")).env_remove("RUSTFLAGS");
    let status = command.status().with_context(|| format!("start {command:?}"))?;
    ensure!(status.success(), "it does not build here, see above (it needs a C++ compiler): {status}");
    Ok(place.join(host).join("debug").join(target))
}

fn host(around: &Surroundings) -> Result<String> {
    let output = around.program("rustc").arg("-vV").output().context("start rustc -vV")?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("rustc -vV names no host")
}

/// The target's own seeds; for the readers every recording as an input of its program, that ended well and that
/// did not.
fn seeds(around: &Surroundings, target: &str, place: &Path) -> Result<PathBuf> {
    let dir = place.join("seeds");
    fs::create_dir_all(&dir).with_context(|| format!("create {}", dir.display()))?;
    let mut words = BTreeSet::new();
    for seed in files(&around.root.join("fuzz/corpus").join(target))? {
        words.extend(quoted(&fs::read(&seed)?));
        fs::copy(&seed, dir.join(seed.file_name().unwrap_or_default()))?;
    }
    if target == READERS {
        words.extend(seeds_of_recordings(around, &dir)?);
    }
    let entries: Vec<String> = words.iter().map(|word| format!("\"{word}\"\n")).collect();
    fs::write(place.join("words.dict"), entries.concat())?;
    Ok(dir)
}

fn seeds_of_recordings(around: &Surroundings, dir: &Path) -> Result<BTreeSet<String>> {
    let of = |name: &str| AGENTS.iter().position(|agent| name.starts_with(agent.name));
    let tests = around.root.join("crates/agent/tests");
    let mut words = seeds_of(&tests.join("recordings"), dir, of)?;
    let of = |name: &str| (!["README", "errors", "read"].contains(&name)).then_some(ACP);
    words.extend(seeds_of(&tests.join("acp"), dir, of)?);
    Ok(words)
}

/// Returns the words in them.
fn seeds_of(
    recordings: &Path,
    dir: &Path,
    program_of: impl Fn(&str) -> Option<usize>,
) -> Result<BTreeSet<String>> {
    let mut words = BTreeSet::new();
    for recording in files(recordings)? {
        let (Some(name), Some(kind)) = (stem(&recording), recording.extension()) else { continue };
        let Some(program) = program_of(name) else { continue };
        // Its standard error is taken along with its output.
        if kind == "stderr" && recording.with_extension("jsonl").exists() {
            continue;
        }
        let part = |kind| fs::read(recording.with_extension(kind)).unwrap_or_default();
        let (stdout, stderr) = (part("jsonl"), part("stderr"));
        words.extend(quoted(&stdout));
        for exit in [0, 4] {
            let first = u8::try_from(program).context("more programs than a byte has")?;
            let input = [&[first, exit], &stdout[..], b"\n~\n", &stderr].concat();
            fs::write(dir.join(format!("{program}-{name}-{exit}")), input)?;
        }
    }
    Ok(words)
}

/// The short words between quotes, names of fields and kinds of events among them, for the fuzzer to use.
fn quoted(text: &[u8]) -> BTreeSet<String> {
    let plain = |word: &&[u8]| {
        let sort = |byte: &u8| byte.is_ascii_alphanumeric() || b"._-".contains(byte);
        (2..=32).contains(&word.len()) && word.iter().all(sort)
    };
    text.split(|byte| *byte == b'"')
        .filter(plain)
        .map(|word| String::from_utf8_lossy(word).into_owned())
        .collect()
}

struct Fuzz {
    binary: PathBuf,
    seeds: PathBuf,
    place: PathBuf,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Told {
    executions: u64,
    edges: u64,
    features: u64,
    ended_well: bool,
}

fn fuzz(around: &Surroundings, fuzz: &Fuzz, asked: Asked) -> Result<Told> {
    let (corpus, artifacts) = (fuzz.place.join("corpus"), fuzz.place.join("artifacts"));
    if artifacts.exists() {
        fs::remove_dir_all(&artifacts).with_context(|| format!("remove {}", artifacts.display()))?;
    }
    for dir in [&corpus, &artifacts] {
        fs::create_dir_all(dir).with_context(|| format!("create {}", dir.display()))?;
    }
    let mut command: Command = around.program(&fuzz.binary);
    command.arg(format!("-max_total_time={}", asked.seconds)).arg(format!("-max_len={MAX_LEN}"));
    command.args(["-timeout=10", "-rss_limit_mb=2048", "-print_final_stats=1"]);
    command.arg(format!("-dict={}", fuzz.place.join("words.dict").display()));
    command.arg(format!("-artifact_prefix={}/", artifacts.display()));
    command.arg(&corpus).arg(&fuzz.seeds);
    let mut child = command.stderr(Stdio::piped()).spawn().with_context(|| format!("start {command:?}"))?;
    let Some(stderr) = child.stderr.take() else { bail!("the fuzzer has no standard error") };
    let mut told = Told::default();
    for line in BufReader::new(stderr).lines() {
        let line = line.context("read what the fuzzer says")?;
        if !told.hear(&line) {
            println!("{line}");
        }
    }
    told.ended_well = child.wait().context("wait for the fuzzer")?.success();
    Ok(told)
}

impl Told {
    /// Whether the line was only a number to keep.
    fn hear(&mut self, line: &str) -> bool {
        let after = |word: &str| {
            let (_, rest) = line.split_once(word)?;
            rest.split_whitespace().next()?.parse::<u64>().ok()
        };
        if let Some(executions) = after("stat::number_of_executed_units:") {
            self.executions = executions;
            return true;
        }
        let (Some(edges), Some(features)) = (after(" cov: "), after(" ft: ")) else {
            let noise = ["stat::", "\tNEW_FUNC", "######", "\""];
            return noise.iter().any(|start| line.starts_with(start));
        };
        (self.edges, self.features) = (edges, features);
        // A pulse is shown now and then; what is new, and each step of making an input smaller, is not.
        !line.contains("pulse") && !line.contains("INITED") && !line.contains("DONE")
    }
}

fn stem(path: &Path) -> Option<&str> {
    path.file_stem()?.to_str()
}

fn files(dir: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(dir).with_context(|| format!("list {}", dir.display()))?;
    let mut files: Vec<PathBuf> =
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    files.sort();
    Ok(files)
}

fn count(dir: &Path) -> Result<usize> {
    files(dir).map(|files| files.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_fuzzer_says_is_counted() {
        let mut told = Told::default();
        assert!(!told.hear("INFO: Seed: 7"));
        assert!(told.hear("#1024\tREDUCE cov: 1500 ft: 4000 corp: 20/300b exec/s: 512 rss: 60Mb L: 3/9"));
        assert!(!told.hear("#2048\tpulse  cov: 1501 ft: 4002 corp: 21/301b exec/s: 512 rss: 60Mb"));
        assert!(told.hear("stat::number_of_executed_units: 4096"));
        assert!(told.hear("stat::peak_rss_mb:              66"));
        assert!(told.hear("\tNEW_FUNC[1/1]: 0x558a191c0931"));
        let seen = Told { executions: 4096, edges: 1501, features: 4002, ended_well: false };
        assert_eq!(told, seen);
    }

    #[test]
    fn words_between_quotes_are_for_the_fuzzer() {
        let words = quoted(br#"{"type":"turn.completed","text":"a b","x":1}"#);
        assert_eq!(words, BTreeSet::from(["type", "turn.completed", "text"].map(str::to_owned)));
    }

    #[test]
    fn every_recording_is_a_seed() {
        let around = Surroundings::new().unwrap();
        let place = tempfile::tempdir().unwrap();
        let dir = seeds(&around, READERS, place.path()).unwrap();
        let seeds = count(&dir).unwrap();
        assert!(seeds > 300, "{seeds} seeds");
        let first = |name: &str| fs::read(dir.join(name)).unwrap()[..2].to_vec();
        assert_eq!((first("0-codex-ok-4"), first("5-gemini-ok-0")), (vec![0, 4], vec![5, 0]));
        assert!(
            fs::read_to_string(place.path().join("words.dict")).unwrap().contains("\"turn.completed\"\n")
        );
    }
}
