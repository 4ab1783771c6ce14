//! `windlass prove`: the proof of completion, and whether it still holds.

use windlass_app::prove::{Proof, Rerun};
use windlass_core::outcome::OutcomeKind;

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
    } else if !is_completed(&proof) {
        let name = &proof.name;
        return Err(Failure::error(format!("{name} is not completed yet: there is nothing to prove"))
            .hint(format!("windlass status {name}")));
    } else {
        say_part!("{}", proof::page(&proof));
    }
    Ok(if proof.holds { Exit::Done } else { Exit::Error })
}

/// A log that cannot be read may well be that of a completed loop.
fn is_completed(proof: &Proof) -> bool {
    let Some(record) = &proof.record else { return true };
    record.outcome.as_ref().is_some_and(|outcome| outcome.kind == OutcomeKind::Completed)
}
