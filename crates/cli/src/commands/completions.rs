//! `windlass completions`: a script for a shell, from the same model as `--help`.

use clap::CommandFactory;

use crate::args::{Args, CompletionsArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::show::out;

pub fn completions(wanted: &CompletionsArgs) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(wanted.shell, &mut Args::command(), "windlass", &mut script);
    out::machine(&String::from_utf8_lossy(&script));
    Ok(Exit::Done)
}
