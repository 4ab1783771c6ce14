//! The operator's commands on the command line, as core describes them.

use std::collections::BTreeMap;

use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Error, FromArgMatches, Subcommand};
use windlass_core::command::{ArgumentKind, ArgumentSpec, Command, CommandSpec};

/// One of [`Command::SPECS`], with what was typed after it.
#[derive(Debug)]
pub struct OperatorArgs {
    pub command: String,
    pub loop_name: Option<String>,
    pub arguments: BTreeMap<String, String>,
    pub json: bool,
}

impl Subcommand for OperatorArgs {
    fn augment_subcommands(root: clap::Command) -> clap::Command {
        root.subcommands(Command::SPECS.iter().map(subcommand))
    }

    fn augment_subcommands_for_update(root: clap::Command) -> clap::Command {
        Self::augment_subcommands(root)
    }

    fn has_subcommand(name: &str) -> bool {
        spec(name).is_some()
    }
}

impl FromArgMatches for OperatorArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let typed = matches.subcommand().and_then(|(name, typed)| Some((spec(name)?, typed)));
        let (spec, typed) = typed.ok_or_else(|| Error::new(ErrorKind::MissingSubcommand))?;
        let words: Vec<&String> = typed.get_many(WORDS).into_iter().flatten().collect();
        let mut arguments = BTreeMap::new();
        let (loop_name, about) = match (word_of(spec), words.as_slice()) {
            (Some(_), [name, about, ..]) => (Some(*name), Some(*about)),
            (Some(_), [about]) => (None, Some(*about)),
            (None, [name, ..]) => (Some(*name), None),
            (_, []) => (None, None),
        };
        let options = options_of(spec).map(|option| (option, typed.get_one(option.name)));
        for (argument, value) in word_of(spec).map(|word| (word, about)).into_iter().chain(options) {
            arguments.extend(value.map(|value: &String| (argument.name.to_owned(), value.clone())));
        }
        Ok(Self {
            command: spec.name.to_owned(),
            loop_name: loop_name.cloned(),
            arguments,
            json: typed.get_flag(JSON),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

const WORDS: &str = "words";
const JSON: &str = "json";

fn spec(name: &str) -> Option<&'static CommandSpec> {
    Command::SPECS.iter().find(|spec| spec.name == name)
}

/// The first argument is a word, unless it may be left out.
fn word_of(spec: &CommandSpec) -> Option<&'static ArgumentSpec> {
    spec.arguments.first().filter(|first| first.kind != ArgumentKind::OptionalText)
}

fn options_of(spec: &CommandSpec) -> impl Iterator<Item = &'static ArgumentSpec> {
    spec.arguments.iter().skip(usize::from(word_of(spec).is_some()))
}

/// The word comes after the loop's name, if that is given; the other arguments
/// are options.
fn subcommand(spec: &CommandSpec) -> clap::Command {
    let words = match word_of(spec) {
        Some(first) => Arg::new(WORDS)
            .value_name(words_name(first.kind))
            .num_args(1..=2)
            .required(true)
            .help(format!("The loop and {}; the loop is optional if there is only one", first.doc)),
        None => {
            Arg::new(WORDS).value_name("LOOP").help("Exact loop name; optional if there is only one loop")
        }
    };
    let json = Arg::new(JSON).long(JSON).action(ArgAction::SetTrue).help("Print JSON");
    let options = options_of(spec).map(option);
    clap::Command::new(spec.name).about(spec.effect).arg(words).args(options).arg(json)
}

fn words_name(kind: ArgumentKind) -> &'static str {
    match kind {
        ArgumentKind::Task => "[LOOP] TASK",
        ArgumentKind::TaskOrFinding => "[LOOP] TASK|FINDING",
        ArgumentKind::Text | ArgumentKind::OptionalText => "[LOOP] TEXT",
    }
}

fn value_name(kind: ArgumentKind) -> &'static str {
    match kind {
        ArgumentKind::Task => "TASK",
        ArgumentKind::TaskOrFinding => "TASK|FINDING",
        ArgumentKind::Text | ArgumentKind::OptionalText => "TEXT",
    }
}

fn option(argument: &ArgumentSpec) -> Arg {
    let option = Arg::new(argument.name)
        .long(argument.name)
        .value_name(value_name(argument.kind))
        .help(sentence(argument.doc));
    match argument.kind {
        ArgumentKind::OptionalText => option.default_value(""),
        ArgumentKind::Task | ArgumentKind::TaskOrFinding | ArgumentKind::Text => option.required(true),
    }
}

fn sentence(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use windlass_core::id::TreeId;

    use super::*;

    fn typed(words: &str) -> Result<(Option<String>, Command), Error> {
        let matches = OperatorArgs::augment_subcommands(clap::Command::new("windlass"))
            .no_binary_name(true)
            .try_get_matches_from(words.split(' '))?;
        let typed = OperatorArgs::from_arg_matches(&matches)?;
        let command = Command::from_arguments(&typed.command, &typed.arguments);
        Ok((typed.loop_name, command.expect("clap asks for what the spec asks for")))
    }

    #[test]
    fn the_last_word_is_what_a_command_is_about() {
        let demo = Some("demo".to_owned());
        let note = || Command::Note { text: "x".to_owned() };
        assert_eq!(typed("pause").unwrap(), (None, Command::Pause));
        assert_eq!(typed("pause demo").unwrap(), (demo.clone(), Command::Pause));
        assert_eq!(typed("note x").unwrap(), (None, note()));
        assert_eq!(typed("note demo x").unwrap(), (demo.clone(), note()));
        let approve = |tree: &str| Command::Approve { tree: TreeId::new(tree) };
        assert_eq!(typed("approve demo").unwrap(), (demo.clone(), approve("")));
        assert_eq!(typed("approve --tree abc").unwrap(), (None, approve("abc")));
        let reject = Command::Reject { why: "slow".to_owned() };
        assert_eq!(typed("reject demo slow").unwrap(), (demo.clone(), reject));
        let waived = typed("waive demo F1 --why w").unwrap();
        assert_eq!(waived.0, demo);
        assert!(matches!(waived.1, Command::WaiveFinding { why, .. } if why == "w"));
    }

    #[test]
    fn what_a_command_needs_and_does_not_take_is_refused() {
        for words in ["unblock", "note", "pause demo more", "note a b c", "steer x --why y"] {
            assert!(typed(words).is_err(), "{words}");
        }
    }
}
