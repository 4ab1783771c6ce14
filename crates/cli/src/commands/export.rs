//! `windlass export`: the whole trail of a loop, written anew from the log.

use crate::args::ExportArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::place::Locations;
use crate::show::json;
use crate::show::out::say;

pub fn export(locations: &Locations, asked: &ExportArgs) -> Result<Exit, Failure> {
    let place = locations.open_project()?;
    let row = place.find(asked.name.as_deref())?;
    let below = asked.to.as_ref().unwrap_or(&place.project.top);
    let written = place.export(&row, below)?;
    if asked.json {
        json::print(&serde_json::json!({ "loop": row.name, "directory": written }));
    } else {
        say!("{}", written.display());
    }
    Ok(Exit::Done)
}
