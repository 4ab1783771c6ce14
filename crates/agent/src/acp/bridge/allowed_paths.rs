//! Where an agent's files may lie. The confinement holds whatever is said here; this answers politely, and
//! leaves a record.

use std::fs;
use std::path::{Component, Path, PathBuf};

use serde_json::{Value, json};

use super::super::{Access, Terms};
use super::wire::{self, RpcReply};
use crate::cli::line::{count, text, words};

const LONGEST_FILE: u64 = 16 * 1024 * 1024;

pub struct AllowedPaths {
    workspace: PathBuf,
    write: Vec<PathBuf>,
    read: Vec<PathBuf>,
    access: Access,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathUse {
    Read,
    Write,
}

impl AllowedPaths {
    pub fn new(terms: &Terms) -> Self {
        let real = |path: &PathBuf| path.canonicalize().unwrap_or_else(|_| path.clone());
        Self {
            workspace: real(&terms.workspace),
            write: terms.write.iter().map(real).collect(),
            read: terms.read.iter().map(real).collect(),
            access: terms.access,
        }
    }

    /// The real path of one that the wish is granted for.
    pub fn grant(&self, path: &str, wish: PathUse) -> Result<PathBuf, String> {
        let outside = || format!("{path} is outside the workspace");
        let real = resolve(&self.workspace.join(path)).ok_or_else(outside)?;
        let is_below = |roots: &[PathBuf]| roots.iter().any(|root| real.starts_with(root));
        let in_workspace = real.starts_with(&self.workspace);
        match wish {
            PathUse::Write if is_below(&self.write) => Ok(real),
            PathUse::Write if in_workspace && self.access == Access::Write => Ok(real),
            PathUse::Write if in_workspace => Err(READ_ONLY.to_owned()),
            PathUse::Read if in_workspace || is_below(&self.write) || is_below(&self.read) => Ok(real),
            PathUse::Read | PathUse::Write => Err(outside()),
        }
    }

    /// Whether files of the workspace may be changed at all.
    pub fn may_edit(&self) -> bool {
        self.access == Access::Write
    }

    pub fn read_file(&self, params: &Value) -> RpcReply {
        let path = words(params, "/path");
        let real = self.granted(path, PathUse::Read)?;
        let size = fs::metadata(&real).map_err(|error| missing(path, &error))?.len();
        if size > LONGEST_FILE {
            return Err(wire::failed(format!("{path} is too large to be read at once: {size} bytes")));
        }
        let bytes = fs::read(&real).map_err(|error| missing(path, &error))?;
        let content = String::from_utf8(bytes).map_err(|_| wire::failed(format!("{path} is no text")))?;
        Ok(json!({"content": part(&content, count(params, "/line"), count(params, "/limit"))}))
    }

    pub fn write_file(&self, params: &Value) -> RpcReply {
        let path = words(params, "/path");
        let real = self.granted(path, PathUse::Write)?;
        let content =
            text(params, "/content").ok_or_else(|| wire::invalid("there is no content".to_owned()))?;
        let made = real.parent().map_or(Ok(()), fs::create_dir_all);
        let written = made.and_then(|()| fs::write(&real, content));
        written.map_err(|error| wire::failed(format!("cannot write {path}: {error}")))?;
        Ok(Value::Null)
    }

    /// The directory that a command of the agent runs in.
    pub fn directory(&self, params: &Value) -> Result<PathBuf, (i64, String)> {
        match text(params, "/cwd") {
            Some(path) => self.granted(path, PathUse::Read),
            None => Ok(self.workspace.clone()),
        }
    }

    fn granted(&self, path: &str, wish: PathUse) -> Result<PathBuf, (i64, String)> {
        if path.is_empty() {
            return Err(wire::invalid("there is no path".to_owned()));
        }
        self.grant(path, wish).map_err(|why| {
            let verb = if wish == PathUse::Read { "read" } else { "write" };
            wire::refused(&format!("{verb} {path}"), &why);
            wire::invalid(format!("refused by windlass: {why}"))
        })
    }
}

pub const READ_ONLY: &str = "a reviewer changes no file but its report";

/// With every link followed; what does not exist yet is below what does. None where it cannot be told.
fn resolve(path: &Path) -> Option<PathBuf> {
    let mut missing = Vec::new();
    let mut existing = path;
    while fs::symlink_metadata(existing).is_err() {
        match existing.components().next_back()? {
            Component::Normal(name) => missing.push(name.to_owned()),
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return None,
        }
        existing = existing.parent()?;
    }
    let mut real = existing.canonicalize().ok()?;
    real.extend(missing.iter().rev());
    Some(real)
}

/// From a line, counted from 1, as many as asked for.
fn part(content: &str, line: Option<u64>, limit: Option<u64>) -> String {
    let number = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
    let first = line.map_or(0, |line| number(line).saturating_sub(1));
    content.split_inclusive('\n').skip(first).take(limit.map_or(usize::MAX, number)).collect()
}

/// The protocol's own number for a file that is not there.
fn missing(path: &str, error: &std::io::Error) -> (i64, String) {
    if error.kind() == std::io::ErrorKind::NotFound {
        return (-32002, format!("{path} does not exist"));
    }
    wire::failed(format!("cannot read {path}: {error}"))
}
