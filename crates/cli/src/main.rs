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

use std::process::ExitCode;

use crate::show::out::complain;
use clap::Parser;

fn main() -> ExitCode {
    let mut words = std::env::args_os();
    let first = words.nth(1);
    if let Some(code) = first.and_then(|first| windlass_app::hidden_mode(&first, words)) {
        return code;
    }
    exit::reset_broken_pipe();
    let args = args::Args::parse();
    #[cfg(feature = "failpoints")]
    let _points = fail::FailScenario::setup();
    match commands::dispatch(args) {
        Ok(code) => code.into(),
        Err(failure) => {
            complain!("{failure}");
            failure.exit.into()
        }
    }
}
