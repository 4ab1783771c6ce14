//! A small project of `tests/samples` in a directory of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use windlass_control::{Breakage, BrokenTest, Language, Numbers, RunEvidence, SourceFile, break_chosen};

pub struct Project {
    dir: TempDir,
    /// From its root, with the honest text.
    files: Vec<(String, String)>,
}

/// How a run ended.
pub struct Run {
    pub output: String,
    pub passed: bool,
}

impl Run {
    pub fn evidence(&self) -> RunEvidence {
        RunEvidence::read(&self.output, Vec::new())
    }
}

impl Project {
    pub fn sample(name: &str) -> Self {
        Self::of(Self::sample_files(name))
    }

    pub fn sample_files(name: &str) -> Vec<(String, String)> {
        let mut files = Vec::new();
        collect(&samples().join(name), "", &mut files);
        files
    }

    pub fn of(files: Vec<(String, String)>) -> Self {
        let project = Self { dir: tempfile::tempdir().expect("a temporary directory"), files };
        project.restore();
        project
    }

    pub fn root(&self) -> &Path {
        self.dir.path()
    }

    pub fn restore(&self) {
        for (path, text) in &self.files {
            self.write(path, text.as_bytes());
        }
    }

    fn write(&self, path: &str, text: &[u8]) {
        let path = self.root().join(path);
        let parent = path.parent().expect("a file is in a directory");
        fs::create_dir_all(parent).unwrap_or_else(|error| panic!("{}: {error}", parent.display()));
        fs::write(&path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }

    /// Breaks all tests but those that are named to stay green.
    pub fn break_all(&self, breakage: Breakage, seed: u64) -> Vec<BrokenTest> {
        self.break_with(breakage, Numbers::from_seed(seed))
    }

    pub fn break_with(&self, breakage: Breakage, mut numbers: Numbers) -> Vec<BrokenTest> {
        let mut tests = Vec::new();
        for (path, text) in &self.files {
            let Some(language) = Language::of(path.as_bytes()) else { continue };
            let file = SourceFile { path, language, text: text.as_bytes() };
            let broken = break_chosen(breakage, &file, &mut numbers, &|test| !is_to_stay_green(test));
            let broken = broken.unwrap_or_else(|error| panic!("{path}: {error}"));
            self.write(path, &broken.text);
            tests.extend(broken.tests);
        }
        tests
    }

    pub fn run(&self, argv: &[&str]) -> Run {
        let target = self.root().join("target");
        let mut command = Command::new(argv[0]);
        command
            .args(&argv[1..])
            .current_dir(self.root())
            // The runner that runs this test is not the one it is about.
            .env_remove("NODE_TEST_CONTEXT")
            .env_remove("RUSTFLAGS")
            .env_remove("PYTEST_ADDOPTS")
            .env("CARGO_TARGET_DIR", target)
            .env("PYTHONDONTWRITEBYTECODE", "1");
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("NEXTEST"))
        {
            command.env_remove(name);
        }
        let ran = command.output().unwrap_or_else(|error| panic!("{argv:?}: {error}"));
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Run { output: text(&ran.stdout) + &text(&ran.stderr), passed: ran.status.success() }
    }
}

pub fn is_to_stay_green(test: &BrokenTest) -> bool {
    test.to_string().to_lowercase().replace([' ', '_'], "").contains("staysgreen")
}

pub fn samples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples")
}

/// Samples in Rust and for cargo end in `.txt`, so that they are no part of this workspace.
fn collect(dir: &Path, under: &str, files: &mut Vec<(String, String)>) {
    let entries = fs::read_dir(dir).unwrap_or_else(|error| panic!("{}: {error}", dir.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("a readable directory").path()).collect();
    paths.sort();
    for path in paths {
        let name = path.file_name().expect("an entry has a name").to_string_lossy().into_owned();
        if path.is_dir() {
            collect(&path, &format!("{under}{name}/"), files);
        } else {
            let text =
                fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            files.push((format!("{under}{}", name.strip_suffix(".txt").unwrap_or(&name)), text));
        }
    }
}
