//! What this machine can do, asked before a test relies on it.
//!
//! A test that lacks something returns early, and says so: the line `not run`
//! with the reason is printed, and counted by whoever collects the run (a
//! runner captures the output of passing tests, so printing alone would hide it).
//!
//! ```no_run
//! # fn a_test() {
//! let Some(tmux) = windlass_testkit::capability::program("tmux") else { return };
//! # }
//! ```

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;

/// Names the file that collects the reports of one run of the suite.
pub const REPORTS: &str = "WINDLASS_NOT_RUN_FILE";
/// Asks for the large matrices: `cargo xtask test --full`.
pub const FULL: &str = "WINDLASS_FULL";
/// Names the binary with abort points compiled in.
pub const FAILPOINTS_BINARY: &str = "WINDLASS_FAILPOINTS_BIN";
/// Names the binary in which single defences can be switched off.
pub const WEAKENED_BINARY: &str = "WINDLASS_WEAKENED_BIN";

/// Names the directory with a directory for each coding agent that was installed by npm.
pub const AGENTS_DIR: &str = "WINDLASS_AGENTS_DIR";

/// Names the directory with the wheels that projects in Python need for their tests.
pub const WHEELS_DIR: &str = "WINDLASS_WHEELS_DIR";

/// An installed program, by the name found in `PATH`.
pub fn program(name: &str) -> Option<PathBuf> {
    let found = find_program(name);
    if found.is_none() {
        not_run(&format!("{name} is not installed"));
    }
    found
}

/// The process is root.
pub fn root() -> bool {
    let yes = rustix::process::geteuid().is_root();
    report_unless(yes, "needs root")
}

/// The process is not root, so that file permissions hold for it.
pub fn ordinary_user() -> bool {
    let no = rustix::process::geteuid().is_root();
    report_unless(!no, "root passes every permission check; run as an ordinary user")
}

/// The `windlass` binary with abort points, which `cargo xtask test` builds.
pub fn failpoints_binary() -> Option<PathBuf> {
    let named = std::env::var_os(FAILPOINTS_BINARY).map(PathBuf::from);
    if named.is_none() {
        not_run("the binary with failpoints is built by `cargo xtask test`");
    }
    named
}

/// The `windlass` binary in which single defences can be switched off.
pub fn weakened_binary() -> Option<PathBuf> {
    let named = std::env::var_os(WEAKENED_BINARY).map(PathBuf::from);
    if named.is_none() {
        not_run("the binary that can be weakened is built by `cargo xtask test`");
    }
    named
}

/// A real coding agent of the version windlass is tried with, which `cargo xtask test` installs.
pub fn agent(name: &str) -> Option<PathBuf> {
    let found = find_agent(name);
    if found.is_none() {
        not_run(&format!("{name} is installed by `cargo xtask test`, some agents only with --all-agents"));
    }
    found
}

fn find_agent(name: &str) -> Option<PathBuf> {
    let dir = PathBuf::from(std::env::var_os(AGENTS_DIR)?);
    Some(dir.join(name).join("node_modules/.bin").join(name)).filter(|file| is_executable(file))
}

/// The wheels of pytest, which `cargo xtask test` brings.
pub fn wheels() -> Option<PathBuf> {
    let found = std::env::var_os(WHEELS_DIR).map(PathBuf::from).filter(|dir| dir.is_dir());
    if found.is_none() {
        not_run("the wheels of pytest are brought by `cargo xtask test`");
    }
    found
}

/// The directory of the cargo that runs the tests, with its compiler: a scratch home has no rustup.
pub fn rust_toolchain() -> Option<PathBuf> {
    let cargo = std::env::var_os("CARGO").map(PathBuf::from).filter(|cargo| cargo.is_absolute());
    let works = |cargo: &PathBuf| {
        Command::new(cargo).arg("--version").output().is_ok_and(|ran| ran.status.success())
            && is_executable(&cargo.with_file_name("rustc"))
    };
    let found = cargo.filter(works).and_then(|cargo| cargo.parent().map(PathBuf::from));
    if found.is_none() {
        not_run("cargo and rustc are not found beside each other");
    }
    found
}

/// Whether the large matrices were asked for.
pub fn full() -> bool {
    std::env::var_os(FULL).is_some_and(|value| value == "1")
}

/// Says that the calling test did not run, and why.
pub fn not_run(why: &str) {
    let line = format!("{}: {why}", test_name());
    eprintln!("not run: {line}");
    let Some(file) = std::env::var_os(REPORTS) else { return };
    let written = OpenOptions::new()
        .append(true)
        .create(true)
        .open(&file)
        .and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()));
    if let Err(error) = written {
        panic!("cannot report `not run` to {}: {error}", file.display());
    }
}

fn report_unless(present: bool, why: &str) -> bool {
    if !present {
        not_run(why);
    }
    present
}

pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join(name)).find(|file| is_executable(file))
}

fn is_executable(file: &std::path::Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(file).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// nextest runs each test on the main thread of its own process and names it
/// in the environment; libtest names the thread.
fn test_name() -> String {
    std::env::var("NEXTEST_TEST_NAME")
        .ok()
        .or_else(|| std::thread::current().name().map(str::to_owned))
        .unwrap_or_else(|| "unnamed test".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_is_installed_and_nothing_else() {
        assert!(find_program("sh").is_some_and(|path| path.is_absolute()));
        assert_eq!(find_program("windlass-no-such-program"), None);
    }
}
