//! The binary `windlass`: what was typed becomes a command, a command becomes
//! calls to the driver and the store, and their results become words, JSON and
//! an exit code. It decides nothing about loops.

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
    match words.nth(1).as_deref().and_then(std::ffi::OsStr::to_str) {
        Some(windlass_driver::WARDEN_ARG) => return windlass_driver::warden_main(words),
        Some(windlass_driver::SCRIPTED_ARG) => return windlass_driver::scripted_main(words),
        Some(windlass_driver::ACP_ARG) => return windlass_driver::acp_main(words),
        Some(_) | None => {}
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
