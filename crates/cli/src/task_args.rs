//! What may be typed after `windlass task`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand};

use crate::args::LoopArgs;

#[derive(Debug, ClapArgs)]
pub struct TaskArgs {
    #[command(subcommand)]
    pub verb: TaskVerb,
}

#[derive(Debug, Subcommand)]
pub enum TaskVerb {
    /// List the tasks with their state, in the order of work
    List(LoopArgs),
    /// Add a task to the plan
    Add(TaskAddArgs),
    /// Change a task; a done one is done again if its text changes
    Edit(TaskEditArgs),
    /// Take a task out of the plan
    Drop(TaskDropArgs),
    /// Replace a task by parts that follow one another
    Split(TaskSplitArgs),
    /// Change when a task is done; it never precedes what it depends on
    Move(TaskMoveArgs),
    /// Take up a change of the plan that an agent proposed
    Accept(TaskAcceptArgs),
    /// Turn down a change of the plan that an agent proposed
    Reject(TaskRejectArgs),
}

#[derive(Debug, ClapArgs)]
pub struct TaskAddArgs {
    /// The loop and the title; the loop is optional if there is only one
    #[arg(value_name = "[LOOP] TITLE", required = true, num_args = 1..=2)]
    pub words: Vec<String>,
    /// Its id; default: made of the title
    #[arg(long, value_name = "ID")]
    pub id: Option<String>,
    #[command(flatten)]
    pub text: TaskTextArgs,
    /// A task that must be done first; may be given more than once
    #[arg(long, value_name = "ID")]
    pub depends_on: Vec<String>,
    /// Lower goes first
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
    pub priority: i64,
    /// A protected path, or a glob, that it may change; may be given more than once
    #[arg(long, value_name = "GLOB")]
    pub allow: Vec<String>,
    /// Do it before this task
    #[arg(long, value_name = "ID", conflicts_with_all = ["after", "priority"])]
    pub before: Option<String>,
    /// Do it after this task
    #[arg(long, value_name = "ID", conflicts_with = "priority")]
    pub after: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, ClapArgs)]
pub struct TaskTextArgs {
    /// What is to be done; `-` reads it from standard input
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub text: Option<String>,
    /// A file that says what is to be done
    #[arg(long, value_name = "FILE", conflicts_with = "text")]
    pub file: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub struct TaskEditArgs {
    /// The loop and the task; the loop is optional if there is only one
    #[arg(value_name = "[LOOP] ID", required = true, num_args = 1..=2)]
    pub words: Vec<String>,
    /// Another title
    #[arg(long, value_name = "TITLE")]
    pub title: Option<String>,
    #[command(flatten)]
    pub text: TaskTextArgs,
    /// The tasks that must be done first, instead of those it has
    #[arg(long, value_name = "ID", conflicts_with = "no_dependencies")]
    pub depends_on: Vec<String>,
    /// It depends on no other task
    #[arg(long)]
    pub no_dependencies: bool,
    /// Lower goes first
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub priority: Option<i64>,
    /// A protected path, or a glob, that it may change beside those it may; may be given more than once
    #[arg(long, value_name = "GLOB")]
    pub allow: Vec<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, ClapArgs)]
pub struct TaskDropArgs {
    /// The loop and the task; the loop is optional if there is only one
    #[arg(value_name = "[LOOP] ID", required = true, num_args = 1..=2)]
    pub words: Vec<String>,
    /// Although others depend on it: they do so no longer
    #[arg(long)]
    pub force: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, ClapArgs)]
pub struct TaskAcceptArgs {
    /// The loop and the amendment, such as A1; `task list` lists them
    #[arg(value_name = "[LOOP] AMENDMENT", required = true, num_args = 1..=2)]
    pub words: Vec<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, ClapArgs)]
pub struct TaskRejectArgs {
    /// The loop and the amendment, such as A1; `task list` lists them
    #[arg(value_name = "[LOOP] AMENDMENT", required = true, num_args = 1..=2)]
    pub words: Vec<String>,
    /// The reason, kept on the record
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub why: String,
}

#[derive(Debug, ClapArgs)]
pub struct TaskSplitArgs {
    /// The loop, the task and the titles of its parts, in their order
    #[arg(value_name = "[LOOP] ID TITLE", required = true, num_args = 1..)]
    pub words: Vec<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, ClapArgs)]
#[command(group = clap::ArgGroup::new("place").required(true).multiple(false))]
pub struct TaskMoveArgs {
    /// The loop and the task; the loop is optional if there is only one
    #[arg(value_name = "[LOOP] ID", required = true, num_args = 1..=2)]
    pub words: Vec<String>,
    /// Do it before this task
    #[arg(long, value_name = "ID", group = "place")]
    pub before: Option<String>,
    /// Do it after this task
    #[arg(long, value_name = "ID", group = "place")]
    pub after: Option<String>,
    /// Do it before all others
    #[arg(long, group = "place")]
    pub first: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
