//! `windlass gate explain`: what the gate makes of a path.

use windlass_app::PathExplained;
use windlass_core::policy::{GatePolicy, TermsRule};

use crate::args::{GateArgs, GateVerb};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::place::Locations;
use crate::show::out::say;

pub fn gate(locations: &Locations, asked: &GateArgs) -> Result<Exit, Failure> {
    let GateVerb::Explain { paths } = &asked.verb;
    let place = locations.open_project()?;
    if paths.is_empty() {
        rules(&place.gate_policy()?.gate);
    }
    for PathExplained { path, class, why } in place.explain_paths(paths)? {
        say!("{path}: {class}\n  {why}");
    }
    Ok(Exit::Done)
}

fn rules(gate: &GatePolicy) {
    let listed = |globs: &[String], none: &str| match globs {
        [] => none.to_owned(),
        globs => globs.join("  "),
    };
    say!("product    {}", listed(&gate.product, "all that is not protected and no setting (weaker)"));
    say!("           Agents change it freely.");
    say!("protected  {}", listed(&gate.protect, "no test of yours"));
    say!("           Tasks may add files and lines; any other change is a bug, unless");
    say!("           the task's file says `allow`. Never changed: windlass.toml, the");
    say!("           plan, files that checks run, AGENTS.md, .gitattributes and so on.");
    say!("terms      everything else");
    say!("           The checks must be green with what changed of it, and without.");
    say!(
        "           Green only with it: {}",
        match gate.terms {
            TermsRule::Review => "a reviewer decides (without reviews: a bug).",
            TermsRule::Forbid => "a bug, unless the task's file says `allow`.",
        }
    );
    say!("\n`windlass gate explain PATH` says what one path is.");
}
