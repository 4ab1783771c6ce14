//! What may be typed.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand};
use windlass_core::time::Millis;

use crate::operator::OperatorArgs;
use crate::task_args::TaskArgs;
use crate::typed;

/// All commands by what one wants to do, on one screen.
const OVERVIEW: &str = "\
windlass drives coding agents over a plan until the work is proven done.
Usage: windlass [-C DIR] COMMAND      `windlass help COMMAND` says more

Start
  demo                 watch a loop work, offline, in a throwaway repository
  init                 find and try set-up and tests, write windlass.toml
  plan  run            see a plan, run a loop: windlass run \"make it faster\"
  agents  doctor       see which agents are here, and what is missing
Look
  list  status  attach see all loops, how one stands, the screen of one
  show  log            see a task or an attempt in full, follow what happens
  findings  usage      see what reviewers found, and what it cost
  prove  check         see the proof that it is done, or if its end is reached
Direct
  pause  resume  cancel  restart    hold a loop, end its run, open another
  unblock  waive                    try a task again, or do without it
  approve  reject                   let work land, or send it back
  steer  note  set  task            instruct the agent, change policy or plan
Finish
  take  trust          bring the work into your checkout, trust its settings
  rm  export  adopt    remove a loop, write its trail, go on after a move
Set up
  config  gate  prompts  what keys mean, what the gate protects, agents' texts
  completions          print a completion script for a shell
";

/// Drives coding agents over a plan until the work is proven done.
///
/// Done is a proof, not a claim: windlass runs your checks itself, on a clean
/// checkout of exactly what will land. Start with `windlass demo`, then
/// `windlass init` in a repository of yours.
#[derive(Debug, Parser)]
#[command(name = "windlass", version, max_term_width = 100, override_help = OVERVIEW)]
#[command(arg_required_else_help = true)]
pub struct Args {
    /// Work on the repository in this directory
    #[arg(short = 'C', long = "project", value_name = "DIR", global = true)]
    pub project: Option<PathBuf>,

    /// Directory for windlass's records
    #[arg(long, value_name = "DIR", global = true, env = "WINDLASS_STATE_DIR", hide_env_values = true)]
    pub state_dir: Option<PathBuf>,

    #[command(subcommand)]
    pub verb: Verb,
}

#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Run a demo loop in a throwaway repository (offline)
    Demo(DemoArgs),
    /// Write a windlass.toml for this repository
    Init(InitArgs),
    /// Make a plan, show it or check it, before anything runs
    Plan(PlanArgs),
    /// Run a loop until it ends, creating it if there is none
    Run(RunArgs),
    /// Watch a running loop until it ends; Ctrl-C leaves it running
    Attach(AttachArgs),
    /// List this repository's loops
    List(ListArgs),
    /// Show a loop's status
    Status(LoopArgs),
    /// Show a loop's events
    Log(LogArgs),
    /// Show a loop, task, attempt, check or finding in full
    Show(ShowArgs),
    /// List the findings of reviewers and of windlass itself
    Findings(FindingsArgs),
    /// Show token usage and cost
    Usage(LoopArgs),
    /// Print the proof of completion, and check that it still holds
    Prove(ProveArgs),
    /// Evaluate the stop checks of an open-ended loop: exit 0 = stop, 1 = go on
    Check(LoopArgs),
    #[command(flatten)]
    Operate(OperatorArgs),
    /// Change the policy or the plan of a loop
    Set(SetArgs),
    /// List a plan's tasks; add, edit, drop, split or move one
    Task(TaskArgs),
    /// Bring the loop's branch into your checkout
    Take(TakeArgs),
    /// Remove a loop and everything windlass keeps of it
    Rm(RmArgs),
    /// Write the readable trail of a loop
    Export(ExportArgs),
    /// Take over the loops of this repository after it was moved
    Adopt(AdoptArgs),
    /// Explain what the gate makes of a path
    Gate(GateArgs),
    /// List, show or put out the texts that briefs are made of
    Prompts(PromptsArgs),
    /// Explain or list configuration keys
    Config(ConfigArgs),
    /// Check that this machine has what windlass needs
    Doctor(JsonArgs),
    /// List the installed agents, or test one
    Agents(AgentsArgs),
    /// Print a completion script for a shell
    Completions(CompletionsArgs),
}

impl Verb {
    /// Whether its text is all that is asked for.
    pub fn only_shows(&self) -> bool {
        match self {
            Self::List(_)
            | Self::Status(_)
            | Self::Log(_)
            | Self::Show(_)
            | Self::Findings(_)
            | Self::Usage(_)
            | Self::Plan(_)
            | Self::Prove(_)
            | Self::Check(_)
            | Self::Gate(_)
            | Self::Config(_)
            | Self::Prompts(_)
            | Self::Doctor(_)
            | Self::Agents(_)
            | Self::Completions(_) => true,
            Self::Demo(_)
            | Self::Init(_)
            | Self::Run(_)
            | Self::Attach(_)
            | Self::Operate(_)
            | Self::Set(_)
            | Self::Task(_)
            | Self::Take(_)
            | Self::Rm(_)
            | Self::Export(_)
            | Self::Adopt(_) => false,
        }
    }
}

#[derive(Debug, ClapArgs)]
pub struct DemoArgs {
    /// Keep the demo's repository and records, and print where they are
    #[arg(long)]
    pub keep: bool,
    /// Create it in this directory instead of a temporary one
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub struct InitArgs {
    /// What you want: a planner makes tasks of it
    pub prompt: Option<String>,
    /// Write the prompt as one task, and ask no planner
    #[arg(long)]
    pub no_plan: bool,
    /// Create a git repository with a first commit if there is none
    #[arg(long)]
    pub git: bool,
    /// Overwrite an existing windlass.toml
    #[arg(long)]
    pub force: bool,
    /// Write the likeliest set-up and checks without trying them
    #[arg(long)]
    pub no_try: bool,
    /// Where no way to test is green, ask an agent for one, and try it
    #[arg(long, conflicts_with = "no_try")]
    pub ask_agent: bool,
    /// Test the project of this directory only, not the whole repository
    #[arg(long)]
    pub here: bool,
}

#[derive(Debug, ClapArgs)]
#[command(args_conflicts_with_subcommands = true)]
pub struct PlanArgs {
    #[command(subcommand)]
    pub verb: Option<PlanVerb>,
    /// What you want, in a sentence: an agent makes tasks of it
    #[arg(value_name = "PROMPT")]
    pub prompt: Option<String>,
    /// Plan the work that this document describes
    #[arg(long, value_name = "FILE")]
    pub from: Option<PathBuf>,
    /// Change the tasks that are there, in these words
    #[arg(long, value_name = "WHAT", conflicts_with = "prompt")]
    pub revise: Option<String>,
}

#[derive(Debug, Subcommand)]
pub enum PlanVerb {
    /// Draw the tasks and what waits for what, with their state and the critical path
    Show(PlanPictureArgs),
    /// List every problem of a plan
    Check(PlanSourceArgs),
}

#[derive(Debug, ClapArgs)]
pub struct PlanSourceArgs {
    /// The plan: a directory or a file; windlass.toml names the usual one
    #[arg(value_name = "SOURCE")]
    pub source: Option<String>,
    /// What it is written as, where its file leaves it open
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, ClapArgs)]
pub struct PlanPictureArgs {
    #[command(flatten)]
    pub of: PlanSourceArgs,
    /// Draw it for Graphviz
    #[arg(long, conflicts_with_all = ["mermaid", "json"])]
    pub dot: bool,
    /// Draw it for Mermaid
    #[arg(long, conflicts_with = "json")]
    pub mermaid: bool,
}

#[derive(Clone, Debug, ClapArgs)]
pub struct RunArgs {
    /// A loop's name, or a goal in a sentence
    #[arg(value_name = "LOOP | \"GOAL SENTENCE\"")]
    pub what: Option<String>,
    /// The loop's name
    #[arg(long, value_name = "LOOP")]
    pub name: Option<String>,
    /// The plan: tasks/, PLAN.md, prd.json, task.toml
    #[arg(long, value_name = "SOURCE")]
    pub plan: Option<String>,
    /// Extra policy file; overrides windlass.toml
    #[arg(long, value_name = "FILE")]
    pub policy: Option<PathBuf>,
    /// Set one key of the policy, as in `loop.max_iterations=5`
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Start from this commit instead of HEAD
    #[arg(long, value_name = "REF")]
    pub base: Option<String>,
    /// Do only this task
    #[arg(long, value_name = "ID")]
    pub task: Option<String>,
    /// Stop when this task is done
    #[arg(long, value_name = "ID", conflicts_with = "task")]
    pub until: Option<String>,
    /// Stop after this many iterations, at least 1
    #[arg(long, value_name = "N", value_parser = typed::iterations)]
    pub max: Option<u32>,
    /// Skip reviews; finished tasks stay marked unreviewed
    #[arg(long)]
    pub no_review: bool,
    /// Try each task once, whatever comes of it
    #[arg(long)]
    pub once: bool,
    /// Try blocked tasks again first
    #[arg(long)]
    pub retry_blocked: bool,
    /// At the end wait, read the plan again, and go on with what is new; Ctrl-C ends it
    #[arg(long, conflicts_with_all = ["dry_run", "once", "task", "until"])]
    pub continuous: bool,
    /// How long to wait between two looks at the plan
    #[arg(long, value_name = "TIME", default_value = "10m", requires = "continuous", value_parser = windlass_config::parse_duration)]
    pub every: Millis,
    /// Look at the plan at most this often
    #[arg(long, value_name = "N", requires = "continuous", value_parser = typed::whole_number::<u32>)]
    pub max_cycles: Option<u32>,
    /// Check everything and show what would be done; change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Go on in the background, also after you log out; `windlass attach` shows it
    #[arg(long, conflicts_with = "dry_run")]
    pub detach: bool,
    /// Print the loop's View as JSON at the end
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, ClapArgs)]
pub struct AttachArgs {
    /// Loop name, or any unique part of it
    #[arg(value_name = "LOOP")]
    pub name: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub struct SetArgs {
    /// The loop and what to set, as in `loop.max_iterations=9`; the loop is optional if there is only one
    #[arg(value_name = "[LOOP] KEY=VALUE", required_unless_present_any = ["policy", "reload", "plan", "base"])]
    pub words: Vec<String>,
    /// Set what this policy file says
    #[arg(long, value_name = "FILE")]
    pub policy: Option<PathBuf>,
    /// Start from windlass.toml as it is now, instead of the policy the loop has
    #[arg(long)]
    pub reload: bool,
    /// Read the plan again, from here
    #[arg(long, value_name = "SOURCE")]
    pub plan: Option<String>,
    /// Refused: a loop keeps its base
    #[arg(long, value_name = "REF", hide = true)]
    pub base: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, ClapArgs)]
pub struct AgentsArgs {
    /// Send a test prompt to this agent
    #[arg(long, value_name = "NAME")]
    pub probe: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, ClapArgs)]
pub struct JsonArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, ClapArgs)]
pub struct ListArgs {
    /// Show how many bytes each loop takes on the disk
    #[arg(long)]
    pub size: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, ClapArgs)]
pub struct LoopArgs {
    /// Loop name, or any unique part of it
    #[arg(value_name = "LOOP")]
    pub name: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, ClapArgs)]
pub struct LogArgs {
    /// Loop name, or any unique part of it
    #[arg(value_name = "LOOP")]
    pub name: Option<String>,
    /// Print one JSON object a line
    #[arg(long)]
    pub json: bool,
    /// Show only the last N events
    #[arg(long, short = 'n', value_name = "N", value_parser = typed::whole_number::<usize>)]
    pub last: Option<usize>,
    /// Go on with the events to come, until the run ends
    #[arg(long, short = 'f')]
    pub follow: bool,
    /// Show only what this task is about
    #[arg(long, value_name = "ID")]
    pub task: Option<String>,
    /// Show only events of these kinds, such as `check,review,task`
    #[arg(long, value_name = "KIND", value_delimiter = ',')]
    pub kind: Vec<String>,
    /// Show only what is not older, such as `2h`, `14:30` or `2026-01-31`
    #[arg(long, value_name = "SPAN | TIME")]
    pub since: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub struct ShowArgs {
    /// Loop name, or any unique part of it
    #[arg(value_name = "LOOP")]
    pub name: Option<String>,
    /// A task, a finding, `attempt:N`, `check:N`, or the number of a line of `windlass log`
    #[arg(value_name = "ITEM")]
    pub item: Option<String>,
    /// Show what an attempt changed; of a loop, what would land or has landed
    #[arg(long)]
    pub diff: bool,
    /// Print the stored lines of an attempt, with its brief
    #[arg(long)]
    pub raw: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, ClapArgs)]
pub struct FindingsArgs {
    /// Loop name, or any unique part of it
    #[arg(value_name = "LOOP")]
    pub name: Option<String>,
    /// Include resolved and waived findings
    #[arg(long)]
    pub all: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, ClapArgs)]
pub struct ProveArgs {
    /// Loop name, or any unique part of it
    #[arg(value_name = "LOOP")]
    pub name: Option<String>,
    /// Run the checks again on what landed, and compare
    #[arg(long)]
    pub rerun: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, ClapArgs)]
pub struct ExactLoopArgs {
    /// Exact loop name; optional if there is only one loop
    #[arg(value_name = "LOOP")]
    pub name: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, ClapArgs)]
pub struct TakeArgs {
    #[command(flatten)]
    pub of: ExactLoopArgs,
    /// Run your git filters on the files that the work changed
    #[arg(long)]
    pub run_filters: bool,
    /// Make a branch of what this attempt left, landed or not
    #[arg(long, value_name = "N", conflicts_with = "run_filters")]
    pub attempt: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub struct AdoptArgs {
    /// Where the repository was, if its trail does not say
    #[arg(value_name = "DIR")]
    pub from: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, ClapArgs)]
pub struct RmArgs {
    /// Exact loop name; it is wanted although there is only one loop
    #[arg(value_name = "LOOP")]
    pub name: Option<String>,
    /// Remove it although some of its work is nowhere else
    #[arg(long)]
    pub force: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, ClapArgs)]
pub struct ExportArgs {
    /// Loop name, or any unique part of it
    #[arg(value_name = "LOOP")]
    pub name: Option<String>,
    /// Write it below this directory instead of the project
    #[arg(long, value_name = "DIR")]
    pub to: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, ClapArgs)]
pub struct GateArgs {
    #[command(subcommand)]
    pub verb: GateVerb,
}

#[derive(Debug, Subcommand)]
pub enum GateVerb {
    /// Show whether a path is product, protected, or a term of the trial, and why
    Explain {
        /// Paths in the repository; default: the rules themselves
        #[arg(value_name = "PATH")]
        paths: Vec<String>,
    },
}

#[derive(Debug, ClapArgs)]
pub struct ConfigArgs {
    #[command(subcommand)]
    pub verb: ConfigVerb,
}

#[derive(Debug, Subcommand)]
pub enum ConfigVerb {
    /// Show what a key means, its value here, and which file set it
    Explain {
        /// A key such as `loop.max_iterations`; default: every key
        key: Option<String>,
        /// Extra policy file; overrides windlass.toml
        #[arg(long, value_name = "FILE")]
        policy: Option<PathBuf>,
        /// Set one key of the policy
        #[arg(long = "set", value_name = "KEY=VALUE")]
        set: Vec<String>,
    },
    /// Print a windlass.toml with every key and its default
    Example,
    /// Print the JSON Schema of the View that `--json` prints
    Schema,
}

#[derive(Debug, ClapArgs)]
pub struct PromptsArgs {
    #[command(subcommand)]
    pub verb: Option<PromptsVerb>,
}

#[derive(Debug, Subcommand)]
pub enum PromptsVerb {
    /// List every text, and whose words it has here
    List,
    /// Print a text as it would be used
    Show {
        /// Such as `rules` or `implement`
        name: String,
    },
    /// Write windlass's own words to prompts/NAME.md, to be edited
    Eject {
        /// Such as `rules` or `implement`
        name: String,
    },
}

#[derive(Debug, ClapArgs)]
pub struct CompletionsArgs {
    pub shell: clap_complete::Shell,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_overview_names_every_command_on_one_screen() {
        assert!(OVERVIEW.lines().count() <= 24, "{}", OVERVIEW.lines().count());
        assert!(OVERVIEW.lines().all(|line| line.chars().count() <= 80));
        let words: Vec<&str> = OVERVIEW.split_whitespace().collect();
        for verb in Args::command().get_subcommands().filter(|verb| !verb.is_hide_set()) {
            assert!(words.contains(&verb.get_name()), "{} is not in the overview", verb.get_name());
        }
    }
}
