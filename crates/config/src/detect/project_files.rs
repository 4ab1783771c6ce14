//! The names of a project's files and directories, as far as they are written by people.

use std::collections::{BTreeSet, VecDeque};
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
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

    /// Whether it can be run by its own path.
    pub fn is_executable(&self, file: &str) -> bool {
        let metadata = fs::metadata(self.root.join(file));
        metadata.is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o100 != 0)
    }

    /// The texts of the project's CI workflows.
    pub fn workflows(&self) -> Vec<String> {
        let directory = self.root.join(".github/workflows");
        let mut files: Vec<_> =
            fs::read_dir(directory).into_iter().flatten().filter_map(Result::ok).collect();
        files.sort_by_key(fs::DirEntry::file_name);
        files.iter().filter_map(|file| fs::read_to_string(file.path()).ok()).collect()
    }

    /// Whether the checkout has a virtual environment of Python.
    pub fn has_environment(&self) -> bool {
        [".venv", "venv", "env"].iter().any(|name| self.root.join(name).join("pyvenv.cfg").exists())
    }

    /// The highest version among git's tags, for tools that would ask git.
    pub fn last_version(&self) -> String {
        let tag = self.last_tag();
        let highest = tag.as_deref().and_then(numbers).unwrap_or_else(|| vec![0, 1]);
        highest.iter().map(u64::to_string).collect::<Vec<_>>().join(".")
    }

    /// The tag of that version, as it is spelled.
    pub fn last_tag(&self) -> Option<String> {
        let packed = fs::read_to_string(self.root.join(".git/packed-refs")).unwrap_or_default();
        let loose =
            fs::read_dir(self.root.join(".git/refs/tags")).into_iter().flatten().filter_map(Result::ok);
        let loose = loose.filter_map(|entry| entry.file_name().into_string().ok());
        let packed = packed.lines().filter_map(|line| Some(line.split_once("refs/tags/")?.1.to_owned()));
        let versions = packed.chain(loose).filter_map(|tag| Some((numbers(&tag)?, tag)));
        versions.max().map(|(_, tag)| tag)
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

/// The numbers of a tag such as `v1.2.3`; none if it is anything else.
fn numbers(tag: &str) -> Option<Vec<u64>> {
    let tag = tag.trim_start_matches(|letter: char| !letter.is_ascii_digit());
    let parts: Option<Vec<u64>> = tag.split('.').map(|part| part.parse().ok()).collect();
    parts.filter(|parts| parts.len() > 1)
}
