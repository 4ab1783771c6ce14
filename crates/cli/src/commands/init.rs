//! `windlass init`: a windlass.toml for this repository, and a first task.

use std::io::{IsTerminal, Write};
use std::path::Path;

use windlass_config::{PROJECT_FILE, detect, project_file};
use windlass_driver::agents::{self, Login, Seen};
use windlass_driver::project;
use windlass_driver::setup;

use crate::args::InitArgs;
use crate::exit::Exit;
use crate::failure::{Failure, OrFail};
use crate::place::Locations;
use crate::show::out::{say, say_part};

const FIRST_TASK: &str = "tasks/001-first.md";

pub fn init(locations: &Locations, asked: &InitArgs) -> Result<Exit, Failure> {
    let directory = locations.directory()?;
    let top = match project::locate(&directory) {
        Ok(project) => project.top,
        Err(_) if asked.git => {
            setup::make_repository(&locations.caller()?.surroundings(&directory), &directory).or_error()?;
            say!("made a git repository in {}", directory.display());
            directory
        }
        Err(error) => {
            return Err(Failure::usage(error).hint("`windlass init --git` makes a repository here"));
        }
    };
    let file = top.join(PROJECT_FILE);
    if file.exists() && !asked.force && !may_replace(&file) {
        return Err(Failure::usage(format!("{} is there already; nothing was changed", file.display()))
            .hint("`windlass init --force` replaces it"));
    }
    let proposal = detect(&top).or_error()?;
    let scratch = tempfile::tempdir().or_error()?;
    let found = agents::look(&locations.caller()?.surroundings(&top), scratch.path());
    let agent = best(&found);
    write(&file, &project_file(&proposal, agent.map(|agent| agent.name)))?;
    say!("wrote {}", file.display());
    let task = top.join(FIRST_TASK);
    if !top.join("tasks").exists() {
        let text = match &asked.prompt {
            Some(prompt) => format!("# {}\n\n{prompt}\n", prompt.lines().next().unwrap_or_default()),
            None => "# Say in one line what is to be done\n\nSay here what done means.\n".to_owned(),
        };
        write(&task, &text)?;
        say!("wrote {}", task.display());
    }
    let first = match agent {
        Some(agent) if agent.login == Login::None => {
            format!("read both files; sign in to {} (`windlass agents --probe {0}`)", agent.name)
        }
        Some(agent) => format!("read both files; the agent is {}", agent.name),
        None => "read both files; set `command` under [agent]".to_owned(),
    };
    say!("\nnext:\n  1. {first}\n  2. git add windlass.toml tasks && git commit\n  3. windlass run");
    Ok(Exit::Done)
}

/// One that is signed in before one that is not.
fn best(found: &[Seen]) -> Option<&Seen> {
    let installed = || found.iter().filter(|agent| agent.program.is_some());
    installed().find(|agent| agent.login != Login::None).or_else(|| installed().next())
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

/// Never half a file: written beside, then renamed.
fn write(file: &Path, text: &str) -> Result<(), Failure> {
    let failed = |error| Failure::error(format!("{}: {error}", file.display()));
    let dir = file.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(dir).map_err(failed)?;
    let mut temporary = tempfile::NamedTempFile::new_in(dir).map_err(failed)?;
    temporary.write_all(text.as_bytes()).map_err(failed)?;
    let readable = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    temporary.as_file().set_permissions(readable).map_err(failed)?;
    temporary.persist(file).map_err(|error| failed(error.error))?;
    Ok(())
}
