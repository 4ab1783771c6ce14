//! `windlass list`: this repository's loops, a line each.

use windlass_app::StoredLoop;

use crate::args::JsonArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::place::Locations;
use crate::show::out::{say, say_part};
use crate::show::{json, view};

pub fn list(locations: &Locations, asked: &JsonArgs) -> Result<Exit, Failure> {
    let place = locations.open_project()?;
    let views = place.loops()?.iter().map(StoredLoop::view).collect::<Result<Vec<_>, _>>()?;
    if asked.json {
        json::print(&views);
    } else if views.is_empty() {
        say!("No loops in this repository yet. `windlass run` starts one.");
    } else {
        say_part!("{}", view::list(&views));
    }
    Ok(Exit::Done)
}
