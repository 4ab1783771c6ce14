//! `windlass completions`: a script for a shell, from the same model as `--help`.

use clap::CommandFactory;

use crate::args::{Args, Completions};
use crate::exit::Exit;
use crate::failure::Failure;

pub fn completions(wanted: &Completions) -> Result<Exit, Failure> {
    clap_complete::generate(wanted.shell, &mut Args::command(), "windlass", &mut std::io::stdout());
    Ok(Exit::Done)
}
