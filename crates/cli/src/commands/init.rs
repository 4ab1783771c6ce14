//! `windlass init`: a windlass.toml for this repository, and a first task.

use std::io::IsTerminal;
use std::path::Path;

use windlass_app::{
    CheckTries, InitReport, InitRequest, PlanningTalk, PromptPlan, StackReport, TestWay, TriedWay,
    TryObserver,
};

use super::planning::{PlanningPrinter, say_heard, say_plan, say_reading};
use crate::args::InitArgs;
use crate::exit::Exit;
use crate::failure::{Failure, OrFail};
use crate::place::Locations;
use crate::show::out::{say, say_part};
use crate::show::red_lines::red_lines;
use crate::show::text;
use crate::signals;

/// A line that is broken between words.
macro_rules! tell {
    ($($words:tt)*) => { say!("{}", text::wrap(&format!($($words)*), "    ")) };
}

pub fn init(locations: &Locations, asked: &InitArgs) -> Result<Exit, Failure> {
    let scratch = tempfile::tempdir().or_error()?;
    let interrupts = signals::interrupts()?;
    let tries = CheckTries { interrupts: &interrupts, observer: &mut TryPrinter };
    let planning = PlanningTalk {
        interrupts: &interrupts,
        observer: &mut PlanningPrinter,
        live: &say_heard,
        scratch: scratch.path(),
    };
    let request = InitRequest {
        prompt: asked.prompt.clone(),
        make_repository: asked.git,
        may_overwrite: &|file| asked.force || may_replace(file),
        tries: (!asked.no_try).then_some(tries),
        ask_agent: asked.ask_agent,
        here: asked.here,
        planning: (!asked.no_plan).then_some(planning),
    };
    let directory = locations.directory()?;
    let made = windlass_app::init(&directory, &locations.caller()?, request, scratch.path())?;
    conclude(&made);
    if let Some(repository) = &made.new_repository {
        say!("made a git repository in {}", repository.display());
    }
    if made.first_commit {
        say!("made the first commit of this repository");
    }
    match &made.plan {
        PromptPlan::Planned(report) => say_plan(report),
        PromptPlan::NotPlanned { why } => {
            let why = why.trim_end_matches("; nothing was written");
            let why = format!("The prompt is one task: no agent could be asked for a plan ({why}).");
            say!("{}", text::wrap(&why, "  "));
        }
        PromptPlan::OneTask => {}
    }
    if !matches!(made.plan, PromptPlan::Planned(_)) {
        for file in &made.written {
            tell!("wrote {}", file.strip_prefix(&directory).unwrap_or(file).display());
        }
    }
    say_next(&directory, &made);
    Ok(Exit::Done)
}

/// Shows each trial as it goes.
struct TryPrinter;

impl TryObserver for TryPrinter {
    fn asking(&mut self, agent: &str) {
        say!("asking {agent} how this project is set up and tested");
    }

    fn trying(&mut self, stack: &str, way: &TestWay) {
        say!("{stack}: trying in the sandbox");
        for step in &way.setup {
            say!("  set-up  {}", text::clean(step));
        }
        say!("  check   {}", text::clean(&way.run));
    }

    fn tried(&mut self, result: &TriedWay) {
        say_tried(result);
    }
}

pub(super) fn say_tried(result: &TriedWay) {
    match result {
        TriedWay::Green { duration } => say!("  green, {duration}"),
        TriedWay::Red { ending, excerpt, .. } => say!("  red: {ending}\n{}", why_red(excerpt)),
        TriedWay::NotSetUp { ending, excerpt } => {
            say!("  the set-up failed: {ending}\n{}", why_red(excerpt));
        }
        TriedWay::NotRun { why } => say!("{}", text::wrap(&format!("  not run: {why}"), "    ")),
    }
}

fn why_red(excerpt: &str) -> String {
    const MOST: usize = 8;
    red_lines(excerpt, MOST)
        .iter()
        .map(|line| text::wrap(&format!("    {line}"), "      "))
        .collect::<Vec<_>>()
        .join("\n")
}

/// What is to be known of the checks before the next step.
fn conclude(made: &InitReport) {
    let stacks = made.stacks.iter().flatten();
    let green = |stack: &&StackReport| stack.green;
    let any_green = stacks.clone().any(|stack| stack.green);
    if made.recognised.is_empty() && !any_green {
        tell!("No way to test this project was recognised: write a check into windlass.toml.");
        if let [first, ..] = &made.below[..] {
            tell!("Projects of their own are below: {}.", made.below.join(", "));
            tell!("  `cd {first} && windlass init --force` sets up one of them.");
        }
    }
    if let Some(dir) = &made.dir {
        tell!("The project is {dir}: its checks run there, and its sources are what agents change.");
    }
    for stack in stacks.clone().filter(|stack| !green(stack)) {
        tell!(
            "{}: no way to test it was green; {}.",
            stack.name,
            if any_green { "it is left out" } else { "the likeliest is written" }
        );
        for cause in &stack.causes {
            tell!("{}", text::wrap(&format!("  {}", text::clean(cause)), "    "));
        }
        if !any_green {
            tell!("  If your tests should be green now, mend it in windlass.toml before you run.");
        }
        for missing in &stack.missing {
            tell!("  missing on this machine: {missing}");
        }
        if !stack.missing.is_empty() && !any_green {
            tell!("  install it, then: windlass init --force");
        }
    }
    if let Some(files) = &made.uncommitted {
        tell!(
            "The last commit was tried, not what differs from it in your checkout: {}.",
            text::clean(files)
        );
        tell!("  If the tests need that, commit it, then: windlass init --force");
    }
}

fn is_at_root(directory: &Path, made: &InitReport) -> bool {
    let root = made.written.first().and_then(|file| file.parent()).map(Path::canonicalize);
    matches!((directory.canonicalize(), root), (Ok(here), Some(Ok(root))) if here == root)
}

/// Each line is a step; the last is needed by nobody at once.
fn say_next(directory: &Path, made: &InitReport) {
    say!("\nnext:");
    if let Some(out) = &made.signed_out {
        match &out.left_out {
            Some(file) => tell!(
                "  set `own_config = true` under [agent] in windlass.toml    ({} is left out without it)",
                file.display()
            ),
            None => tell!("  {}    (nobody is signed in to {})", out.sign_in, out.agent),
        }
    }
    if made.agent.is_none() && made.own_agent.is_none() {
        tell!("  set `command` under [agent] in windlass.toml: no known agent is installed");
    }
    let own = made.own_agent.as_deref().filter(|adapter| *adapter != "command");
    let who = made.agent.as_ref().map(|agent| agent.name).or(own).unwrap_or("your agent");
    if let PromptPlan::Planned(report) = &made.plan {
        say_reading(&report.files);
        tell!("  windlass run    ({who} does the tasks; nothing runs before)");
        return;
    }
    match &made.task {
        Some(task) if made.has_prompt => tell!("  windlass run    ({who} does {task})"),
        Some(task) => {
            tell!("  windlass run \"Add a function ... with tests\"    ({who} does it)");
            tell!("  or write what is to be done into {task}, then: windlass run");
        }
        None => {
            tell!("  windlass run    ({who} does the tasks in tasks/)");
            tell!("  or: windlass run \"Add a function ... with tests\"");
        }
    }
    // From any directory of the repository, `:/` is its root.
    let files = if is_at_root(directory, made) { "windlass.toml tasks" } else { ":/windlass.toml :/tasks" };
    tell!("  git add {files} && git commit    (keeps both for later)");
}

/// Asks only where there is someone to answer.
fn may_replace(file: &Path) -> bool {
    if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        return false;
    }
    say_part!("{} is there already. Replace it? [y/N] ", file.display());
    // An answer that cannot be read is a no.
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer).is_ok() && matches!(answer.trim(), "y" | "Y" | "yes")
}
