//! The texts that briefs are made of: windlass's own, and those that the
//! project puts in their place.

use std::fs;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use windlass_agent::brief::{built_in, check};
use windlass_core::nearest::nearest;
use windlass_core::policy::{BriefPart, BriefPolicy};

use crate::{AppError, OpenProject};

/// Where a text goes that is put out to be edited.
const DIRECTORY: &str = "prompts";

/// One text, as it would be used here.
#[derive(Debug)]
pub struct Prompt {
    pub part: BriefPart,
    /// The file that replaces windlass's own words; none without one.
    pub file: Option<String>,
    pub text: String,
}

impl OpenProject {
    pub fn prompts(&self) -> Result<Vec<Prompt>, AppError> {
        let own = self.gate_policy()?.brief;
        BriefPart::ALL.into_iter().map(|part| self.prompt(&own, part)).collect()
    }

    pub fn prompt_named(&self, name: &str) -> Result<Prompt, AppError> {
        self.prompt(&self.gate_policy()?.brief, part_named(name)?)
    }

    fn prompt(&self, own: &BriefPolicy, part: BriefPart) -> Result<Prompt, AppError> {
        let Some(file) = own.part(part).map(|own| own.file.clone()) else {
            return Ok(Prompt { part, file: None, text: built_in(part).to_owned() });
        };
        let text = fs::read_to_string(self.project.top.join(&file))
            .map_err(|error| AppError::refused(format!("{}: cannot read {file}: {error}", part.key())))?;
        check(&text).map_err(|bad| AppError::refused(format!("{}: {file}:{bad}", part.key())))?;
        Ok(Prompt { part, file: Some(file), text })
    }

    /// Writes windlass's own words to a file of the project, and says which. Never over one that is there.
    pub fn eject_prompt(&self, name: &str) -> Result<(BriefPart, PathBuf), AppError> {
        let part = part_named(name)?;
        let file = Path::new(DIRECTORY).join(format!("{}.md", part.name()));
        let path = self.project.top.join(&file);
        let refused =
            |error: std::io::Error| AppError::refused(format!("cannot write {}: {error}", file.display()));
        fs::create_dir_all(self.project.top.join(DIRECTORY)).map_err(refused)?;
        let mut made = fs::File::create_new(&path).map_err(|error| {
            if error.kind() == ErrorKind::AlreadyExists {
                AppError::refused(format!("{} is there already", file.display()))
                    .hint("remove it first, or edit it: it is not written over")
            } else {
                refused(error)
            }
        })?;
        made.write_all(built_in(part).as_bytes()).map_err(refused)?;
        Ok((part, file))
    }
}

fn part_named(name: &str) -> Result<BriefPart, AppError> {
    let names = || BriefPart::ALL.into_iter().map(BriefPart::name);
    BriefPart::ALL.into_iter().find(|part| part.name() == name).ok_or_else(|| {
        let refused = AppError::refused(format!("there is no prompt {name}"));
        match nearest(name, names()) {
            Some(meant) => refused.hint(format!("did you mean {meant}?")),
            None => refused.hint(format!("there are: {}", names().collect::<Vec<_>>().join(", "))),
        }
    })
}
