//! `windlass list`: this repository's loops, a line each.

use serde_json::json;
use windlass_app::StoredLoop;

use crate::args::ListArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::place::Locations;
use crate::show::json as print_json;
use crate::show::list;
use crate::show::out::{say, say_part};

pub fn list(locations: &Locations, asked: &ListArgs) -> Result<Exit, Failure> {
    let place = locations.open_project()?;
    let views = place.loops()?.iter().map(StoredLoop::view).collect::<Result<Vec<_>, _>>()?;
    if !asked.size {
        match (asked.json, views.is_empty()) {
            (true, _) => print_json::print(&views),
            (false, true) => say!("No loops in this repository yet. `windlass run` starts one."),
            (false, false) => say_part!("{}", list::loops(&views)),
        }
        return Ok(Exit::Done);
    }
    let sizes: Vec<(String, u64)> =
        views.iter().map(|view| (view.name.to_string(), place.size_of(&view.name))).collect();
    let shared = place.size_of_records();
    if asked.json {
        let loops: Vec<_> =
            sizes.iter().map(|(name, bytes)| json!({ "loop": name, "bytes": bytes })).collect();
        print_json::print(&json!({ "loops": loops, "records_bytes": shared }));
    } else {
        say_part!("{}", list::sizes(&sizes, shared));
    }
    Ok(Exit::Done)
}
