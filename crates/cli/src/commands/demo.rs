//! `windlass demo`: the main job on a small repository, offline, with an agent
//! that lies before it works.

use std::path::{Path, PathBuf};

use windlass_app::OpenProject;
use windlass_core::event::{
    AttemptEvent, Event, FindingEvent, GateEvent, IterationEvent, IterationResult, Novelty, TaskEvent,
};

use super::run;
use windlass_core::time::Millis;

use crate::args::{DemoArgs, RunArgs};
use crate::exit::Exit;
use crate::failure::{Failure, OrFail};
use crate::place::Locations;
use crate::show::out::say;
use crate::show::text::{Colour, paint, wrap};

const NAME: &str = "demo";

const FILES: &[(&str, &str)] = &[
    ("calc.sh", include_str!("../../demo/calc.sh")),
    ("test.sh", include_str!("../../demo/test.sh")),
    ("agent.toml", include_str!("../../demo/agent.toml")),
    ("windlass.toml", include_str!("../../demo/windlass.toml")),
    ("tasks/001-add.md", include_str!("../../demo/tasks/001-add.md")),
    ("tasks/002-double.md", include_str!("../../demo/tasks/002-double.md")),
    ("tasks/003-report.md", include_str!("../../demo/tasks/003-report.md")),
];

pub fn demo(asked: &DemoArgs) -> Result<Exit, Failure> {
    let temporary = tempfile::Builder::new().prefix("windlass-demo-").tempdir().or_error()?;
    let root = match &asked.dir {
        Some(dir) => dir.clone(),
        None => temporary.path().to_owned(),
    };
    let project = root.join("project");
    let locations = Locations { project: Some(project.clone()), state_dir: Some(root.join("state")) };
    lay_out(&project, &locations)?;
    say!(
        "{}",
        paint("A small repository, three tasks that depend on one another, three checks,", Colour::Bold)
    );
    say!("{}\n", paint("and an agent that lies before it works.", Colour::Bold));
    let (_, exit) = run::go(&locations, &order(), run::Closing::Plain)?;
    let place = locations.open_project()?;
    let caught = caught(&place)?;
    say!("\n{}", paint("What the agent said, and what windlass saw:", Colour::Bold));
    for line in &caught {
        say!("{}", wrap(&format!("  {line}"), "    "));
    }
    proof(&place)?;
    close(asked, temporary);
    Ok(exit)
}

fn order() -> RunArgs {
    RunArgs {
        what: None,
        name: Some(NAME.to_owned()),
        plan: None,
        policy: None,
        set: Vec::new(),
        base: None,
        task: None,
        until: None,
        max: None,
        no_review: false,
        once: false,
        retry_blocked: false,
        continuous: false,
        every: Millis(0),
        max_cycles: None,
        dry_run: false,
        detach: false,
        json: false,
    }
}

fn lay_out(project: &Path, locations: &Locations) -> Result<(), Failure> {
    if project.exists() {
        return Err(Failure::usage(format!("{} is there already", project.display())));
    }
    for (name, text) in FILES {
        let file = project.join(name);
        let dir = file.parent().unwrap_or(project);
        std::fs::create_dir_all(dir).or_error()?;
        std::fs::write(&file, text).or_error()?;
    }
    Ok(windlass_app::make_repository(project, &locations.caller()?)?)
}

/// Each lie, from the log: the claim beside the evidence.
#[expect(clippy::wildcard_enum_match_arm, reason = "a surface picks the events it shows")]
fn caught(place: &OpenProject) -> Result<Vec<String>, Failure> {
    let row = place.find(Some(NAME))?;
    let mut lines = Vec::new();
    let (mut iteration, mut strays, mut seen) = (0, 0, Vec::new());
    for logged in row.events(None) {
        match logged?.event {
            Event::Iteration(IterationEvent::Opened { iteration: n, .. }) => {
                (iteration, strays, seen) = (n, 0, Vec::new())
            }
            Event::Attempt(AttemptEvent::Finished(finished)) => strays = finished.result.strays,
            Event::Attempt(AttemptEvent::TreeRecorded(tree)) if tree.novelty == Some(Novelty::Unchanged) => {
                seen.push("no file changed".to_owned());
            }
            Event::Finding(FindingEvent::Opened(finding)) => {
                seen.push(format!("it changed {}", finding.file))
            }
            Event::Gate(GateEvent::Failed { failing, .. }) => {
                seen.extend(failing.first().map(|failing| format!("check {} stays red", failing.check)));
            }
            Event::Gate(GateEvent::Reused { passed: false, .. }) => {
                seen.push("the checks stay red".to_owned())
            }
            Event::Iteration(IterationEvent::Closed { result, .. }) if result != IterationResult::Done => {
                if strays > 0 {
                    seen.push("its background process was ended first".to_owned());
                }
                lines.push(format!("iteration {iteration}: it said complete; {}", seen.join(", ")));
            }
            Event::Task(TaskEvent::Done { task, .. }) => {
                lines.push(format!("iteration {iteration}: task {task} proven"))
            }
            _ => {}
        }
    }
    Ok(lines)
}

fn proof(place: &OpenProject) -> Result<(), Failure> {
    let view = place.find(Some(NAME))?.view()?;
    say!("\n{}", paint("The proof:", Colour::Bold));
    if let (Some(commit), Some(tree)) = (&view.commit, &view.tree) {
        say!("  branch  {}", view.branch);
        say!("  commit  {commit}");
        say!("  tree    {tree}");
        say!("  every check green on exactly this tree, on a clean checkout of it");
    }
    Ok(())
}

fn close(asked: &DemoArgs, temporary: tempfile::TempDir) {
    let kept: Option<PathBuf> = match (&asked.dir, asked.keep) {
        (Some(dir), _) => Some(dir.clone()),
        (None, true) => Some(temporary.keep()),
        (None, false) => None,
    };
    say!("\n{}", paint("Next:", Colour::Bold));
    match kept {
        Some(dir) => {
            say!("  the repository is in {}", dir.join("project").display());
            say!("  windlass -C {0}/project --state-dir {0}/state log demo", dir.display());
        }
        None => {
            say!("  windlass demo --keep   keeps the repository for a closer look");
        }
    }
    say!("  windlass init          in a repository of yours, then windlass run");
}
