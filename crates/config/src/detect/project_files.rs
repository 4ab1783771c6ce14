//! The names of a project's files and directories, as far as they are written by people.

use std::collections::{BTreeSet, VecDeque};
use std::fs;
use std::io;
use std::path::Path;

/// Directories whose content is made or installed.
const MADE: &[&str] = &[
    "node_modules",
    "vendor",
    "third_party",
    "venv",
    "env",
    "target",
    "build",
    "_build",
    "dist",
    "out",
    "obj",
    "coverage",
    "tmp",
    "__pycache__",
];

/// More names than these are not looked at: a proposal may not take long.
const LOOKED_AT: usize = 50_000;

pub struct ProjectFiles<'a> {
    root: &'a Path,
    /// Paths from the root.
    files: BTreeSet<String>,
    directories: BTreeSet<String>,
}

impl<'a> ProjectFiles<'a> {
    /// What is nearer to the root is looked at first.
    pub fn list(root: &'a Path) -> io::Result<Self> {
        let mut project = Self { root, files: BTreeSet::new(), directories: BTreeSet::new() };
        let mut waiting = VecDeque::new();
        project.take(fs::read_dir(root)?, "", &mut waiting);
        while let Some(directory) = waiting.pop_front() {
            // A directory that cannot be read has no test that could be run.
            if let Ok(entries) = fs::read_dir(root.join(&directory)) {
                project.take(entries, &format!("{directory}/"), &mut waiting);
            }
        }
        Ok(project)
    }

    fn take(&mut self, entries: fs::ReadDir, above: &str, waiting: &mut VecDeque<String>) {
        for entry in entries.filter_map(Result::ok) {
            let (Ok(name), Ok(kind)) = (entry.file_name().into_string(), entry.file_type()) else { continue };
            if self.files.len() + self.directories.len() >= LOOKED_AT {
                return;
            }
            let path = format!("{above}{name}");
            if !kind.is_dir() {
                self.files.insert(path);
            } else if !name.starts_with('.') && !MADE.contains(&name.as_str()) {
                waiting.push_back(path.clone());
                self.directories.insert(path);
            }
        }
    }

    /// Whether the root has this file.
    pub fn has(&self, file: &str) -> bool {
        self.files.contains(file)
    }

    pub fn has_any(&self, files: &[&str]) -> bool {
        files.iter().any(|file| self.has(file))
    }

    pub fn has_directory(&self, directory: &str) -> bool {
        self.directories.contains(directory)
    }

    pub fn text(&self, file: &str) -> String {
        fs::read_to_string(self.root.join(file)).unwrap_or_default()
    }

    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(String::as_str)
    }

    pub fn directories(&self) -> impl Iterator<Item = &str> {
        self.directories.iter().map(String::as_str)
    }

    /// The names of the files in one directory; `""` is the root.
    pub fn names_in(&self, directory: &str) -> impl Iterator<Item = &str> {
        let inside = move |path: &'_ String| match path.rsplit_once('/') {
            Some((above, _)) => above == directory,
            None => directory.is_empty(),
        };
        self.files.iter().filter(move |path| inside(path)).map(|path| super::base_name(path))
    }
}
