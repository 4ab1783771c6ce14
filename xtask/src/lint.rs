//! What needs no test to be seen: formatting, lints, dependencies.

use std::process::Command;

use crate::stages::Stages;
use crate::surroundings::Surroundings;
use crate::tools::{self, CargoTool};

const MACHETE: CargoTool = CargoTool { name: "cargo-machete", version: "0.9.2" };
const DENY: CargoTool = CargoTool { name: "cargo-deny", version: "0.20.2" };

pub fn run(around: &Surroundings, stages: &mut Stages) {
    if has_component(around, stages, "fmt", "rustfmt") {
        stages.command("formatting", around.cargo(["fmt", "--all", "--check"]));
    }
    if has_component(around, stages, "clippy", "clippy") {
        let args = ["clippy", "--workspace", "--all-targets", "--locked", "--", "--deny", "warnings"];
        stages.command("clippy", around.cargo(args));
    }
    if let Some(mut machete) = installed(around, stages, &MACHETE, "unused dependencies") {
        machete.args(["--skip-target-dir", "crates", "xtask"]);
        stages.command("unused dependencies", machete);
    }
    if let Some(deny) = installed(around, stages, &DENY, "licences, sources, advisories") {
        dependencies(around, stages, deny);
    }
}

/// Licences, sources and bans of every platform's dependencies by `deny.toml`,
/// and the known holes in them where the list of those can be had.
fn dependencies(around: &Surroundings, stages: &mut Stages, mut deny: Command) {
    let mut download = around.cargo(["fetch", "--locked", "--quiet"]);
    if let Err(error) = tools::finish(&mut download) {
        stages.not_run("licences and sources", &format!("not every dependency is downloaded: {error:#}"));
        return;
    }
    let mut fetch = around.program(deny.get_program());
    fetch.args(["--log-level", "off", "fetch", "db"]);
    deny.args(["--log-level", "error", "check", "--hide-inclusion-graph", "licenses", "bans", "sources"]);
    match tools::finish(&mut fetch) {
        Ok(()) => drop(deny.arg("advisories")),
        Err(_) => stages.not_run("security advisories", "their database cannot be fetched"),
    }
    stages.command("licences, sources, advisories", deny);
}

fn installed(around: &Surroundings, stages: &mut Stages, tool: &CargoTool, serves: &str) -> Option<Command> {
    let mut found = None;
    stages.run(tool.name, |stages| {
        match tool.install(around) {
            Ok(program) => found = Some(around.program(program)),
            Err(error) => stages.not_run(serves, &format!("no {}: {error:#}", tool.name)),
        }
        Ok(())
    });
    found
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
