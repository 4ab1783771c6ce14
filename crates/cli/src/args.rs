//! What may be typed.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand};

/// Drives coding agents over a plan until the work is proven done.
///
/// Done is a proof, not a claim: windlass runs your checks itself, on a clean
/// checkout of exactly what will land. Start with `windlass demo`, then
/// `windlass init` in a repository of yours.
#[derive(Debug, Parser)]
#[command(name = "windlass", version, max_term_width = 100, disable_help_subcommand = true)]
pub struct Args {
    /// Work on the repository in this directory
    #[arg(short = 'C', long = "project", value_name = "DIR", global = true)]
    pub project: Option<PathBuf>,

    /// Keep windlass's own records here
    #[arg(long, value_name = "DIR", global = true, env = "WINDLASS_STATE_DIR", hide_env_values = true)]
    pub state_dir: Option<PathBuf>,

    #[command(subcommand)]
    pub verb: Verb,
}

#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Show the whole thing at work on a small repository, offline
    Demo(Demo),
    /// Write a windlass.toml for this repository
    Init(Init),
    /// Drive a loop to an outcome, creating it if there is none
    Run(Run),
    /// List this repository's loops
    List(Json),
    /// Show how a loop stands
    Status(Show),
    /// Show what happened, event by event
    Log(Log),
    /// Show one loop, task or finding in full
    Show(ShowItem),
    /// Show what reviewers and evidence found
    Findings(Findings),
    /// Show what the attempts used
    Usage(Show),
    /// Print the proof of completion, and check that it still holds
    Prove(Prove),
    /// Stop before the next step; what runs now finishes
    Pause(Named),
    /// Let a paused loop go on
    Resume(Named),
    /// End the run now; commits and the workspace stay
    Cancel(Named),
    /// Open a new run of a loop that ended without completing
    Restart(Named),
    /// Give a blocked task another chance
    Unblock(OnTask),
    /// Give up on a task or a finding, by name
    Waive(Waive),
    /// Tell the author something, from its next brief on
    Steer(Words),
    /// Add a note to the loop's history
    Note(Words),
    /// Bring the loop's branch into your checkout
    Take(Named),
    /// Write the readable trail of a loop
    Export(Export),
    /// Explain or list what windlass.toml may say
    Config(ConfigArgs),
    /// Check that this machine has what windlass needs
    Doctor(Json),
    /// Show which agents are installed, or call one to see whether it answers
    Agents(Agents),
    /// Print a completion script for a shell
    Completions(Completions),
}

#[derive(Debug, ClapArgs)]
pub struct Demo {
    /// Keep the demo's repository and records, and say where
    #[arg(long)]
    pub keep: bool,
    /// Make it here instead of in a temporary directory
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub struct Init {
    /// What is to be done; becomes the first task
    pub prompt: Option<String>,
    /// Make a git repository with a first commit where there is none
    #[arg(long)]
    pub git: bool,
    /// Replace a windlass.toml that is there
    #[arg(long)]
    pub force: bool,
}

#[derive(Debug, ClapArgs)]
pub struct Run {
    /// A loop's name, or a goal in a sentence
    #[arg(value_name = "LOOP | \"GOAL SENTENCE\"")]
    pub what: Option<String>,
    /// The loop's name
    #[arg(long, value_name = "LOOP")]
    pub name: Option<String>,
    /// Where the plan is: a directory of task files
    #[arg(long, value_name = "SOURCE")]
    pub plan: Option<String>,
    /// One more policy file, over the project's
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
    #[arg(long, value_name = "ID")]
    pub until: Option<String>,
    /// Stop after this many iterations
    #[arg(long, value_name = "N")]
    pub max: Option<u32>,
    /// Do not ask a reviewer; what is done then says so for ever
    #[arg(long)]
    pub no_review: bool,
    /// Check everything and say what would be done; change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Print the loop's View as JSON at the end
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, ClapArgs)]
pub struct Agents {
    /// Call this one for real, with one line
    #[arg(long, value_name = "NAME")]
    pub probe: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, ClapArgs)]
pub struct Json {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, ClapArgs)]
pub struct Show {
    /// A loop's name, or a part of it that fits only one
    #[arg(value_name = "LOOP")]
    pub name: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, ClapArgs)]
pub struct Log {
    /// A loop's name, or a part of it that fits only one
    #[arg(value_name = "LOOP")]
    pub name: Option<String>,
    /// Print one JSON object a line
    #[arg(long)]
    pub json: bool,
    /// Only the last events
    #[arg(long, short = 'n', value_name = "N")]
    pub last: Option<u64>,
}

#[derive(Debug, ClapArgs)]
pub struct ShowItem {
    /// A loop's name, or a part of it that fits only one
    #[arg(value_name = "LOOP")]
    pub name: Option<String>,
    /// A task, a finding, `attempt:N` or `check:N`; the loop itself otherwise
    #[arg(value_name = "ITEM")]
    pub item: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, ClapArgs)]
pub struct Findings {
    /// A loop's name, or a part of it that fits only one
    #[arg(value_name = "LOOP")]
    pub name: Option<String>,
    /// Also those that are resolved or waived
    #[arg(long)]
    pub all: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, ClapArgs)]
pub struct Prove {
    /// A loop's name, or a part of it that fits only one
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
pub struct Named {
    /// The loop's exact name; may be left out when there is only one
    #[arg(value_name = "LOOP")]
    pub name: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, ClapArgs)]
pub struct OnTask {
    /// The loop and the task, or only the task when there is one loop
    #[arg(value_name = "[LOOP] TASK", num_args = 1..=2, required = true)]
    pub words: Vec<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, ClapArgs)]
pub struct Waive {
    /// The loop and the task or finding; the loop may be left out when there is one
    #[arg(value_name = "[LOOP] TASK|FINDING", num_args = 1..=2, required = true)]
    pub words: Vec<String>,
    /// Why, for the record
    #[arg(long, default_value = "")]
    pub why: String,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, ClapArgs)]
pub struct Words {
    /// The loop and the text; the loop may be left out when there is one
    #[arg(value_name = "[LOOP] TEXT", num_args = 1..=2, required = true)]
    pub words: Vec<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, ClapArgs)]
pub struct Export {
    /// A loop's name, or a part of it that fits only one
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
pub struct ConfigArgs {
    #[command(subcommand)]
    pub verb: ConfigVerb,
}

#[derive(Debug, Subcommand)]
pub enum ConfigVerb {
    /// Say what a key means, its value here, and which file set it
    Explain {
        /// A key such as `loop.max_iterations`; every key when left out
        key: Option<String>,
        /// One more policy file, over the project's
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
pub struct Completions {
    pub shell: clap_complete::Shell,
}
