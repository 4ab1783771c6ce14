//! Caches with a real build tool: they save the building of what did not
//! change, and never make broken work green.

use windlass_testkit::capability;

use crate::case::{Case, Setup};

const MANIFEST: &str = "[package]\nname = \"calc\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
const LOCK: &str = "version = 4\n\n[[package]]\nname = \"calc\"\nversion = \"0.1.0\"\n";
const WRONG: &str = "pub fn answer() -> u32 {\n    41\n}\n";
const TEST: &str = "#[test]\nfn answers() {\n    assert_eq!(calc::answer(), 42);\n}\n";

/// A crate without dependencies, tested offline.
fn project(agent: &str) -> Option<Setup> {
    let tools = capability::rust_toolchain()?;
    let setup = Setup::new(agent)
        .sandbox_keys(&format!("extra_read = [{:?}]\n", tools.parent()?.display().to_string()))
        .file("Cargo.toml", MANIFEST)
        .file("Cargo.lock", LOCK)
        .file(".gitignore", "target\n")
        .file("src/lib.rs", WRONG)
        .file("tests/answer.rs", TEST)
        .checks("cache = [\"target\"]\n[[gate.check]]\nname = \"test\"\nrun = \"sh ./test.sh\"\n");
    Some(setup)
}

/// What the check does, and a line beside the repository for each test binary
/// that it finds built already.
fn checked_by(case: Case, more: &str) -> Case {
    let side = case.side().display().to_string();
    let tools = capability::rust_toolchain().unwrap().display().to_string();
    let test = format!(
        "PATH='{tools}':$PATH\nls target/debug/deps 2>/dev/null | grep -c '^answer-' >>'{side}/found' || true\n\
         {more}\nunset RUSTFLAGS CARGO_TARGET_DIR CARGO_BUILD_TARGET_DIR\n\
         CARGO_NET_OFFLINE=true cargo test --offline --locked --quiet\n"
    );
    case.repo.file("test.sh", test);
    case.repo.commit("the check");
    case.looked_at()
}

fn found(case: &Case) -> Vec<String> {
    case.left("found")
        .lines()
        .map(|count| if count == "0" { "nothing" } else { "built" }.to_owned())
        .collect()
}

const FIX: &str = "sed -i 's/41/42/' src/lib.rs\ncomplete";

#[test]
fn a_check_begins_with_what_the_baseline_built_and_the_last_gate_with_nothing() {
    let Some(setup) = project(FIX) else { return };
    let case = checked_by(setup.ready(), "");
    let seen = case.run();
    seen.completed();
    // The baseline, the task, the final gate, and its tests broken in two ways; with so few, honest runs follow.
    let found = found(&case);
    assert_eq!(found[..2], ["nothing", "built"], "{}", seen.log);
    assert!(found.len() >= 5 && found[2..].iter().all(|state| state == "nothing"), "{found:?}\n{}", seen.log);
}

/// The base is green, so that a cache could make anything look green.
#[test]
fn a_cache_never_makes_a_broken_tree_green() {
    // The second attempt sets the time of what it broke back to long ago.
    let agent = "case $n in\n\
                 1) sed -i 's/42/40/' src/lib.rs ;;\n\
                 2) sed -i 's/4[0-9]/39/' src/lib.rs; touch -d '2001-01-01' src/lib.rs src tests ;;\n\
                 3) echo 'pub fn other() {' >>src/lib.rs; touch -d '2001-01-01' src/lib.rs ;;\n\
                 *) printf 'pub fn answer() -> u32 {\\n    42 // as it was\\n}\\n' >src/lib.rs ;;\nesac\ncomplete";
    let Some(setup) = project(agent) else { return };
    let case = checked_by(setup.file("src/lib.rs", WRONG.replace("41", "42")).ready(), "");
    let seen = case.run();
    seen.completed();
    let exits: Vec<i64> = seen
        .log
        .of("check_finished")
        .iter()
        .filter(|check| check["purpose"] == "task")
        .map(|check| check["result"]["exit_code"].as_i64().unwrap())
        .collect();
    assert_eq!(exits, [101, 101, 101, 0], "{}", seen.log);
}

/// A build script is the work's own code, run inside the check.
const POISON: &str = r##"if [ $n -eq 1 ]; then
    cat >build.rs <<'RUST'
fn main() {
    std::fs::write("target/poison", "left by a build script").unwrap();
    let deps = std::fs::read_dir("target/debug/deps").unwrap();
    for entry in deps.flatten() {
        if entry.file_name().to_string_lossy().starts_with("answer-") {
            let _ = std::fs::write(entry.path(), "#!/bin/sh\nexit 0\n");
        }
    }
}
RUST
else
    rm -f build.rs
    sed -i 's/41/42/' src/lib.rs
fi
complete"##;

#[test]
fn what_a_build_script_writes_into_a_cache_does_not_reach_the_next_iteration() {
    let Some(setup) = project(POISON) else { return };
    let case = setup.ready();
    let side = case.side().display().to_string();
    let look = format!("if [ -e target/poison ]; then echo poisoned; else echo clean; fi >>'{side}/seen'");
    let case = checked_by(case, &look);
    let seen = case.run();
    seen.completed();
    let states: Vec<String> = case.left("seen").lines().map(str::to_owned).collect();
    // The baseline, two tasks, the final gate and its tests broken in two ways; with so few, honest runs follow.
    let is_clean = states.len() >= 6 && states.iter().all(|state| state == "clean");
    assert!(is_clean, "{states:?}\n{}", seen.log);
}

/// The same attack where checks share one writable cache: it works.
#[test]
fn without_a_copy_of_its_own_a_check_begins_poisoned() {
    let Some(binary) = capability::weakened_binary() else { return };
    let Some(setup) = project(POISON) else { return };
    let case = setup.home(windlass_testkit::Scratch::exactly(binary)).ready();
    let side = case.side().display().to_string();
    let look = format!("if [ -e target/poison ]; then echo poisoned; else echo clean; fi >>'{side}/seen'");
    let case = checked_by(case, &look);
    let mut command = case.command(&["run", "--name", crate::case::LOOP]);
    command.env("WINDLASS_WEAKEN", "cache");
    case.home.start(command).finish(crate::case::RUN);
    assert!(case.left("seen").contains("poisoned"), "{}", case.left("seen"));
}
