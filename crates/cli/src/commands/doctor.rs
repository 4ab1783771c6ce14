//! `windlass doctor`: whether this machine has what a loop needs.

use serde::Serialize;
use windlass_app::PolicyArguments;
use windlass_driver::setup::{self, Found};

use crate::args::JsonArgs;
use crate::exit::Exit;
use crate::failure::{Failure, OrFail};
use crate::place::Locations;
use crate::show::json;
use crate::show::out::say;
use crate::show::text::{Colour, paint};

#[derive(Serialize)]
struct DoctorRow {
    what: String,
    ok: bool,
    /// Whether a loop cannot run without it.
    needed: bool,
    detail: String,
}

pub fn doctor(locations: &Locations, asked: &JsonArgs) -> Result<Exit, Failure> {
    let mut rows = Vec::new();
    let directory = locations.directory()?;
    let scratch = tempfile::tempdir().or_error()?;
    let top = locations.open_project().map_or(directory.clone(), |place| place.project.top);
    // A policy that cannot be read is for `run` to refuse.
    let policy = locations
        .caller()?
        .policy(&top, &PolicyArguments::default())
        .map(|resolved| resolved.policy)
        .unwrap_or_default();
    let found =
        setup::examine(&policy.sandbox, &locations.caller()?.surroundings(&directory), scratch.path());
    for Found { what, ok, needed, detail } in found {
        rows.push(DoctorRow { what, ok, needed, detail });
    }
    match locations.open_project() {
        Ok(place) => {
            rows.push(DoctorRow {
                what: "repository".into(),
                ok: true,
                needed: true,
                detail: place.project.top.display().to_string(),
            });
            let state = place.state.check();
            let detail = state
                .as_ref()
                .map_or_else(ToString::to_string, |()| place.state.root().display().to_string());
            rows.push(DoctorRow { what: "state directory".into(), ok: state.is_ok(), needed: true, detail });
            let store = place.reader();
            let (ok, detail) = match &store {
                Ok(Some(_)) => match windlass_store::check(&place.vault) {
                    Ok(()) => (true, place.vault.root().display().to_string()),
                    Err(error) => (false, error.to_string()),
                },
                Ok(None) => (true, "none yet".to_owned()),
                Err(failure) => (false, failure.message.clone()),
            };
            rows.push(DoctorRow { what: "records".into(), ok, needed: true, detail });
        }
        Err(failure) => {
            rows.push(DoctorRow {
                what: "repository".into(),
                ok: false,
                needed: true,
                detail: failure.message,
            });
        }
    }
    let sound = rows.iter().all(|row| row.ok || !row.needed);
    if asked.json {
        json::print(&serde_json::json!({ "ok": sound, "checks": rows }));
    } else {
        for row in &rows {
            let (mark, colour) = match (row.ok, row.needed) {
                (true, _) => ("ok", Colour::Good),
                (false, true) => ("missing", Colour::Bad),
                (false, false) => ("optional", Colour::Busy),
            };
            say!("{}  {:<18} {}", paint(&format!("{mark:<8}"), colour), row.what, row.detail);
        }
    }
    Ok(if sound { Exit::Done } else { Exit::Error })
}
