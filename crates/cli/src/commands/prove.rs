//! `windlass prove`: the proof of completion, and whether it still holds.

use windlass_driver::prove::{self, Asked, Rerun};

use crate::args::ProveArgs;
use crate::exit::Exit;
use crate::failure::{Failure, OrFail};
use crate::place::Locations;
use crate::show::out::say_part;
use crate::show::{json, proof};

pub fn prove(locations: &Locations, asked: &ProveArgs) -> Result<Exit, Failure> {
    if asked.rerun && locations.caller()?.is_inside_attempt {
        return Err(Failure::usage("`windlass prove --rerun` inside an attempt of a loop is refused")
            .hint("an attempt does its task; it runs no gate"));
    }
    let place = locations.open_project()?;
    let row = place.find(asked.name.as_deref())?;
    let whose = Asked {
        name: row.name.clone(),
        surroundings: place.surroundings(),
        project: place.project,
        vault: place.vault,
        rerun: if asked.rerun { Rerun::Yes } else { Rerun::No },
    };
    let proof = prove::prove(&*row.reader, &whose).or_error()?;
    if asked.json {
        json::print(&proof);
    } else {
        say_part!("{}", proof::page(&proof));
    }
    Ok(if proof.holds { Exit::Done } else { Exit::Error })
}
