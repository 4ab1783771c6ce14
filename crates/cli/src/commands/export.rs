//! `windlass export`: the whole trail of a loop, written anew from the log.

use windlass_driver::trail;

use crate::args::ExportArgs;
use crate::exit::Exit;
use crate::failure::{Failure, OrFail};
use crate::place::Locations;
use crate::show::json;
use crate::show::out::say;

pub fn export(locations: &Locations, asked: &ExportArgs) -> Result<Exit, Failure> {
    let place = locations.open_project()?;
    let row = place.find(asked.name.as_deref())?;
    let below = asked.to.as_ref().unwrap_or(&place.project.top);
    std::fs::create_dir_all(below).map_err(|error| {
        Failure::error(format!("{}: {error}", below.display())).hint("choose another directory with --to")
    })?;
    let written = trail::rebuild(&*row.reader, &row.name, below).or_error()?;
    if asked.json {
        json::print(&serde_json::json!({ "loop": row.name, "directory": written }));
    } else {
        say!("{}", written.display());
    }
    Ok(Exit::Done)
}
