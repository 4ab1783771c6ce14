//! `windlass config`: what the policy says here, and which layer said it.

use windlass_app::{PolicyArguments, policy_format};
use windlass_core::view::View;

use crate::args::{ConfigArgs, ConfigVerb};
use crate::exit::Exit;
use crate::failure::{Failure, OrFail};
use crate::place::Locations;
use crate::show::json;
use crate::show::out::{say, say_part};
use crate::show::text;

pub fn config(locations: &Locations, asked: &ConfigArgs) -> Result<Exit, Failure> {
    match &asked.verb {
        ConfigVerb::Example => say_part!("{}", policy_format().example_file()),
        ConfigVerb::Schema => json::print(&schemars::schema_for!(View)),
        ConfigVerb::Explain { key, policy, set } => {
            let top = locations
                .open_project()
                .map_or_else(|_| locations.directory(), |place| Ok(place.project.top))?;
            let arguments = PolicyArguments { policy_file: policy.clone(), set: set.clone() };
            let resolved = locations.caller()?.policy(&top, &arguments)?;
            for explained in policy_format().explain(&resolved, key.as_deref()).or_usage()? {
                for line in explained.to_string().lines() {
                    say!("{}", text::wrap(line, "    "));
                }
                say!();
            }
        }
    }
    Ok(Exit::Done)
}
