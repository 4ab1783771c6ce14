//! The house rules, on this repository. What each rule means, and that it can
//! fail, is shown beside the rule in `src/tidy/`.

#![allow(clippy::disallowed_methods, reason = "asks git and cargo what the repository holds")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use windlass_testkit::tidy::{self, Problem};

#[test]
fn every_file_keeps_the_house_rules() {
    let files = files();
    assert!(files.iter().any(|(path, _)| path == "crates/testkit/tests/tidy.rs"), "this file is among them");
    report([tidy::check_each(&files), tidy::check_together(&files)].concat());
}

#[test]
fn crates_know_only_whom_they_may() {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let metadata =
        output(Command::new(cargo).args(["metadata", "--no-deps", "--format-version=1", "--offline"]));
    report(tidy::arrows::check(&serde_json::from_slice(&metadata).unwrap()));
}

#[test]
fn no_crate_is_most_of_the_house() {
    let files = files();
    let lines = tidy::share::lines(files.iter().map(|(path, text)| (path.as_str(), text.as_str())));
    let total: usize = lines.values().sum();
    for (name, lines) in &lines {
        println!("{name:>10} {lines:6} lines of code, {} %", lines * 100 / total.max(1));
    }
    report(tidy::share::check(&lines));
}

fn report(found: Vec<Problem>) {
    let lines: Vec<_> = found.iter().map(ToString::to_string).collect();
    assert!(lines.is_empty(), "{} broken house rules:\n{}", lines.len(), lines.join("\n"));
}

/// Every text file that is, or with the next `git add` would be, tracked.
fn files() -> Vec<(String, String)> {
    let listed = output(
        // The checkout may belong to another user: in a container, or under root.
        Command::new("git").args([
            "-c",
            "safe.directory=*",
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ]),
    );
    let paths = listed.split(|byte| *byte == 0).filter(|path| !path.is_empty());
    let read = |path: &[u8]| {
        let path = String::from_utf8(path.to_vec()).ok()?;
        // A file removed but not yet committed is still listed.
        let text = String::from_utf8(fs::read(root().join(&path)).ok()?).ok()?;
        Some((path, text))
    };
    paths.filter_map(read).collect()
}

fn output(command: &mut Command) -> Vec<u8> {
    command.current_dir(root());
    let output = command.output().unwrap_or_else(|error| panic!("start {command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .expect("crates/testkit is two below the root")
        .to_owned()
}
