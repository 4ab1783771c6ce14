//! A project made of text, and plans shown as text.

use std::fs;
use std::path::Path;

use windlass_plan::{PlanError, PlanFormat, Planned};

/// Files as `== name` lines, each followed by its content.
pub fn project(files: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for part in files.split("== ").skip(1) {
        let (name, content) = part.split_once('\n').unwrap();
        fs::write(dir.path().join(name), content).unwrap();
    }
    dir
}

/// The plan of one file, its format told by the file.
pub fn planned(name: &str, content: &str) -> Planned {
    planned_as(name, content, None)
}

pub fn planned_as(name: &str, content: &str, format: Option<PlanFormat>) -> Planned {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join(name), content).unwrap();
    windlass_plan::check(name, dir.path(), format).unwrap_or_else(|problems| panic!("{problems:?}"))
}

/// Every problem of one file with its remedy, a line each.
pub fn problems(name: &str, content: &str) -> String {
    problems_as(name, content, None)
}

pub fn problems_as(name: &str, content: &str, format: Option<PlanFormat>) -> String {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join(name), content).unwrap();
    let problems = windlass_plan::check(name, dir.path(), format).unwrap_err();
    shown(&problems, dir.path())
}

/// Each problem with its remedy, the directory's own path left out.
pub fn shown(problems: &[PlanError], dir: &Path) -> String {
    let dir = dir.display().to_string();
    let line = |problem: &PlanError| format!("{problem}; {}\n", problem.remedy());
    let text: String = problems.iter().map(line).collect();
    text.replace(&format!("{dir}/"), "").replace(&dir, "DIR")
}

/// The plan without its texts, a line for each task.
pub fn outline(planned: &Planned) -> String {
    let mut out = format!("goal: {}\n", planned.goal);
    for task in &planned.tasks {
        let on: Vec<&str> = task.depends_on.iter().map(|id| id.as_str()).collect();
        let accept: Vec<&str> = task.acceptance.iter().map(|criterion| criterion.text.as_str()).collect();
        let done = if task.done { " | done" } else { "" };
        let blocked = if task.blocked { " | blocked" } else { "" };
        out += &format!(
            "{}: {} | {} | on {on:?} | {} | {accept:?}{done}{blocked}\n",
            task.line, task.id, task.title, task.priority
        );
    }
    out
}
