//! `windlass prove`: the proof of completion, and whether it still holds.

use windlass_app::prove::Rerun;

use crate::args::ProveArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::place::Locations;
use crate::show::out::say_part;
use crate::show::{json, proof};

pub fn prove(locations: &Locations, asked: &ProveArgs) -> Result<Exit, Failure> {
    let place = locations.open_project()?;
    let stored = place.find(asked.name.as_deref())?;
    let proof = place.prove(&stored, if asked.rerun { Rerun::Yes } else { Rerun::No })?;
    if asked.json {
        json::print(&proof);
    } else {
        say_part!("{}", proof::page(&proof));
    }
    Ok(if proof.holds { Exit::Done } else { Exit::Error })
}
