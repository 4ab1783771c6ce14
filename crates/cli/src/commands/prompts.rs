//! `windlass prompts`: the texts that briefs are made of.

use crate::args::{PromptsArgs, PromptsVerb};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::place::Locations;
use crate::show::out::{say, say_part};
use crate::show::text::clean;

pub fn prompts(locations: &Locations, asked: &PromptsArgs) -> Result<Exit, Failure> {
    let place = locations.open_project()?;
    match asked.verb.as_ref().unwrap_or(&PromptsVerb::List) {
        PromptsVerb::List => {
            for prompt in place.prompts()? {
                let whose = prompt.file.as_deref().unwrap_or("windlass's own");
                say!("{:<15} {}", prompt.part.name(), clean(whose));
            }
            say!("\nnext: windlass prompts show NAME");
            say!("      windlass prompts eject NAME   (to write your own)");
        }
        PromptsVerb::Show { name } => {
            for line in place.prompt_named(name)?.text.lines() {
                say!("{}", clean(line));
            }
        }
        PromptsVerb::Eject { name } => {
            let (part, file) = place.eject_prompt(name)?;
            let key = part.key().trim_start_matches("brief.");
            say!("{} is written. Edit it, and say in windlass.toml:", file.display());
            say_part!("\n[brief]\n{key} = \"{}\"\n", file.display());
        }
    }
    Ok(Exit::Done)
}
