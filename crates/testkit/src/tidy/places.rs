//! What only one part of the house may do. clippy sees a method under whatever
//! name it is called, but a lint switched off for a module is off for every
//! method on its list; this is exact about which place may do what, and knows
//! crates, macros and system calls too.

use super::Problem;
use super::source::{NamedPath, Source};

/// Paths, and the only places of non-test code under `crates/` that may name
/// them. A place is a directory or a module: `x/src/git` is `git.rs` and `git/`.
struct Only {
    paths: &'static [&'static str],
    places: &'static [&'static str],
    why: &'static str,
}

const ONLY: &[Only] = &[
    Only {
        paths: &[
            "process::Command",
            "process::CommandExt",
            "libc::fork",
            "libc::vfork",
            "libc::posix_spawn",
            "libc::posix_spawnp",
            "libc::execv",
            "libc::execve",
            "libc::execvp",
            "libc::execvpe",
            "libc::system",
        ],
        // Git is run by the crate that owns git directories; nothing of an agent runs there.
        // The scripted agent's own side, and the one that speaks with an ACP agent, run under a warden, and what they start dies with them.
        places: &[
            "crates/process/src",
            "crates/workspace/src/git",
            "crates/agent/src/scripted/play",
            "crates/agent/src/acp/bridge",
            "crates/testkit/src",
        ],
        why: "only process spawns (and workspace::git, git itself)",
    },
    Only {
        paths: &["SystemTime::now", "time::clock_gettime", "libc::clock_gettime", "libc::time"],
        // A snapshot compares file times with the clock they are taken from, to know a racy one.
        places: &[
            "crates/driver/src/clock",
            "crates/workspace/src/dir",
            "crates/testkit/src",
            "crates/simulator/src/speed",
        ],
        why: "only driver::clock reads the time of day",
    },
    Only {
        paths: &["Instant::now"],
        // Beyond driver::clock, what bounds its own waits, and the heartbeat on the screen; no such
        // instant is stored or decided on.
        places: &[
            "crates/driver/src/clock",
            "crates/process/src",
            "crates/proxy/src",
            "crates/store/src/sqlite/lock",
            "crates/store/src/sqlite/writer",
            "crates/workspace/src/git",
            "crates/cli/src/show",
            "crates/testkit/src",
        ],
        why: "only driver::clock reads time, and the places tidy lists, which bound a wait",
    },
    Only {
        paths: &[
            "env::var",
            "env::var_os",
            "env::vars",
            "env::vars_os",
            "env::current_dir",
            "env::home_dir",
            "env::temp_dir",
            "env::*",
        ],
        // A switch that only adversarial builds have must not grow an argument through every crate.
        places: &["crates/cli/src", "crates/testkit/src", "crates/process/src/sandbox/weaken"],
        why: "only cli reads the environment; others are told",
    },
    Only {
        paths: &["env::set_var", "env::remove_var", "env::set_current_dir"],
        places: &[],
        why: "the process's own surroundings belong to all of its threads",
    },
    Only { paths: &["rusqlite"], places: &["crates/store/src"], why: "only store touches the database" },
    Only {
        paths: &["print!", "println!", "eprint!", "eprintln!"],
        // A warden is a process of its own, and stderr is all it has to say that it cannot work.
        places: &[
            "crates/cli/src/show/out",
            "crates/process/src/bin",
            "crates/process/src/warden",
            "crates/testkit/src",
        ],
        why: "a library never prints, and the binary has one door (say!, complain!)",
    },
];

/// What core may not name at all: a decision depends on nothing but its input.
/// Hash maps are refused everywhere by `clippy.toml`.
const IMPURE: &[&str] = &[
    "std::fs",
    "std::net",
    "std::process",
    "std::env",
    "std::thread",
    "std::io",
    "std::os",
    "std::time::*",
    "SystemTime",
    "Instant",
    "RandomState",
    "rand",
    "print!",
    "println!",
    "eprint!",
    "eprintln!",
];

pub fn check(source: &Source<'_>) -> Vec<Problem> {
    let crate_source = source.path.starts_with("crates/") && source.path.contains("/src/");
    if !crate_source {
        return Vec::new();
    }
    let mut rules: Vec<(&[&'static str], &str)> = Vec::new();
    for only in ONLY {
        if !only.places.iter().any(|place| covers(place, source.path)) {
            rules.push((only.paths, only.why));
        }
    }
    if source.path.starts_with("crates/core/src/") {
        rules.push((IMPURE, "core is pure"));
    }
    let mut found = Vec::new();
    for path in source.paths() {
        for (wanted, why) in &rules {
            if let Some(hit) = hit(source, &path, wanted).filter(|_| !source.in_test(path.at)) {
                found.push(Problem::new(source.path, path.line, format!("{hit} here: {why}")));
            }
        }
    }
    found
}

fn covers(place: &str, path: &str) -> bool {
    path.strip_prefix(place).is_some_and(|rest| rest.starts_with('/') || rest == ".rs")
}

/// The first of `wanted` that the path contains, as whole segments in a row.
fn hit(source: &Source<'_>, path: &NamedPath<'_>, wanted: &[&'static str]) -> Option<&'static str> {
    let is_macro = source.is(path.at + 1, "!");
    let contains = |want: &&&'static str| match want.strip_suffix('!') {
        Some(name) => is_macro && path.segments == [name],
        None => {
            let length = want.matches("::").count() + 1;
            let reads = |window: &[&str]| window.iter().copied().eq(want.split("::"));
            !is_macro && path.segments.windows(length).any(reads)
        }
    };
    wanted.iter().find(contains).copied()
}

#[cfg(test)]
mod tests {
    use super::super::said;
    use super::*;

    fn checked(path: &str, text: &str) -> Vec<String> {
        said(&check(&Source::read(path, text)))
    }

    #[test]
    fn each_deed_has_its_place() {
        for (deed, place, elsewhere) in [
            ("std::process::Command::new(x)", "crates/process/src/program.rs", "crates/gate/src/run.rs"),
            ("process::Command::new(x)", "crates/workspace/src/git.rs", "crates/workspace/src/clone.rs"),
            ("Instant::now()", "crates/driver/src/clock.rs", "crates/driver/src/recover.rs"),
            ("map(SystemTime::now)", "crates/driver/src/clock/wall.rs", "crates/process/src/warden.rs"),
            ("Instant::now()", "crates/store/src/sqlite/lock.rs", "crates/store/src/sqlite/locked.rs"),
            ("std::env::var(x)", "crates/cli/src/config.rs", "crates/plan/src/markdown.rs"),
            ("rusqlite::Connection::open(x)", "crates/store/src/sqlite.rs", "crates/driver/src/pool.rs"),
            ("println!()", "crates/cli/src/show/out.rs", "crates/agent/src/brief.rs"),
            ("eprint!()", "crates/cli/src/show/out.rs", "crates/cli/src/main.rs"),
        ] {
            let text = format!("fn f() {{ {deed}; }}");
            assert_eq!(checked(place, &text), [""; 0], "{deed}");
            assert_eq!(checked(elsewhere, &text).len(), 1, "{deed}");
            assert_eq!(checked(elsewhere, &format!("#[test] {text}")), [""; 0], "{deed}");
            assert_eq!(checked("crates/gate/tests/x.rs", &text), [""; 0], "{deed}");
            assert_eq!(checked("xtask/src/main.rs", &text), [""; 0], "{deed}");
        }
        let found = checked("crates/cli/src/main.rs", "fn f() { std::env::set_var(x, y); }");
        assert_eq!(
            found,
            ["1: env::set_var here: the process's own surroundings belong to all of its threads"]
        );
    }

    #[test]
    fn a_use_is_a_deed() {
        for text in
            ["use std::process::{Child, Command};", "use std::env::*;", "use std::{time::Instant, env::var};"]
        {
            assert_eq!(checked("crates/gate/src/x.rs", text).len(), 1, "{text}");
        }
        assert_eq!(
            checked("crates/gate/src/x.rs", "use std::process::ExitStatus; use windlass_core::Command;"),
            [""; 0]
        );
    }

    #[test]
    fn core_is_pure() {
        for impure in [
            "use std::fs;",
            "use std::{fmt, net};",
            "fn f(x: std::time::Instant) {}",
            "fn f() { println!(); }",
            "use std::time::{Duration, SystemTime};",
            "fn f() { rand::random(); }",
            "use std::collections::hash_map::RandomState;",
            "use std::thread;",
            "use std::env;",
        ] {
            assert!(!checked("crates/core/src/x.rs", impure).is_empty(), "{impure}");
        }
        let pure =
            "use std::collections::BTreeMap; use std::time::Duration; fn f() { let fs = \"std::fs\"; }";
        assert_eq!(checked("crates/core/src/x.rs", pure), [""; 0]);
    }
}
