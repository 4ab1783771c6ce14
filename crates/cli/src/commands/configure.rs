//! `windlass config`: what the policy says here, and which layer said it.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use windlass_config::{AgentNames, PolicyFormat, Resolved, Sources, Styling};
use windlass_core::view::View;
use windlass_driver::registry;

use crate::args::{ConfigArgs, ConfigVerb};
use crate::exit::Exit;
use crate::failure::{Failure, OrFail};
use crate::place::{Locations, user_file};
use crate::show::json;
use crate::show::out::{coloured, say, say_part};

pub fn config(locations: &Locations, asked: &ConfigArgs) -> Result<Exit, Failure> {
    match &asked.verb {
        ConfigVerb::Example => say_part!("{}", policy_format().example_file()),
        ConfigVerb::Schema => json::print(&schemars::schema_for!(View)),
        ConfigVerb::Explain { key, policy, set } => {
            let top = locations
                .project_store()
                .map_or_else(|_| locations.directory(), |place| Ok(place.project.top))?;
            let resolved = load(&top, policy.clone(), set.clone())?;
            for explained in policy_format().explain(&resolved, key.as_deref()).or_usage()? {
                say!("{explained}\n");
            }
        }
    }
    Ok(Exit::Done)
}

/// What windlass.toml may say in this build.
pub fn policy_format() -> PolicyFormat {
    let adapters = registry::adapter_names().collect();
    PolicyFormat::new(&AgentNames { known: registry::names().collect(), adapters })
}

/// The policy of a project, all layers merged.
pub fn load(project: &Path, policy_file: Option<PathBuf>, set: Vec<String>) -> Result<Resolved, Failure> {
    let sources = Sources { user_file: user_file(), project: project.to_owned(), policy_file, set };
    policy_format().load(&sources).map_err(|error| {
        let styling = if std::io::stderr().is_terminal() { Styling::Ansi } else { Styling::Plain };
        Failure::usage(coloured(&error.render(styling)))
    })
}
