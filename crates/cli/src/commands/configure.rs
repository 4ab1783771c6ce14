//! `windlass config`: what the policy says here, and which layer said it.
#![allow(clippy::disallowed_methods, reason = "the edge reads the environment")]

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use windlass_config::{Colour, Resolved, Sources, all_keys, example_file, read_layers, resolve};
use windlass_core::view::View;

use crate::args::{ConfigArgs, ConfigVerb};
use crate::exit::Exit;
use crate::failure::{Failure, OrFail};
use crate::place::Wish;
use crate::show::json;
use crate::show::out::{coloured, say, say_part};

pub fn config(wish: &Wish, asked: &ConfigArgs) -> Result<Exit, Failure> {
    match &asked.verb {
        ConfigVerb::Example => say_part!("{}", example_file()),
        ConfigVerb::Schema => json::print(&schemars::schema_for!(View)),
        ConfigVerb::Explain { key, policy, set } => {
            let top = wish.place().map_or_else(|_| wish.directory(), |place| Ok(place.project.top))?;
            let resolved = load(&top, policy.clone(), set.clone())?;
            let keys = match key {
                Some(key) => vec![key.clone()],
                None => all_keys().into_iter().map(|key| key.name).collect(),
            };
            for key in keys {
                for explained in resolved.explain(&key).or_usage()? {
                    say!("{explained}\n");
                }
            }
        }
    }
    Ok(Exit::Done)
}

/// The policy of a project, all layers merged.
pub fn load(project: &Path, policy_file: Option<PathBuf>, set: Vec<String>) -> Result<Resolved, Failure> {
    let dir = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let sources = Sources {
        config_home: dir("XDG_CONFIG_HOME"),
        home: dir("HOME"),
        project: project.to_owned(),
        policy_file,
        set,
    };
    read_layers(&sources).and_then(resolve).map_err(|error| {
        let colour = if std::io::stderr().is_terminal() { Colour::Ansi } else { Colour::Plain };
        Failure::usage(coloured(&error.render(colour)))
    })
}
