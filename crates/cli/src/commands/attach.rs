//! `windlass attach`: the screen of a loop that another process drives.

use windlass_app::FollowEnd;
use windlass_core::view::Status;

use super::run::rest;
use crate::args::AttachArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::place::Locations;
use crate::show::out::say;
use crate::show::progress::{ProgressPrinter, ProgressStyle};
use crate::signals;

pub fn attach(locations: &Locations, asked: &AttachArgs) -> Result<Exit, Failure> {
    let place = locations.open_project()?;
    let name = place.find(asked.name.as_deref())?.name;
    let interrupts = signals::interrupts()?;
    let mut progress = ProgressPrinter::new(ProgressStyle::Watching);
    let end = place.attach(&name, &mut progress, &interrupts);
    progress.erase();
    match end? {
        FollowEnd::Interrupted => {
            say!("\n{name} goes on. next: windlass attach {name}   windlass pause {name}");
            Ok(Exit::Interrupted)
        }
        FollowEnd::NotDriven(view) => {
            say!("\nnobody drives {name} now:\n");
            let exit = rest(&place, &view, false);
            Ok(if view.status == Status::Interrupted { Exit::Interrupted } else { exit })
        }
    }
}
