//! What an operator may ask of a loop. A command describes itself here, once:
//! every surface takes its name, its arguments and its words from this file.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::amendment::Amendment;
use crate::id::{AmendmentId, FindingId, LoopName, TaskId, TreeId};
use crate::revision::Revision;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "ask", rename_all = "snake_case")]
pub enum Command {
    Pause,
    Resume,
    Cancel,
    Restart,
    Unblock {
        task: TaskId,
    },
    WaiveTask {
        task: TaskId,
        why: String,
    },
    WaiveFinding {
        finding: FindingId,
        why: String,
    },
    Steer {
        text: String,
    },
    Note {
        text: String,
    },
    /// Later loops may be judged by what this one changed of its terms.
    Trust,
    /// Let this tree land, which waits for it.
    Approve {
        tree: TreeId,
    },
    /// Send the work that waits to land back to its author.
    Reject {
        why: String,
    },
    /// Another plan or policy from here on.
    Revise(Box<Revision>),
    /// Other tasks than the plan has, of which only these are another.
    Amend(Box<Amendment>),
    /// An agent's proposal is taken; the plan itself changes by another command.
    AcceptAmendment {
        amendment: AmendmentId,
    },
    RejectAmendment {
        amendment: AmendmentId,
        why: String,
    },
}

/// How a command is called, and what it does.
#[derive(Debug)]
pub struct CommandSpec {
    pub name: &'static str,
    /// What it does, in one line.
    pub effect: &'static str,
    /// What it needs beside the loop's name.
    pub arguments: &'static [ArgumentSpec],
    build: fn(&Given<'_>) -> Result<Command, ArgumentError>,
}

#[derive(Debug)]
pub struct ArgumentSpec {
    pub name: &'static str,
    pub kind: ArgumentKind,
    /// What it is, in a few words.
    pub doc: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentKind {
    Task,
    /// `F` and a number is a finding; anything else a task.
    TaskOrFinding,
    Text,
    /// It may be left out, and is then empty.
    OptionalText,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArgumentError {
    #[error("there is no command {0}")]
    UnknownCommand(String),
    #[error("{command} needs {argument}")]
    Missing { command: &'static str, argument: &'static str },
    #[error("{command} takes no {argument}")]
    Unknown { command: &'static str, argument: String },
}

/// What the operator is told when a command was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DoneWords {
    pub said: String,
    pub next: Option<NextStep>,
}

/// What to do next with the same loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextStep {
    pub verb: &'static str,
    /// When it is to be done, if not always.
    pub when: Option<&'static str>,
}

const PAUSE: CommandSpec = CommandSpec {
    name: "pause",
    effect: "Pause a loop; the step that is running finishes first",
    arguments: &[],
    build: |_| Ok(Command::Pause),
};
const RESUME: CommandSpec = CommandSpec {
    name: "resume",
    effect: "Let a paused loop continue",
    arguments: &[],
    build: |_| Ok(Command::Resume),
};
const CANCEL: CommandSpec = CommandSpec {
    name: "cancel",
    effect: "End the run now; commits and the workspace stay",
    arguments: &[],
    build: |_| Ok(Command::Cancel),
};
const RESTART: CommandSpec = CommandSpec {
    name: "restart",
    effect: "Open a new run of a loop that ended without completing",
    arguments: &[],
    build: |_| Ok(Command::Restart),
};
const UNBLOCK: CommandSpec = CommandSpec {
    name: "unblock",
    effect: "Give a blocked task another chance",
    arguments: &[ArgumentSpec { name: "task", kind: ArgumentKind::Task, doc: "the task" }],
    build: |given| Ok(Command::Unblock { task: TaskId::new(given.text("task")?) }),
};
const WAIVE: CommandSpec = CommandSpec {
    name: "waive",
    effect: "Accept that a task or finding stays as it is; the record says so",
    arguments: &[
        ArgumentSpec { name: "what", kind: ArgumentKind::TaskOrFinding, doc: "the task or finding" },
        ArgumentSpec { name: "why", kind: ArgumentKind::OptionalText, doc: "the reason, kept on the record" },
    ],
    build: |given| {
        let (what, why) = (given.text("what")?, given.text_or_empty("why"));
        Ok(if is_finding(what) {
            Command::WaiveFinding { finding: FindingId::new(what), why }
        } else {
            Command::WaiveTask { task: TaskId::new(what), why }
        })
    },
};
const STEER: CommandSpec = CommandSpec {
    name: "steer",
    effect: "Add an instruction to the author's next brief",
    arguments: &[ArgumentSpec { name: "text", kind: ArgumentKind::Text, doc: "the text" }],
    build: |given| Ok(Command::Steer { text: given.text("text")?.to_owned() }),
};
const NOTE: CommandSpec = CommandSpec {
    name: "note",
    effect: "Add a note to the loop's history",
    arguments: &[ArgumentSpec { name: "text", kind: ArgumentKind::Text, doc: "the text" }],
    build: |given| Ok(Command::Note { text: given.text("text")?.to_owned() }),
};

const TRUST: CommandSpec = CommandSpec {
    name: "trust",
    effect: "Trust the settings that a loop changed, in later loops",
    arguments: &[],
    build: |_| Ok(Command::Trust),
};

const APPROVE: CommandSpec = CommandSpec {
    name: "approve",
    effect: "Let the work that waits for your approval land",
    arguments: &[ArgumentSpec {
        name: "tree",
        kind: ArgumentKind::OptionalText,
        doc: "the tree that you looked at, or the beginning of its name",
    }],
    build: |given| Ok(Command::Approve { tree: TreeId::new(given.text_or_empty("tree")) }),
};
const REJECT: CommandSpec = CommandSpec {
    name: "reject",
    effect: "Send the work that waits for your approval back to its author",
    arguments: &[ArgumentSpec { name: "why", kind: ArgumentKind::Text, doc: "what is wrong with it" }],
    build: |given| Ok(Command::Reject { why: given.text("why")?.to_owned() }),
};

impl Command {
    /// Every command that is made of words. A revision is not: the application
    /// reads it from keys and files, and checks it as a new loop's is checked. Nor is an amendment.
    pub const SPECS: &'static [CommandSpec] =
        &[PAUSE, RESUME, CANCEL, RESTART, UNBLOCK, WAIVE, STEER, NOTE, TRUST, APPROVE, REJECT];

    pub fn name(&self) -> &'static str {
        match self {
            Self::Pause => PAUSE.name,
            Self::Resume => RESUME.name,
            Self::Cancel => CANCEL.name,
            Self::Restart => RESTART.name,
            Self::Unblock { .. } => UNBLOCK.name,
            Self::WaiveTask { .. } | Self::WaiveFinding { .. } => WAIVE.name,
            Self::Steer { .. } => STEER.name,
            Self::Note { .. } => NOTE.name,
            Self::Trust => TRUST.name,
            Self::Approve { .. } => APPROVE.name,
            Self::Reject { .. } => REJECT.name,
            Self::Revise(_) => "revise",
            Self::Amend(_) => "amend",
            Self::AcceptAmendment { .. } => "accept_amendment",
            Self::RejectAmendment { .. } => "reject_amendment",
        }
    }

    /// The command of this name, with what its spec asks for.
    pub fn from_arguments(name: &str, arguments: &BTreeMap<String, String>) -> Result<Self, ArgumentError> {
        let spec = Self::SPECS.iter().find(|spec| spec.name == name);
        let spec = spec.ok_or_else(|| ArgumentError::UnknownCommand(name.to_owned()))?;
        let is_known =
            |argument: &&String| spec.arguments.iter().any(|known| known.name == argument.as_str());
        if let Some(argument) = arguments.keys().find(|argument| !is_known(argument)) {
            return Err(ArgumentError::Unknown { command: spec.name, argument: argument.clone() });
        }
        (spec.build)(&Given { command: spec.name, arguments })
    }

    /// What the operator is told when it was done.
    pub fn done_words(&self, name: &LoopName) -> DoneWords {
        let next = |verb| Some(NextStep { verb, when: None });
        let next_if = |verb, when| Some(NextStep { verb, when: Some(when) });
        let waived = |what: &str| (format!("{what} of {name} is waived, on the record."), None);
        let (said, next) = match self {
            Self::Pause => (format!("{name} is paused; what runs now finishes first."), next("resume")),
            Self::Resume => (format!("{name} may go on."), next_if("run", "unless it is running")),
            Self::Cancel => (format!("{name} is cancelled; its commits and workspace stay."), next("status")),
            Self::Restart => (format!("a new run of {name} is open."), next("run")),
            Self::Unblock { task } => {
                (format!("task {task} of {name} may be tried again."), next_if("run", "unless it is running"))
            }
            Self::WaiveTask { task, .. } => waived(task.as_str()),
            Self::WaiveFinding { finding, .. } => waived(finding.as_str()),
            Self::Steer { .. } => (format!("the next brief of {name} carries it."), None),
            Self::Note { .. } => (format!("noted in {name}."), None),
            Self::Trust => (format!("later loops may be judged by the terms that {name} changed."), None),
            Self::Approve { .. } => {
                (format!("the work of {name} may land."), next_if("run", "unless it is running"))
            }
            Self::Reject { .. } => (
                format!("the author of {name} is told what is wrong."),
                next_if("run", "unless it is running"),
            ),
            Self::AcceptAmendment { amendment } => (format!("{amendment} of {name} is accepted."), None),
            Self::RejectAmendment { amendment, .. } => (format!("{amendment} of {name} is rejected."), None),
            Self::Revise(_) | Self::Amend(_) => (
                format!("{name} has another plan or policy from here on."),
                next_if("run", "unless it is running"),
            ),
        };
        DoneWords { said, next }
    }
}

struct Given<'a> {
    command: &'static str,
    arguments: &'a BTreeMap<String, String>,
}

impl Given<'_> {
    fn text(&self, argument: &'static str) -> Result<&str, ArgumentError> {
        let given = self.arguments.get(argument).map(String::as_str);
        given.ok_or(ArgumentError::Missing { command: self.command, argument })
    }

    fn text_or_empty(&self, argument: &'static str) -> String {
        self.arguments.get(argument).cloned().unwrap_or_default()
    }
}

fn is_finding(what: &str) -> bool {
    what.strip_prefix('F').is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn built(name: &str, arguments: &[(&str, &str)]) -> Result<Command, ArgumentError> {
        let pairs = arguments.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Command::from_arguments(name, &pairs.collect())
    }

    #[test]
    fn each_spec_builds_the_command_it_describes() {
        for spec in Command::SPECS {
            let given: Vec<_> = spec.arguments.iter().map(|argument| (argument.name, "x")).collect();
            let command = built(spec.name, &given).unwrap();
            assert_eq!(command.name(), spec.name);
            assert!(command.done_words(&LoopName::new("demo").unwrap()).said.contains("demo"));
            let needed = spec.arguments.iter().find(|argument| argument.kind != ArgumentKind::OptionalText);
            if let Some(needed) = needed {
                let missing = ArgumentError::Missing { command: spec.name, argument: needed.name };
                assert_eq!(built(spec.name, &[]), Err(missing));
            }
        }
    }

    #[test]
    fn f_and_a_number_is_a_finding() {
        let waived = |what| built("waive", &[("what", what), ("why", "w")]).unwrap();
        let (why, finding) = ("w".to_owned(), FindingId::new("F3"));
        assert_eq!(waived("F3"), Command::WaiveFinding { finding, why: why.clone() });
        for task in ["F", "Fx", "F3x", "003", "f3"] {
            assert_eq!(waived(task), Command::WaiveTask { task: TaskId::new(task), why: why.clone() });
        }
    }

    #[test]
    fn what_no_command_takes_is_refused() {
        assert_eq!(built("fly", &[]), Err(ArgumentError::UnknownCommand("fly".to_owned())));
        let unknown = ArgumentError::Unknown { command: "pause", argument: "task".to_owned() };
        assert_eq!(built("pause", &[("task", "001")]), Err(unknown));
    }
}
