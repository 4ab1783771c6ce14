//! `windlass plan "PROMPT"`, and the planner of `windlass init`: asking for a plan, and showing what was written.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use windlass_app::{
    Live, PlanWish, PlannedFile, PlanningObserver, PlanningReport, PlanningTalk, ProposedCheck, TriedWay,
};

use crate::args::PlanArgs;
use crate::commands::init::say_tried;
use crate::exit::Exit;
use crate::failure::{Failure, OrFail};
use crate::place::Locations;
use crate::show::out::say;
use crate::show::text::{self, Colour, paint};
use crate::signals;

/// The largest document that is read for a plan.
const LARGEST_SPEC: u64 = 1 << 20;

pub fn make(locations: &Locations, asked: &PlanArgs) -> Result<Exit, Failure> {
    let wish = wish(locations, asked)?;
    let scratch = tempfile::tempdir().or_error()?;
    let interrupts = signals::interrupts()?;
    let mut talk = PlanningTalk {
        interrupts: &interrupts,
        observer: &mut PlanningPrinter,
        live: &say_heard,
        scratch: scratch.path(),
    };
    let report = locations.open_project()?.make_plan(&wish, &mut talk)?;
    say_plan(&report);
    say!("\nnext:");
    say_reading(&report.files);
    say!("  windlass run    (nothing runs before)");
    Ok(Exit::Done)
}

fn wish(locations: &Locations, asked: &PlanArgs) -> Result<PlanWish, Failure> {
    let text = match (&asked.revise, &asked.prompt) {
        (Some(text), _) => text.clone(),
        (None, Some(word)) if asked.from.is_none() && !word.trim().contains(char::is_whitespace) => {
            return Err(Failure::usage(format!("`windlass plan` has no verb {word}"))
                .hint("`windlass plan show` draws the plan, `windlass plan check` looks for problems")
                .hint("to plan, say what you want in a sentence: windlass plan \"Add …\""));
        }
        (None, text) => text.clone().unwrap_or_default(),
    };
    let spec = asked.from.as_deref().map(|file| spec(locations, file)).transpose()?;
    if text.trim().is_empty() && spec.is_none() {
        return Err(Failure::usage("`windlass plan` needs to know what you want")
            .hint("`windlass plan show` draws the plan that is there")
            .hint("windlass plan \"WHAT YOU WANT\", or windlass plan --from SPEC.md"));
    }
    Ok(PlanWish { text, spec, revises: asked.revise.is_some() })
}

fn spec(locations: &Locations, file: &Path) -> Result<(String, String), Failure> {
    let path = locations.directory()?.join(file);
    let bad = |why: String| {
        Failure::usage(format!("{}: {why}", file.display())).hint("--from takes a text file, such as SPEC.md")
    };
    let found = fs::metadata(&path).map_err(|error| {
        let is_absent = error.kind() == ErrorKind::NotFound;
        bad(if is_absent { "there is no such file".to_owned() } else { error.to_string() })
    })?;
    if !found.is_file() {
        return Err(bad("it is not a file".to_owned()));
    }
    if found.len() > LARGEST_SPEC {
        return Err(bad(format!("it is larger than {} KiB", LARGEST_SPEC / 1024)));
    }
    let text = fs::read_to_string(&path).map_err(|error| bad(error.to_string()))?;
    if text.trim().is_empty() {
        return Err(bad("it is empty".to_owned()));
    }
    Ok((file.display().to_string(), text))
}

/// Shows each question and what was wrong with its answer.
pub struct PlanningPrinter;

impl PlanningObserver for PlanningPrinter {
    fn asking(&mut self, agent: &str, nth: usize) {
        match nth {
            1 => say!("asking {agent} for a plan (it may only read)"),
            nth => say!("asking {agent} again, with what was wrong ({nth} of 3)"),
        }
    }

    fn refused(&mut self, problems: &[String]) {
        say!("{}", paint("  its answer cannot be used:", Colour::Busy));
        for problem in problems {
            say!("{}", text::wrap(&format!("  - {problem}"), "    "));
        }
    }

    fn trying(&mut self, check: &ProposedCheck) {
        say!("{}", text::wrap(&format!("trying the check {}: {}", check.name, check.run), "  "));
    }

    fn tried(&mut self, result: &TriedWay) {
        say_tried(result);
    }
}

/// What the planner says and does, a line each.
pub fn say_heard(live: Live) {
    let line = match live {
        Live::Text { text } => text.lines().find(|line| !line.trim().is_empty()).map(str::to_owned),
        Live::ToolFinished { tool, .. } => Some(format!("{}: {}", tool.name, tool.what)),
        Live::Retry(retry) => Some(format!("it tries again: {}", retry.why)),
        Live::RefusedCall(call) => Some(format!("refused: {}: {}", call.what, call.why)),
        Live::ToolStarted(_)
        | Live::Touched(_)
        | Live::Tokens(_)
        | Live::StepStarted(_)
        | Live::CheckFinished(_)
        | Live::Held => None,
    };
    if let Some(line) = line {
        say!("{}", paint(&text::fit(&format!("  {line}"), text::width()), Colour::Faint));
    }
}

/// The plan, its checks and its files.
pub fn say_plan(report: &PlanningReport) {
    let tasks = if report.tasks == 1 { "1 task".to_owned() } else { format!("{} tasks", report.tasks) };
    say!("\nthe plan: {tasks}");
    for line in report.picture.lines() {
        say!("{}", text::fit(&text::clean(line), text::width()));
    }
    for (task, globs) in &report.allowed {
        let line = format!("  {task} may change what is protected: {}", globs.join(", "));
        say!("{}", text::wrap(&text::clean(&line), "    "));
    }
    for (check, result) in &report.checks {
        let colour = match result {
            TriedWay::Green { .. } => paint("green", Colour::Good),
            TriedWay::Red { .. } | TriedWay::NotSetUp { .. } => paint("red", Colour::Bad),
            TriedWay::NotRun { .. } => "not run".to_owned(),
        };
        say!("  new check {}: {colour} on the head", text::clean(&check.name));
    }
    say!("");
    for change in &report.files {
        let what = match (&change.before, &change.after) {
            (None, _) => format!("wrote    {}", change.path),
            (Some(_), Some(_)) => format!("changed  {}", change.path),
            (Some(_), None) => format!("removed  {}", change.path),
        };
        say!("{}", text::clean(&what));
    }
}

/// How the operator reads what was written, and puts it where a loop starts from.
pub fn say_reading(files: &[PlannedFile]) {
    let mut tops: Vec<&str> = files
        .iter()
        .map(|change| change.path.split_once('/').map_or(&*change.path, |(top, _)| top))
        .collect();
    tops.sort_unstable();
    tops.dedup();
    let tops: Vec<String> = tops.iter().map(|top| format!(":/{top}")).collect();
    let tops = tops.join(" ");
    say!("  git add -N {tops} && git diff   (read it)");
    say!("  git add {tops} && git commit -m \"The plan\"");
}
