//! What needs no test to be seen: formatting, lints, licences.

use crate::licence;
use crate::stages::Stages;
use crate::surroundings::Surroundings;
use crate::tools;

pub fn run(around: &Surroundings, stages: &mut Stages) {
    if has_component(around, stages, "fmt", "rustfmt") {
        stages.command("formatting", around.cargo(["fmt", "--all", "--check"]));
    }
    if has_component(around, stages, "clippy", "clippy") {
        let args = ["clippy", "--workspace", "--all-targets", "--locked", "--", "--deny", "warnings"];
        stages.command("clippy", around.cargo(args));
    }
    stages.run("licences and sources", |stages| licence::check(around, stages));
    if tools::has_subcommand(around, "deny") {
        stages.command(
            "cargo deny",
            around.cargo(["deny", "--offline", "check", "licenses", "bans", "sources"]),
        );
    } else {
        println!(
            "cargo-deny is not installed: duplicate versions are not looked at, licences and sources were"
        );
    }
}

fn has_component(around: &Surroundings, stages: &mut Stages, subcommand: &str, component: &str) -> bool {
    if tools::has_subcommand(around, subcommand) {
        return true;
    }
    let why = match tools::add_component(around, component) {
        Ok(()) if tools::has_subcommand(around, subcommand) => return true,
        Ok(()) => "added, and still not found".to_owned(),
        Err(error) => format!("{error:#}"),
    };
    stages.not_run(component, &why);
    false
}
