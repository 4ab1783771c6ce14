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

/// Directories of settings. They are there before a check runs, so that they are watched from the beginning and
/// nothing in them is missed: to make one means that it was removed.
const PLACES: &[&str] = &[".bundle", ".cargo", ".config", ".gradle", ".local", ".m2", ".rustup"];

/// Where Python finds modules, below a name that depends on its version.
const LIBRARIES: &str = ".local/lib";

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

    /// The directories of settings, relative to a home, in which nothing else is.
    pub fn places() -> impl Iterator<Item = &'static Path> {
        PLACES.iter().map(Path::new)
    }

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
        let holds = touch == Touch::Added && (is_place(path) || path == Path::new(LIBRARIES));
        let steers = SETTING_GLOBS.find(&Candidate::new(path)).is_some();
        if touch == Touch::Deleted || !(holds || steers) || self.found.len() >= Self::KEPT {
            return;
        }
        // A directory of settings that the base's check removes and makes anew is unwatched for a moment, so it
        // exempts all that is in it. With a slash at its end a directory exempts nothing that is in it.
        let end = if holds && !is_place(path) { "/" } else { "" };
        self.found.insert(format!("~/{}{end}", path.display()));
    }

    fn directory(&self, path: &Path) -> DirectoryKind {
        if is_place(path) {
            return DirectoryKind::Known;
        }
        match CACHES.iter().any(|cache| cache.as_bytes() == path.as_os_str().as_bytes()) {
            true => DirectoryKind::Output,
            false => DirectoryKind::New,
        }
    }
}

fn is_place(path: &Path) -> bool {
    HomeSettings::places().any(|place| place == path)
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

    #[test]
    fn a_directory_of_settings_that_is_made_anew_counts_and_exempts_what_is_in_it() {
        let mut home = HomeSettings::default();
        for path in [".config", ".config/pip", ".local/lib", ".local/lib/python3.12/site-packages/x.pth"] {
            home.touched(Path::new(path), Touch::Added);
        }
        home.touched(Path::new(".cargo"), Touch::Edited);
        let nothing = ExemptPaths::new([], &[]).unwrap();
        let pth = "~/.local/lib/python3.12/site-packages/x.pth (created)";
        let config = ["~/.config (created)", "~/.config/pip (created)"];
        assert_eq!(home.offences(&nothing), [config[0], config[1], "~/.local/lib/ (created)", pth]);
        let base = ExemptPaths::new(["~/.local/lib/\0~/.config\0"], &[]).unwrap();
        assert_eq!(home.offences(&base), [pth]);
    }

    #[test]
    fn every_setting_in_a_directory_is_in_one_that_is_watched_from_the_beginning() {
        for setting in SETTINGS {
            if let Some((above, _)) = setting.rsplit_once('/') {
                assert!(above.starts_with("**") || is_place(Path::new(above)), "{setting}");
            }
        }
    }
}
