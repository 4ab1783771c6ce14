//! `windlass status`: how one loop stands.

use crate::args::LoopArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::place::Locations;
use crate::show::out::say_part;
use crate::show::{json, view};

pub fn status(locations: &Locations, asked: &LoopArgs) -> Result<Exit, Failure> {
    let place = locations.open_project()?;
    let seen = place.find(asked.name.as_deref())?.view()?;
    if asked.json {
        json::print(&seen);
    } else {
        say_part!("{}", view::status(&seen));
    }
    Ok(Exit::Done)
}
