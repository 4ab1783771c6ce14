//! `windlass init`: a windlass.toml for this repository, and a first task.

use std::io::IsTerminal;
use std::path::Path;

use windlass_app::{CheckTries, InitReport, InitRequest, Login, StackReport, TestWay, TriedWay, TryObserver};

use crate::args::InitArgs;
use crate::exit::Exit;
use crate::failure::{Failure, OrFail};
use crate::place::Locations;
use crate::show::out::{say, say_part};
use crate::show::text;
use crate::signals;

pub fn init(locations: &Locations, asked: &InitArgs) -> Result<Exit, Failure> {
    let scratch = tempfile::tempdir().or_error()?;
    let interrupts = signals::interrupts()?;
    let tries = CheckTries { interrupts: &interrupts, observer: &mut TryPrinter };
    let request = InitRequest {
        prompt: asked.prompt.clone(),
        make_repository: asked.git,
        may_overwrite: &|file| asked.force || may_replace(file),
        tries: (!asked.no_try).then_some(tries),
        ask_agent: asked.ask_agent,
    };
    let made = windlass_app::init(&locations.directory()?, &locations.caller()?, request, scratch.path())?;
    conclude(&made);
    if let Some(repository) = &made.new_repository {
        say!("made a git repository in {}", repository.display());
    }
    for file in &made.written {
        say!("wrote {}", file.display());
    }
    say!("\nnext:\n  1. {}\n  2. git add windlass.toml tasks && git commit\n  3. windlass run", first(&made));
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
        match result {
            TriedWay::Green { duration } => say!("  green, {duration}"),
            TriedWay::Red { ending, excerpt } => say!("  red: {ending}\n{}", last_lines(excerpt)),
            TriedWay::NotSetUp { ending, excerpt } => {
                say!("  the set-up failed: {ending}\n{}", last_lines(excerpt));
            }
            TriedWay::NotRun { why } => say!("  not run: {}", text::clean(why)),
        }
    }
}

/// What matters of a failure stands at its end.
fn last_lines(excerpt: &str) -> String {
    const MOST: usize = 8;
    let lines: Vec<&str> = excerpt.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = &lines[lines.len().saturating_sub(MOST)..];
    last.iter().map(|line| format!("    {}", text::clean(line))).collect::<Vec<_>>().join("\n")
}

/// What is to be known of the checks before the next step.
fn conclude(made: &InitReport) {
    let stacks = made.stacks.iter().flatten();
    let green = |stack: &&StackReport| stack.green;
    let any_green = stacks.clone().any(|stack| stack.green);
    if made.recognised.is_empty() && !any_green {
        say!("No way to test this project was recognised: write a check into windlass.toml.");
    }
    for stack in stacks.clone().filter(|stack| !green(stack)) {
        say!(
            "{}: no way to test it was green; {}.",
            stack.name,
            if any_green { "it is left out" } else { "the likeliest is written" }
        );
        if !any_green {
            say!("  If your tests should be green now, mend it in windlass.toml before you run.");
        }
        for missing in &stack.missing {
            say!("  missing on this machine: {missing}");
        }
    }
}

fn first(made: &InitReport) -> String {
    match &made.agent {
        Some(agent) if agent.login == Login::None => {
            format!("read both files; sign in to {} (`windlass agents --probe {0}`)", agent.name)
        }
        Some(agent) => format!("read both files; the agent is {}", agent.name),
        None => "read both files; set `command` under [agent]".to_owned(),
    }
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
