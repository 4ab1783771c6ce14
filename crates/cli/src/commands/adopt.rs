//! `windlass adopt`: the loops of a repository that was moved.
#![allow(clippy::disallowed_methods, reason = "the edge knows the directory that a path is relative to")]

use serde_json::json;

use crate::args::AdoptArgs;
use crate::exit::Exit;
use crate::failure::{Failure, OrFail as _};
use crate::place::Locations;
use crate::show::json as print_json;
use crate::show::out::say;

pub fn adopt(locations: &Locations, asked: &AdoptArgs) -> Result<Exit, Failure> {
    let place = locations.open_project()?;
    let from = asked.from.as_ref().map(std::path::absolute).transpose().or_usage()?;
    let adopted = place.adopt(from.as_deref())?;
    if asked.json {
        print_json::print(&json!({ "from": adopted.from, "loops": adopted.loops }));
        return Ok(Exit::Done);
    }
    let names: Vec<&str> = adopted.loops.iter().map(|name| name.as_str()).collect();
    say!("the loops of {} are loops of this repository: {}.", adopted.from.display(), names.join(", "));
    say!("next: windlass list");
    Ok(Exit::Done)
}
