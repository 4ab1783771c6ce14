//! `windlass run --detach`: the drive goes on in a process of its own.
#![allow(clippy::disallowed_methods, reason = "the edge knows its own program")]

use std::ffi::OsString;

use windlass_app::{DetachRequest, Detached, OpenProject};
use windlass_core::id::LoopName;

use crate::args::RunArgs;
use crate::exit::Exit;
use crate::failure::{Failure, OrFail};
use crate::place::Locations;
use crate::show::json;
use crate::show::out::{say, say_part};
use crate::show::text;

pub fn detach(
    place: &OpenProject,
    locations: &Locations,
    name: &LoopName,
    asked: &RunArgs,
) -> Result<Exit, Failure> {
    let program = std::env::current_exe().or_error()?;
    let arguments = arguments(place, locations, name, asked)?;
    let log = place.detached_log(name);
    match place.detach(name, &DetachRequest { program: &program, arguments: &arguments })? {
        Detached::Driving { process } if asked.json => {
            json::print(&serde_json::json!({ "loop": name, "process": process, "log": log }));
            Ok(Exit::Done)
        }
        Detached::Driving { process } => {
            let told = format!("{name} is running in the background (process {process}).");
            say!("{}", text::wrap(&told, "  "));
            let (watch, stop) = (
                format!("next: windlass attach {name}   (watch it)"),
                format!("windlass pause {name}   (stop it)"),
            );
            let fits = text::columns(&watch) + 3 + text::columns(&stop) <= text::width();
            match fits {
                true => say!("{watch}   {stop}"),
                false => {
                    say!("{}", text::wrap(&watch, "        "));
                    say!("{}", text::wrap(&format!("      {stop}"), "        "));
                }
            }
            Ok(Exit::Done)
        }
        Detached::Ended { code, said } => {
            say_part!("{said}");
            Exit::of_code(code).ok_or_else(|| {
                Failure::error(format!("the process of {name} ended at once"))
                    .hint(format!("its output is in {}", log.display()))
            })
        }
    }
}

/// The same request, for a loop that is on record.
fn arguments(
    place: &OpenProject,
    locations: &Locations,
    name: &LoopName,
    asked: &RunArgs,
) -> Result<Vec<OsString>, Failure> {
    let mut words: Vec<OsString> = vec!["-C".into(), place.project.top.clone().into()];
    if let Some(state) = locations.caller()?.state_dir {
        words.extend(["--state-dir".into(), state.into()]);
    }
    words.extend(["run".into(), "--name".into(), name.as_str().into()]);
    let named = [("--task", &asked.task), ("--until", &asked.until)];
    for (option, value) in named {
        if let Some(value) = value {
            words.extend([option.into(), value.into()]);
        }
    }
    if let Some(max) = asked.max {
        words.extend(["--max".into(), max.to_string().into()]);
    }
    let flags = [
        ("--no-review", asked.no_review),
        ("--once", asked.once),
        ("--retry-blocked", asked.retry_blocked),
        ("--continuous", asked.continuous),
    ];
    words.extend(flags.iter().filter(|(_, set)| *set).map(|(flag, _)| flag.into()));
    if asked.continuous {
        words.extend(["--every".into(), format!("{}ms", asked.every.0).into()]);
    }
    if let Some(most) = asked.max_cycles {
        words.extend(["--max-cycles".into(), most.to_string().into()]);
    }
    Ok(words)
}
