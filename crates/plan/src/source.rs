//! From the name of a source to its plan: what it is, and its bytes.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use windlass_core::nearest::nearest;

use crate::error::PlanError;
use crate::format::{self, PlanFormat};
use crate::jsonc::plain_json;
use crate::link::BadPlan;
use crate::place::FilePosition;
use crate::{Planned, checklist, codescribe, github_issues, goal, milestones, prd, task_file, tasks_dir};

pub const MAX_FILE_BYTES: u64 = 1024 * 1024;
pub const MAX_JSON_BYTES: u64 = 8 * 1024 * 1024;

/// Reads whatever `source` names: a directory or file under `project` (or an
/// absolute one), or else, when it has a blank in it and is not written like a
/// path, a goal sentence. A format given here is not looked for. The first
/// problem is the one reported.
pub fn read(source: &str, project: &Path, format: Option<PlanFormat>) -> Result<Planned, PlanError> {
    check(source, project, format).map_err(first)
}

/// The same, with every problem, in plan order.
pub fn check(source: &str, project: &Path, format: Option<PlanFormat>) -> Result<Planned, Vec<PlanError>> {
    look(source, project, format).map_err(|bad| bad.problems)
}

/// The same, with what could be read of a plan that is refused.
pub fn look(source: &str, project: &Path, format: Option<PlanFormat>) -> Result<Planned, BadPlan> {
    let source = source.trim();
    if source.is_empty() {
        return Err(vec![PlanError::NoSource].into());
    }
    let path = project.join(source);
    if path.is_dir() {
        return match format {
            None | Some(PlanFormat::Tasks) => tasks_dir::look_in(&path, project),
            Some(format) => Err(vec![PlanError::IsDirectory { dir: path, format }].into()),
        };
    }
    // A link that leads nowhere is a fault of its own, and no sentence.
    if path.symlink_metadata().is_ok() {
        return file(&path, project, format);
    }
    let nearest = nearest_name(source, &path);
    let is_sentence = source.contains(char::is_whitespace) && !is_like_a_path(source);
    if format.is_none() && is_sentence && nearest.is_none() {
        return goal::read(source).map_err(|error| vec![error].into());
    }
    let is_file = format.is_some_and(|format| format != PlanFormat::Tasks) || path.extension().is_some();
    Err(vec![if is_file {
        PlanError::FileMissing { file: path, nearest }
    } else {
        PlanError::DirectoryMissing { dir: path, nearest }
    }]
    .into())
}

/// Whether somebody who wrote this meant a file: a mistyped name would else start agents on its words.
fn is_like_a_path(source: &str) -> bool {
    const ENDINGS: [&str; 8] = ["md", "markdown", "json", "jsonc", "toml", "txt", "yaml", "yml"];
    let ending = source.rsplit_once('.').map(|(_, ending)| ending.to_lowercase());
    source.contains('/') || ending.is_some_and(|ending| ENDINGS.contains(&ending.as_str()))
}

/// What is there beside the missing name and nearly has that name, as the source would name it.
fn nearest_name(source: &str, path: &Path) -> Option<String> {
    let missing = path.file_name()?.to_str()?;
    let entries = path.parent()?.read_dir().ok()?.flatten();
    let names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let nearest = nearest(missing, names.iter().map(String::as_str))?;
    let above = source.trim_end_matches('/').strip_suffix(missing)?;
    Some(format!("{above}{nearest}"))
}

pub(crate) fn is_json(file: &Path) -> bool {
    let extension = file.extension().and_then(|extension| extension.to_str()).map(str::to_lowercase);
    matches!(extension.as_deref(), Some("json" | "jsonc"))
}

pub(crate) fn first(problems: Vec<PlanError>) -> PlanError {
    problems.into_iter().next().expect("a refusal has a reason")
}

fn file(path: &Path, project: &Path, format: Option<PlanFormat>) -> Result<Planned, BadPlan> {
    let limit = match format {
        Some(PlanFormat::Tasks) => return Err(vec![PlanError::IsFile { file: path.to_owned() }].into()),
        Some(PlanFormat::Prd | PlanFormat::GithubIssues) => MAX_JSON_BYTES,
        None if is_json(path) => MAX_JSON_BYTES,
        Some(PlanFormat::Task | PlanFormat::Milestones | PlanFormat::Codescribe | PlanFormat::Checklist)
        | None => MAX_FILE_BYTES,
    };
    let text =
        not_led_out(path, project).and_then(|()| read_text(path, limit)).map_err(|error| vec![error])?;
    let has_comments = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("jsonc"));
    let text = if has_comments { plain_json(&text) } else { text };
    let format = match format {
        Some(format) => format,
        None => format::of_file(path, &text).map_err(|error| vec![error])?,
    };
    if format == PlanFormat::Codescribe {
        inside(path, project).map_err(|error| vec![error])?;
    }
    parse(format, path, &text)
}

/// What a text says, wherever it came from.
pub(crate) fn parse(format: PlanFormat, file: &Path, text: &str) -> Result<Planned, BadPlan> {
    match format {
        PlanFormat::Tasks => Err(vec![PlanError::IsFile { file: file.to_owned() }].into()),
        PlanFormat::Task => task_file::parse(file, text),
        PlanFormat::Milestones => milestones::parse(file, text),
        PlanFormat::Prd => prd::parse(file, text),
        PlanFormat::Codescribe => codescribe::parse(file, text),
        PlanFormat::Checklist => checklist::parse(file, text),
        PlanFormat::GithubIssues => github_issues::parse(file, text),
    }
}

/// A link of the project's that leads out of it could tell an agent of any file there is.
pub(crate) fn not_led_out(path: &Path, project: &Path) -> Result<(), PlanError> {
    let is_link = path.symlink_metadata().is_ok_and(|found| found.is_symlink());
    let whole = |path: &Path| path.canonicalize().ok();
    let is_ours = || Some(whole(path.parent()?)?.starts_with(whole(project)?));
    if is_link && path.exists() && is_ours() == Some(true) { inside(path, project) } else { Ok(()) }
}

/// CodeScribe's own rule: its task must lie in the tree it is about.
fn inside(path: &Path, project: &Path) -> Result<(), PlanError> {
    let unreadable = |cause| PlanError::Unreadable { file: path.to_owned(), cause };
    let real = path.canonicalize().map_err(unreadable)?;
    let top = project.canonicalize().map_err(unreadable)?;
    if real.starts_with(&top) {
        return Ok(());
    }
    Err(PlanError::OutsideProject { file: path.to_owned(), project: project.to_owned() })
}

pub(crate) fn read_text(path: &Path, limit: u64) -> Result<String, PlanError> {
    let unreadable = |cause| PlanError::Unreadable { file: path.to_owned(), cause };
    // Looked at before it is opened: opening a named pipe would wait for ever.
    if !path.metadata().map_err(unreadable)?.is_file() {
        return Err(PlanError::NotAFile { file: path.to_owned() });
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(unreadable)?;
    file.take(limit + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > limit {
        return Err(PlanError::TooLarge { file: path.to_owned(), limit });
    }
    utf8(path, bytes)
}

pub(crate) fn utf8(path: &Path, bytes: Vec<u8>) -> Result<String, PlanError> {
    if let Some(at) = bytes.iter().position(|byte| *byte == 0) {
        let before = String::from_utf8_lossy(&bytes[..at]);
        return Err(PlanError::NulByte { place: end_of(&before, path) });
    }
    String::from_utf8(bytes).map_err(|error| {
        let valid = String::from_utf8_lossy(&error.as_bytes()[..error.utf8_error().valid_up_to()]);
        PlanError::NotUtf8 { place: end_of(&valid, path) }
    })
}

fn end_of(text: &str, file: &Path) -> FilePosition {
    let last = text.rsplit('\n').next().unwrap_or_default();
    let line = text.matches('\n').count() + 1;
    FilePosition { file: file.to_owned(), line, column: last.chars().count() + 1 }
}
