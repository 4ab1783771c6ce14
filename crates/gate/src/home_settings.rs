//! Settings in the home of a check. It begins empty, so whatever a runner finds there was written while it judged.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::LazyLock;

use globset::Candidate;
use windlass_core::finding::Touch;

use crate::exempt::ExemptPaths;
use crate::paths::Globs;
use crate::tree_watch::{DirectoryKind, TouchSink};

/// Read by shells, interpreters, package managers, build tools and git.
const SETTINGS: &[&str] = &[
    "**/usercustomize.py",
    "**/sitecustomize.py",
    "**/*.pth",
    "**/site-packages/*",
    ".pythonrc*",
    ".pydistutils.cfg",
    ".pip",
    ".config/pip",
    ".config/pytest*",
    ".config/uv",
    ".npmrc",
    ".yarnrc*",
    ".bunfig.toml",
    ".node_modules",
    ".node_libraries",
    "node_modules",
    ".noderc*",
    ".mocharc*",
    ".babelrc*",
    ".cargo/config*",
    ".config/nextest*",
    ".config/go",
    ".rustup/settings.toml",
    ".gradle/init*",
    ".gradle/gradle.properties",
    ".m2/settings*",
    ".mavenrc",
    ".sbt",
    ".gemrc",
    ".irbrc",
    ".rspec",
    ".bundle/config",
    ".profile",
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".zshenv",
    ".zprofile",
    ".zshrc",
    ".kshrc",
    ".gitconfig",
    ".config/git",
    ".curlrc",
    ".wgetrc",
];

/// Filled by tools, often with very many files, and without settings.
const CACHES: &[&str] = &[
    ".cache",
    ".npm",
    ".yarn",
    ".pnpm-store",
    ".cargo/registry",
    ".cargo/git",
    ".gradle/caches",
    ".m2/repository",
    ".rustup/toolchains",
    "go/pkg",
];

static SETTING_GLOBS: LazyLock<Globs> =
    LazyLock::new(|| Globs::new("settings of a home", SETTINGS).expect("the patterns above are tested"));

/// Keeps which settings were written.
#[derive(Default)]
pub struct HomeSettings {
    found: BTreeSet<String>,
}

impl HomeSettings {
    const KEPT: usize = 1_000;

    /// As paths that begin with `~/`.
    pub fn written(&self) -> impl Iterator<Item = &str> {
        self.found.iter().map(String::as_str)
    }

    /// Those that the base's own check does not write, with what was done.
    pub fn offences(&self, exempt: &ExemptPaths) -> Vec<String> {
        let free = |path: &&String| exempt.cover(path.as_bytes());
        self.found.iter().filter(|path| !free(path)).map(|path| format!("{path} (created)")).collect()
    }
}

impl TouchSink for HomeSettings {
    fn touched(&mut self, path: &Path, touch: Touch) {
        let steers = SETTING_GLOBS.find(&Candidate::new(path)).is_some();
        if touch != Touch::Deleted && steers && self.found.len() < Self::KEPT {
            self.found.insert(format!("~/{}", path.display()));
        }
    }

    fn directory(&self, path: &Path) -> DirectoryKind {
        match CACHES.iter().any(|cache| cache.as_bytes() == path.as_os_str().as_bytes()) {
            true => DirectoryKind::Output,
            false => DirectoryKind::New,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_a_home_count_and_caches_do_not() {
        let mut home = HomeSettings::default();
        for path in [
            ".npmrc",
            ".local/lib/python3.12/site-packages/usercustomize.py",
            ".cargo/config.toml",
            ".config/go/env",
            ".cache/pip/x",
            ".npm/_logs/1.log",
            ".python_history",
        ] {
            home.touched(Path::new(path), Touch::Added);
        }
        home.touched(Path::new(".bashrc"), Touch::Deleted);
        let exempt = ExemptPaths::new(["~/.npmrc\0"], &[]).unwrap();
        assert_eq!(
            home.offences(&exempt),
            [
                "~/.cargo/config.toml (created)",
                "~/.config/go/env (created)",
                "~/.local/lib/python3.12/site-packages/usercustomize.py (created)"
            ]
        );
        assert_eq!(home.directory(Path::new(".npm")), DirectoryKind::Output);
    }
}
