//! What was typed: read as clap reads it, and what is none of ours answered with the word that was probably
//! meant.

use std::ffi::OsString;
use std::str::FromStr;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory as _, Error, FromArgMatches as _};
use windlass_core::nearest::nearest;

use crate::args::Args;
use crate::failure::Failure;
use crate::show::terminal;

/// Wider help is hard to read.
const WIDEST: usize = 100;

/// Verbs of the programs that people come from.
const VERBS: [(&str, &str); 2] = [("events", "log"), ("triage", "status")];
/// Their options, which are all of `run`.
const OPTIONS: [(&str, &str); 2] = [("--skip-eval", "--no-review"), ("--story", "--task")];

/// Those that take a sentence, as it is typed.
const SENTENCES: [(&str, &str); 6] = [
    ("run", "run \"GOAL SENTENCE\""),
    ("plan", "plan \"WHAT YOU WANT\""),
    ("init", "init \"WHAT YOU WANT\""),
    ("steer", "steer LOOP \"TEXT\""),
    ("note", "note LOOP \"TEXT\""),
    ("reject", "reject LOOP \"WHY\""),
];

/// The command that was typed. Help, and what clap says well itself, ends the process here.
pub fn args() -> Result<Args, Failure> {
    let words: Vec<OsString> = std::env::args_os().collect();
    match read(&words) {
        Ok(args) => Ok(args),
        Err(error) => Err(answer(error, &words).unwrap_or_else(|error| error.exit())),
    }
}

fn read(words: &[OsString]) -> Result<Args, Error> {
    let mut command = Args::command();
    if let Some(columns) = terminal::columns() {
        command = command.term_width(columns.min(WIDEST));
    }
    let matches = command.try_get_matches_from_mut(words)?;
    Args::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// Ours where there is one, or clap's.
#[expect(clippy::wildcard_enum_match_arm, reason = "clap words the other errors itself")]
fn answer(mut error: Error, words: &[OsString]) -> Result<Failure, Error> {
    let (parent, path) = typed_into(words);
    let of = |error: &Error, kind| match error.get(kind) {
        Some(ContextValue::String(word)) => Some(word.clone()),
        _ => None,
    };
    match error.kind() {
        ErrorKind::InvalidSubcommand => of(&error, ContextKind::InvalidSubcommand)
            .map(|word| no_command(&parent, &path, &word))
            .ok_or(error),
        ErrorKind::UnknownArgument => {
            let Some(word) = of(&error, ContextKind::InvalidArg) else { return Err(error) };
            if let Some((_, ours)) = OPTIONS.iter().find(|(theirs, _)| *theirs == word) {
                let said = format!("there is no option {word}; here it is `windlass run {ours}`");
                return Ok(Failure::usage(said));
            }
            if let Some(unquoted) = word_too_many(&path, &word) {
                return Ok(unquoted);
            }
            let longs =
                parent.get_arguments().filter(|arg| !arg.is_hide_set()).filter_map(clap::Arg::get_long);
            if let Some(meant) = word.strip_prefix("--").and_then(|word| nearest(word, longs)) {
                error.remove(ContextKind::Suggested);
                error.insert(ContextKind::SuggestedArg, ContextValue::String(format!("--{meant}")));
            }
            Err(error)
        }
        ErrorKind::TooManyValues | ErrorKind::ArgumentConflict => {
            let word = of(&error, ContextKind::InvalidValue).or(of(&error, ContextKind::InvalidSubcommand));
            word.and_then(|word| word_too_many(&path, &word)).ok_or(error)
        }
        _ => Err(error),
    }
}

/// The second word of a sentence that was typed without quotes.
fn word_too_many(path: &str, word: &str) -> Option<Failure> {
    let (_, typed) = SENTENCES.iter().find(|(verb, _)| *verb == path.trim_end())?;
    let said = format!("{word} is a word too many: a sentence is typed in quotes");
    (!word.starts_with('-')).then(|| Failure::usage(said).hint(format!("windlass {typed}")))
}

fn no_command(parent: &Command, path: &str, word: &str) -> Failure {
    if let Some((_, ours)) = VERBS.iter().find(|(theirs, _)| path.is_empty() && *theirs == word) {
        return Failure::usage(format!("there is no command {word}; here it is `windlass {ours}`"));
    }
    let known = parent.get_subcommands().filter(|verb| !verb.is_hide_set()).map(Command::get_name);
    let meant = nearest(word, known).map(|meant| format!("; did you mean `{path}{meant}`?"));
    let said = format!("there is no command {path}{word}{}", meant.unwrap_or_default());
    let help = format!("windlass help {path}");
    Failure::usage(said).hint(format!("`{}` lists them", help.trim_end()))
}

/// The command that the words lead to, and its name with a blank behind it.
fn typed_into(words: &[OsString]) -> (Command, String) {
    let mut command = Args::command();
    command.build();
    let mut path = String::new();
    for word in words.iter().skip(1).filter_map(|word| word.to_str()).filter(|word| *word != "help") {
        let Some(next) = command.find_subcommand(word).cloned() else {
            if word.starts_with('-') {
                continue;
            }
            break;
        };
        path += &format!("{word} ");
        command = next;
    }
    (command, path)
}

/// For `--max`.
pub fn iterations(typed: &str) -> Result<u32, String> {
    match whole_number(typed)? {
        0 => Err("must be at least 1; --dry-run shows what would be done".to_owned()),
        most => Ok(most),
    }
}

pub fn whole_number<N: FromStr>(typed: &str) -> Result<N, String> {
    typed.parse().map_err(|_| match typed.bytes().all(|b| b.is_ascii_digit()) && !typed.is_empty() {
        true => "is too large".to_owned(),
        false => "must be a whole number".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_is_none_is_refused_in_plain_words() {
        assert_eq!(iterations("3"), Ok(3));
        for (typed, said) in [("0", "at least 1; --dry-run"), ("x", "whole number"), ("", "whole number")] {
            assert!(iterations(typed).is_err_and(|why| why.contains(said)), "{typed}");
        }
        assert_eq!(whole_number::<u32>("99999999999"), Err("is too large".to_owned()));
    }

    fn said(typed: &str) -> String {
        let words: Vec<OsString> = typed.split(' ').map(OsString::from).collect();
        let error = read(&words).expect_err("it is none of ours");
        match answer(error, &words) {
            Ok(failure) => failure.to_string(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn a_mistyped_command_or_option_is_told_with_the_one_that_was_meant() {
        for (typed, told) in [
            ("windlass rnu", "there is no command rnu; did you mean `run`?"),
            (
                "windlass config explian x",
                "there is no command config explian; did you mean `config explain`?",
            ),
            ("windlass help rnu", "there is no command rnu; did you mean `run`?"),
            ("windlass shwo demo", "there is no command shwo; did you mean `show`?"),
            ("windlass xyzzy", "there is no command xyzzy\n"),
            ("windlass run --mx 3", "'--max'"),
            ("windlass run --dryrun", "'--dry-run'"),
        ] {
            assert!(said(typed).contains(told), "{typed}: {}", said(typed));
        }
    }

    #[test]
    fn a_sentence_without_quotes_is_told_with_them() {
        for (typed, told) in [
            ("windlass run Add a function", "hint: windlass run \"GOAL SENTENCE\""),
            (
                "windlass run --no-review Add a function",
                "a is a word too many: a sentence is typed in quotes",
            ),
            ("windlass init Make it fast", "hint: windlass init \"WHAT YOU WANT\""),
            ("windlass plan Make it fast", "hint: windlass plan \"WHAT YOU WANT\""),
            ("windlass steer demo use a table", "hint: windlass steer LOOP \"TEXT\""),
        ] {
            assert!(said(typed).contains(told), "{typed}: {}", said(typed));
        }
    }

    #[test]
    fn a_verb_or_option_of_a_predecessor_answers_with_ours() {
        for (typed, told) in [
            ("windlass events", "`windlass log`"),
            ("windlass events demo", "`windlass log`"),
            ("windlass triage", "`windlass status`"),
            ("windlass run --skip-eval", "`windlass run --no-review`"),
            ("windlass run --story US-1", "`windlass run --task`"),
        ] {
            assert!(said(typed).contains(told), "{typed}: {}", said(typed));
        }
    }
}
