//! The two policy files windlass writes: the short one of `init`, and the
//! example with every key.

use super::detect::{ChosenCheck, ChosenChecks, Proposal};
use super::explain::KeyDoc;
use super::format::{PolicyFormat, TABLES};
use super::kind::{quoted, quoted_list};

/// The program in a fresh windlass.toml. `run` refuses it by name and shows
/// its line, instead of failing each attempt.
pub const PLACEHOLDER_AGENT: &str = "your-agent-here";

/// Whom a new windlass.toml names as the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileAgent<'a> {
    /// One that is installed.
    Found(&'a str),
    /// Nobody: the operator's own configuration has one.
    InUserFile,
    Unknown,
}

/// The windlass.toml that `init` writes.
///
/// `agent` is the best that was found on this machine.
pub fn project_file(proposal: &Proposal, chosen: &ChosenChecks, agent: FileAgent<'_>) -> String {
    let mut text = String::from(OPENING);
    match agent {
        FileAgent::Found(agent) => {
            text.push_str(FOUND_AGENT);
            text.push_str(&format!("use = {}\n{AGENT_TIMEOUT}", quoted(agent)));
        }
        FileAgent::InUserFile => text.push_str(USER_AGENT),
        FileAgent::Unknown => {
            text.push_str(NO_AGENT);
            text.push_str(&format!("command = [{}]\n{AGENT_TIMEOUT}", quoted(PLACEHOLDER_AGENT)));
        }
    }
    text.push_str(PLAN);
    if !chosen.setup.is_empty() {
        text.push_str("\n[workspace]\n# Run once in a fresh workspace, and for the gate.\n");
        let steps: Vec<String> = chosen.setup.iter().map(|step| format!("    {},\n", quoted(step))).collect();
        text.push_str(&format!("setup = [\n{}]\n", steps.concat()));
    }
    text.push_str(
        "\n[gate]\n# Your tests, and what runs them. Tasks may add tests, and lines to tests. To change\n# a test, or to change or add to what a check runs (a makefile, a script), a task file\n# must say `allow`.\n",
    );
    text.push_str(&format!("protect = {}\n", quoted_list(&proposal.protect)));
    text.push_str(match proposal.product.is_empty() {
        true => NO_PRODUCT,
        false => "# Your sources: agents may change them freely. Anything else that they change is\n# tried without, too. `windlass gate explain PATH` says what a path is.\n",
    });
    if !proposal.product.is_empty() {
        text.push_str(&format!("product = {}\n", quoted_list(&proposal.product)));
    }
    if chosen.checks.is_empty() {
        text.push_str(NO_CHECKS);
    }
    chosen.checks.iter().for_each(|check| text.push_str(&check_lines(check)));
    text.push_str(CLOSING);
    text
}

fn check_lines(check: &ChosenCheck) -> String {
    let mut text = format!(
        "\n# One command that must exit 0 on a clean checkout of the work.\n[[gate.check]]\nname = {}\nrun = {}\n",
        quoted(&check.name),
        quoted(&check.run)
    );
    if let Some(minutes) = check.minutes {
        text.push_str(&format!("# It took long when it was tried.\ntimeout = \"{minutes}m\"\n"));
    }
    if let Some(files) = &check.junit {
        text.push_str(
            "# Its report of tests: windlass counts them, and misses one that is gone or\n# skipped.\n",
        );
        text.push_str(&format!("junit = {}\n", quoted(files)));
    }
    if check.breakable {
        text.push_str(
            "# At the end windlass breaks each test, to see that the check turns red; \"off\"\n# does not.\n",
        );
        text.push_str("control = \"auto\"\n");
    }
    text
}

const OPENING: &str = r#"# The policy of windlass for this project. Commit it.
# `windlass config explain KEY` says what a key means and what set it.
"#;

const FOUND_AGENT: &str = r#"
[agent]
# The program that does the work, found on this machine. `windlass agents` lists
# those that windlass knows; use = "command" calls any other.
"#;

const USER_AGENT: &str = r#"
# The agent is that of your own configuration. [agent] here names one for
# everybody who works on this project.
"#;

const NO_AGENT: &str = r#"
[agent]
# FILL IN: the program that does the work. It runs in a private copy of the
# repository and gets its brief on standard input. Install one that windlass
# knows and write its name, such as use = "codex"; or call any program:
#   command = ["sh", "/path/to/agent.sh"]
use = "command"
"#;

const AGENT_TIMEOUT: &str = "timeout = \"30m\"\n";

const PLAN: &str = r#"
[plan]
# One .md file for each task, in the order of their names.
source = "tasks/"
"#;

const NO_PRODUCT: &str = r#"# FILL IN for a stronger gate: your sources, which agents may change freely.
# Anything else that they change is tried without, too.
# product = ["lib/**"]
"#;

const NO_CHECKS: &str = r#"
# FILL IN: no way to test this project was recognised. Without a check only a
# reviewer stands between a claim and "done".
# [[gate.check]]
# name = "test"
# run = "make test"
"#;

const CLOSING: &str = r#"
[review]
# A second look by an agent, on each task and on the whole. By default the
# program of [agent] is the reviewer too; [role.reviewer] names another.
tasks = true
final = true

[sandbox]
# Agents and checks see the system, their workspace and nothing else of yours.
# `windlass doctor` says what this machine can do.
level = "auto"
minimum = "landlock"
"#;

impl PolicyFormat {
    /// The text of windlass.example.toml: every key with its default.
    pub fn example_file(&self) -> String {
        let mut text = String::from(EXAMPLE_OPENING);
        let keys = self.keys();
        for table in TABLES {
            match table {
                "role" => text.push_str(EXAMPLE_ROLE),
                "scope" => text.push_str(EXAMPLE_SCOPE),
                "price" => text.push_str(EXAMPLE_PRICE),
                table => {
                    text.push_str(&format!("\n[{table}]\n"));
                    let below = format!("{table}.");
                    let own = keys.iter().filter(|key| {
                        key.name
                            .strip_prefix(&below)
                            .is_some_and(|rest| !rest.contains('.') && rest != "check")
                    });
                    own.for_each(|key| text.push_str(&entry(key, &below)));
                }
            }
            if table == "stop" {
                text.push_str(EXAMPLE_STOP);
            }
            if table == "gate" {
                text.push_str(
                    "\n# The checks, in order; a later layer replaces the whole list.\n[[gate.check]]\n",
                );
                let below = "gate.check.";
                keys.iter()
                    .filter(|key| key.name.starts_with(below))
                    .for_each(|key| text.push_str(&entry(key, below)));
            }
        }
        text
    }
}

const EXAMPLE_OPENING: &str = r#"# Every key of windlass.toml with its default; only `command` and the check are
# made up. Copy what you want to change. Layers, lowest first: built-in,
# $XDG_CONFIG_HOME/windlass/config.toml, the project's windlass.toml,
# `--policy FILE`, `--set key=value`. A limit of 0 is off.
"#;

const EXAMPLE_ROLE: &str = r#"
# A role (author, reviewer, finisher) has the keys of [agent] and takes
# what it does not set from there. With another agent it takes only timeout,
# silence, grace, max_turns, the names of env, network and allow.
[role.reviewer]
"#;

const EXAMPLE_STOP: &str = r#"# Conditions that end an open-ended loop; all must hold. Each has exactly one of
# `run`, `exists`, `contains`, `matches` and `json`.
# [[stop.check]]
# name = "reached one"
# run = '[ "$(tail -n 1 seq.txt)" = 1 ]'
# [[stop.check]]
# name = "report"
# exists = "report.md"
# [[stop.check]]
# name = "all green"
# contains = { file = "log.txt", text = "all green" }
# [[stop.check]]
# name = "a last line"
# matches = { file = "seq.txt", pattern = '(?m)^1$' }
# [[stop.check]]
# name = "queue empty"
# json = { file = "state.json", path = "jobs.left", equals = 0 }
"#;

const EXAMPLE_SCOPE: &str = r#"
# How much a task may change and read, by its mode; beyond it the work is not
# done.
# [scope.implement]
# files_changed = 10
# lines_written = 400
# files_read = 40
[scope]
"#;

const EXAMPLE_PRICE: &str = r#"
# What models cost whose agents do not say, in dollars for a million tokens.
# [price."gpt-5"]
# input = 1.25
# output = 10.0
# cache_read = 0.125
# cache_write = 0.0
[price]
"#;

fn entry(key: &KeyDoc, below: &str) -> String {
    let name = key.name.strip_prefix(below).unwrap_or(&key.name);
    let value = match key.name.as_str() {
        "agent.command" => "[\"sh\", \"agent.sh\"]".to_owned(),
        "gate.check.name" => quoted("test"),
        "gate.check.run" => quoted("make test"),
        "gate.check.timeout" => quoted("5m"),
        _ => key.default.clone().unwrap_or_default(),
    };
    format!("# {}\n{name} = {value}\n", key.doc)
}
