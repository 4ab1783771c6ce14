//! Paths that a change may not touch: what judges the work, and what steers agents and test runs.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use globset::{Candidate, GlobBuilder, GlobSet, GlobSetBuilder};
use serde_json::Value;
use windlass_core::policy::GatePolicy;

use crate::named::{self, Name};

/// At the root and in any directory, also when new. As globs like those of `gate.protect`.
const ALWAYS: &[&str] = &[
    "windlass.toml",
    "**/AGENTS.md",
    "**/CLAUDE.md",
    "**/.mcp.json",
    "**/.claude",
    "**/.codex",
    "**/opencode.json",
    "**/conftest.py",
    "**/sitecustomize.py",
    "**/pytest.ini",
    "**/tox.ini",
    "**/.cargo/config",
    "**/.cargo/config.toml",
];

/// Globs are relative to the root, as written: `test.sh` is the one at the root, `**/test.sh` any. `*` does
/// not cross a slash. A glob covers what it names and everything below it, so `tests`, `tests/` and
/// `tests/**` are the same.
#[derive(Clone, Debug)]
pub struct Protection {
    protected: Arc<GlobSet>,
    allowed: Arc<GlobSet>,
    named: BTreeSet<Vec<u8>>,
    package_scripts: bool,
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{place} has a bad pattern {glob:?}: {why}")]
pub struct BadGlob {
    pub place: &'static str,
    pub glob: String,
    pub why: String,
}

impl Protection {
    /// `allow` is the task's own: what the operator lets it change all the same. `in_base` tells whether the
    /// base has a file of this path; of the files that checks name, only those can be protected.
    pub fn new(gate: &GatePolicy, allow: &[String], in_base: &dyn Fn(&str) -> bool) -> Result<Self, BadGlob> {
        let protect = gate.protect.iter().map(String::as_str).chain(ALWAYS.iter().copied());
        Ok(Self {
            protected: Arc::new(set("gate.protect", protect)?),
            allowed: Arc::new(set("allow", allow.iter().map(String::as_str))?),
            named: named_in(gate, in_base),
            package_scripts: gate.checks.iter().flat_map(named::commands).any(named::uses_package_scripts),
        })
    }

    /// The same on another base, without compiling the patterns anew.
    pub fn rebased(&self, gate: &GatePolicy, in_base: &dyn Fn(&str) -> bool) -> Self {
        Self { named: named_in(gate, in_base), ..self.clone() }
    }

    /// `path` is relative to the root, as git has it.
    pub fn is_protected(&self, path: &[u8]) -> bool {
        let candidate = Candidate::new(Path::new(OsStr::from_bytes(path)));
        (self.named.contains(path) || self.protected.is_match_candidate(&candidate))
            && !self.allowed.is_match_candidate(&candidate)
    }

    /// Whether the task may change the path whatever the gate says of it.
    pub fn is_allowed(&self, path: &[u8]) -> bool {
        self.allowed.is_match(Path::new(OsStr::from_bytes(path)))
    }

    /// Whether the path is a package.json whose `scripts` a check runs. Its other keys are free: compare with
    /// [`npm_scripts_changed`].
    pub fn guards_scripts_of(&self, path: &[u8]) -> bool {
        let mut parts = path.rsplit(|byte| *byte == b'/');
        self.package_scripts
            && parts.next() == Some(b"package.json")
            && parts.all(|part| part != b"node_modules")
            && !self.allowed.is_match(Path::new(OsStr::from_bytes(path)))
    }
}

/// The pattern that matches this path alone.
pub fn literal(path: &str) -> String {
    globset::escape(path)
}

/// Whether two versions of a package.json differ in what `npm run` runs. One that cannot be read as JSON
/// differs from all others.
pub fn npm_scripts_changed(base: Option<&[u8]>, now: Option<&[u8]>) -> bool {
    let scripts = |text: Option<&[u8]>| match text {
        None => Ok(Value::Null),
        Some(text) => serde_json::from_slice::<Value>(text).map(|package| package["scripts"].clone()),
    };
    base != now
        && match (scripts(base), scripts(now)) {
            (Ok(before), Ok(after)) => before != after,
            (Err(_), _) | (_, Err(_)) => true,
        }
}

fn set<'a>(place: &'static str, globs: impl Iterator<Item = &'a str>) -> Result<GlobSet, BadGlob> {
    let mut builder = GlobSetBuilder::new();
    for glob in globs {
        let bad = |why: String| BadGlob { place, glob: glob.to_owned(), why };
        let name = glob.strip_prefix("./").or_else(|| glob.strip_prefix('/')).unwrap_or(glob);
        let name = name.strip_suffix("/**").unwrap_or(name).trim_end_matches('/');
        if name.is_empty() {
            return Err(bad("it names nothing".to_owned()));
        }
        for pattern in [name.to_owned(), format!("{name}/**")] {
            let built = GlobBuilder::new(&pattern).literal_separator(true).build();
            builder.add(built.map_err(|error| bad(error.kind().to_string()))?);
        }
    }
    builder.build().map_err(|error| BadGlob {
        place,
        glob: error.glob().unwrap_or_default().to_owned(),
        why: error.kind().to_string(),
    })
}

fn named_in(gate: &GatePolicy, in_base: &dyn Fn(&str) -> bool) -> BTreeSet<Vec<u8>> {
    let names = gate.checks.iter().flat_map(named::commands).flat_map(named::names);
    names.flat_map(|name| in_place(name, in_base)).map(String::into_bytes).collect()
}

/// Where a program takes the first of several files that it finds, a new one would go before the old: with
/// one of them in the base, all are protected.
fn in_place(name: Name, in_base: &dyn Fn(&str) -> bool) -> Vec<String> {
    match name {
        Name::File(file) => Some(file).filter(|file| in_base(file)).into_iter().collect(),
        Name::OneOf(files) if files.iter().any(|file| in_base(file)) => files,
        Name::OneOf(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::policy::{CheckPolicy, CheckWhen};
    use windlass_core::time::Millis;

    use super::*;

    fn gate(protect: &[&str], runs: &[&str]) -> GatePolicy {
        let check = |run: &&str| CheckPolicy {
            name: "c".to_owned(),
            run: (*run).to_owned(),
            when: CheckWhen::Both,
            timeout: Millis::seconds(1),
            ..CheckPolicy::default()
        };
        GatePolicy {
            protect: protect.iter().map(|glob| (*glob).to_owned()).collect(),
            checks: runs.iter().map(check).collect(),
            ..GatePolicy::default()
        }
    }

    fn protection(protect: &[&str], runs: &[&str], allow: &[&str]) -> Protection {
        let allow: Vec<String> = allow.iter().map(|glob| (*glob).to_owned()).collect();
        let in_base = |file: &str| ["test.sh", "Makefile", "ci/a.py"].contains(&file);
        Protection::new(&gate(protect, runs), &allow, &in_base).unwrap()
    }

    fn covered<'a>(protection: &Protection, paths: &[&'a str]) -> Vec<&'a str> {
        paths.iter().copied().filter(|path| protection.is_protected(path.as_bytes())).collect()
    }

    #[test]
    fn a_glob_covers_what_it_names_and_all_below() {
        for glob in ["tests", "tests/", "tests/**", "./tests", "/tests/**"] {
            let found = covered(
                &protection(&[glob], &[], &[]),
                &["tests", "tests/a", "tests/b/c", "a/tests", "tests2"],
            );
            assert_eq!(found, ["tests", "tests/a", "tests/b/c"], "{glob}");
        }
        let found = covered(
            &protection(&["*.sh", "**/x.y", "a/*/b"], &[], &[]),
            &["t.sh", "d/t.sh", "x.y", "d/x.y", "a/1/b", "a/1/2/b"],
        );
        assert_eq!(found, ["t.sh", "x.y", "d/x.y", "a/1/b"]);
    }

    #[test]
    fn what_steers_is_always_protected_also_when_new() {
        let always = [
            "windlass.toml",
            "AGENTS.md",
            "sub/CLAUDE.md",
            ".mcp.json",
            ".claude",
            ".claude/settings.json",
            "a/.claude/hooks/x",
            ".codex/config.toml",
            "opencode.json",
            "conftest.py",
            "tests/unit/conftest.py",
            "sitecustomize.py",
            "pytest.ini",
            "tox.ini",
            ".cargo/config",
            "a/.cargo/config.toml",
        ];
        let protection = protection(&[], &[], &[]);
        assert_eq!(covered(&protection, &always), always);
        let free =
            ["src/main.rs", "sub/windlass.toml", "README.md", ".cargo/registry", "myconftest.py", "test.sh"];
        assert_eq!(covered(&protection, &free), [""; 0]);
    }

    #[test]
    fn files_that_checks_name_are_protected_if_the_base_has_them() {
        let protection = protection(&[], &["sh ./test.sh && python3 ci/a.py new.py", "make test"], &[]);
        let found =
            covered(&protection, &["test.sh", "sub/test.sh", "ci/a.py", "new.py", "Makefile", "GNUmakefile"]);
        assert_eq!(found, ["test.sh", "ci/a.py", "Makefile", "GNUmakefile"]);
    }

    #[test]
    fn a_task_may_be_allowed_to_change_what_is_protected() {
        let protection =
            protection(&["tests/**"], &["sh test.sh"], &["tests/new", "test.sh", "**/CLAUDE.md"]);
        let found = covered(&protection, &["tests/a", "tests/new/a", "test.sh", "x/CLAUDE.md", "AGENTS.md"]);
        assert_eq!(found, ["tests/a", "AGENTS.md"]);
    }

    #[test]
    fn names_that_are_not_text_are_judged_too() {
        let protection = protection(&["tests/**"], &[], &[]);
        assert!(protection.is_protected(b"tests/\xff\n"));
        assert!(protection.is_protected(b"\xff/conftest.py"));
        assert!(!protection.is_protected(b"src/\xff"));
        assert!(!protection.is_protected(b""));
    }

    #[test]
    fn a_bad_glob_is_named() {
        let refused = |protect: &str| Protection::new(&gate(&[protect], &[]), &[], &|_| false).unwrap_err();
        assert_eq!(
            refused("a[").to_string(),
            "gate.protect has a bad pattern \"a[\": unclosed character class; missing ']'"
        );
        assert_eq!(refused("/").why, "it names nothing");
        assert_eq!(refused("").why, "it names nothing");
        let allow = Protection::new(&gate(&[], &[]), &["{a".to_owned()], &|_| false).unwrap_err();
        assert_eq!((allow.place, allow.glob.as_str()), ("allow", "{a"));
    }

    #[test]
    fn scripts_of_package_json_are_guarded_where_a_check_runs_them() {
        let npm = protection(&[], &["npm test"], &["free/package.json"]);
        assert!(npm.guards_scripts_of(b"package.json") && npm.guards_scripts_of(b"web/package.json"));
        assert!(!npm.guards_scripts_of(b"node_modules/x/package.json"));
        assert!(!npm.guards_scripts_of(b"free/package.json") && !npm.guards_scripts_of(b"my-package.json"));
        assert!(!npm.is_protected(b"package.json"));
        assert!(!protection(&[], &["cargo test"], &[]).guards_scripts_of(b"package.json"));
    }

    #[test]
    fn only_the_scripts_of_package_json_matter() {
        let base: &[u8] = br#"{"name":"x","scripts":{"test":"node t.js","a":"b"}}"#;
        for (now, changed) in [
            (Some(base), false),
            (Some(&br#"{"scripts":{"a":"b","test":"node t.js"},"dependencies":{"y":"1"}}"#[..]), false),
            (Some(br#"{"scripts":{"test":"true","a":"b"}}"#), true),
            (Some(br#"{"name":"x"}"#), true),
            (Some(b"{"), true),
            (None, true),
        ] {
            assert_eq!(npm_scripts_changed(Some(base), now), changed, "{now:?}");
        }
        assert!(!npm_scripts_changed(None, Some(b"{}")));
        assert!(npm_scripts_changed(None, Some(base)));
        assert!(!npm_scripts_changed(None, None));
        assert!(!npm_scripts_changed(Some(b"{"), Some(b"{")));
    }
}
