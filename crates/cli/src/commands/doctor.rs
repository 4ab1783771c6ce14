//! `windlass doctor`: whether this machine has what a loop needs.

use serde_json::{Value, json};
use windlass_app::DoctorRow;
use windlass_app::doctor as examine;

use crate::args::JsonArgs;
use crate::exit::Exit;
use crate::failure::{Failure, OrFail};
use crate::place::Locations;
use crate::show::json as print_json;
use crate::show::out::say;
use crate::show::text::{self, Colour, paint};

/// Below the detail of the first line.
const MARGIN: &str = "                             ";
const MARK_COLUMNS: usize = 8;

pub fn doctor(locations: &Locations, asked: &JsonArgs) -> Result<Exit, Failure> {
    let scratch = tempfile::tempdir().or_error()?;
    let report = examine(&locations.directory()?, &locations.caller()?, scratch.path());
    let sound = report.is_sound();
    if asked.json {
        let row = |row: &DoctorRow| json!({ "what": row.what, "ok": row.ok, "needed": row.needed, "detail": row.detail });
        let rows: Vec<Value> = report.rows.iter().map(row).collect();
        print_json::print(&json!({ "ok": sound, "checks": rows }));
    } else {
        for row in &report.rows {
            let (mark, colour) = match (row.ok, row.needed) {
                (true, _) => ("ok", Colour::Good),
                (false, true) => ("missing", Colour::Bad),
                (false, false) => ("optional", Colour::Busy),
            };
            let line = text::wrap(
                &format!("{mark:<8}  {:<18} {}", row.what, row.detail.replace('\n', "; ")),
                MARGIN,
            );
            say!("{}{}", paint(&line[..MARK_COLUMNS], colour), &line[MARK_COLUMNS..]);
        }
    }
    Ok(if sound { Exit::Done } else { Exit::Error })
}
