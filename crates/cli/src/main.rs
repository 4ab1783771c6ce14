//! The binary `windlass`: what was typed becomes a command, a command becomes
//! calls to the use cases of `app`, and their results become words, JSON and an
//! exit code. It decides nothing about loops.

mod args;
mod commands;
mod debug_log;
mod exit;
mod failure;
mod operator;
mod place;
#[cfg(test)]
mod reference;
mod show;
mod signals;
mod task_args;
mod typed;

use std::io::ErrorKind;
use std::process::ExitCode;

use crate::exit::Exit;
use crate::show::out::{complain, unwritten};

fn main() -> ExitCode {
    let mut words = std::env::args_os();
    let first = words.nth(1);
    if let Some(code) = first.and_then(|first| windlass_app::hidden_mode(&first, words)) {
        return code;
    }
    // A pipe whose reader is gone is an error and no signal, from the first call on:
    // whoever starts programs writes to wardens, and one that has ended must not
    // end its supervisor without a word. The standard library has seen to it.
    let args = match typed::args() {
        Ok(args) => args,
        Err(failure) => {
            complain!("{failure}");
            return failure.exit.into();
        }
    };
    #[cfg(feature = "failpoints")]
    let _points = fail::FailScenario::setup();
    let only_shows = args.verb.only_shows();
    match commands::dispatch(args) {
        Ok(code) => told(code, only_shows).into(),
        Err(failure) => {
            complain!("{failure}");
            failure.exit.into()
        }
    }
}

/// What was done is done, whether or not anybody could be told; a text that was
/// asked for and is not whole is an error. A reader that has seen enough, as in
/// `windlass log | head`, is none.
fn told(code: Exit, only_shows: bool) -> Exit {
    let Some(error) = unwritten().filter(|error| error.kind() != ErrorKind::BrokenPipe) else { return code };
    complain!("windlass: cannot write to standard output: {error}");
    if only_shows && code == Exit::Done { Exit::Error } else { code }
}
