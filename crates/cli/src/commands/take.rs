//! `windlass take`: the loop's branch into the operator's checkout.

use windlass_app::TakeOutcome;

use crate::args::ExactLoopArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::place::Locations;
use crate::show::json;
use crate::show::out::say;

pub fn take(locations: &Locations, asked: &ExactLoopArgs) -> Result<Exit, Failure> {
    let place = locations.open_project()?;
    let row = place.exact(asked.name.as_deref())?;
    let (name, view) = (&row.name, row.view()?);
    let taken = place.take(&view)?;
    if asked.json {
        let (done, command) = match &taken {
            TakeOutcome::Done { .. } => (true, None),
            TakeOutcome::ByHand { command, .. } => (false, Some(command)),
        };
        json::print(
            &serde_json::json!({ "loop": name, "branch": view.branch, "taken": done, "command": command }),
        );
        return Ok(if done { Exit::Done } else { Exit::Error });
    }
    match taken {
        TakeOutcome::Done { commit } => {
            say!("your checkout is at {} ({})", commit.as_str().get(..10).unwrap_or_default(), view.branch);
            Ok(Exit::Done)
        }
        TakeOutcome::ByHand { why, command } => Err(Failure::error(why).hint(command)),
    }
}
