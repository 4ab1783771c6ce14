//! `windlass init`: a windlass.toml for this repository, and a first task.

use std::io::IsTerminal;
use std::path::Path;

use windlass_app::Login;
use windlass_app::{InitReport, InitRequest};

use crate::args::InitArgs;
use crate::exit::Exit;
use crate::failure::{Failure, OrFail};
use crate::place::Locations;
use crate::show::out::{say, say_part};

pub fn init(locations: &Locations, asked: &InitArgs) -> Result<Exit, Failure> {
    let scratch = tempfile::tempdir().or_error()?;
    let request = InitRequest {
        prompt: asked.prompt.clone(),
        make_repository: asked.git,
        may_overwrite: &|file| asked.force || may_replace(file),
    };
    let made = windlass_app::init(&locations.directory()?, &locations.caller()?, &request, scratch.path())?;
    if let Some(repository) = &made.new_repository {
        say!("made a git repository in {}", repository.display());
    }
    for file in &made.written {
        say!("wrote {}", file.display());
    }
    say!("\nnext:\n  1. {}\n  2. git add windlass.toml tasks && git commit\n  3. windlass run", first(&made));
    Ok(Exit::Done)
}

fn first(made: &InitReport) -> String {
    match &made.agent {
        Some(agent) if agent.login == Login::None => {
            format!("read both files; sign in to {} (`windlass agents --probe {0}`)", agent.name)
        }
        Some(agent) => format!("read both files; the agent is {}", agent.name),
        None => "read both files; set `command` under [agent]".to_owned(),
    }
}

/// Asks only where there is someone to answer.
fn may_replace(file: &Path) -> bool {
    if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        return false;
    }
    say_part!("{} is there already. Replace it? [y/N] ", file.display());
    // An answer that cannot be read is a no.
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer).is_ok() && matches!(answer.trim(), "y" | "Y" | "yes")
}
