//! The loops of a repository that was moved: found, told, and taken over when the operator asks for it.

use std::path::{Path, PathBuf};

use windlass_core::id::LoopName;
use windlass_driver::moved_repository::{is_there, vault_before_move};
use windlass_driver::setup;
use windlass_store::{Holder, VaultDir};

use crate::error::Classify as _;
use crate::{AppError, ErrorKind, OpenProject};

/// What became loops of this repository.
#[derive(Debug)]
pub struct AdoptedLoops {
    /// Where the repository was.
    pub from: PathBuf,
    pub loops: Vec<LoopName>,
}

impl OpenProject {
    /// Lets the records of the place where this repository was be those of the place where it is. Never those of
    /// a repository that is still there: a copy has none.
    pub fn adopt(&self, from: Option<&Path>) -> Result<AdoptedLoops, AppError> {
        self.refuse_inside_attempt()?;
        if self.vault.root().exists() {
            return Err(AppError::refused("this repository has records of its own; nothing was changed")
                .hint("`windlass list` shows its loops"));
        }
        let before = match from {
            Some(place) => self.vault_at(place)?,
            None => self.before_move().ok_or_else(|| {
                AppError::refused("nothing here says that this repository was moved; nothing was changed")
                    .hint("say where it was: windlass adopt DIR")
            })?,
        };
        let from = place_of(&before);
        if is_there(before.repository()) {
            return Err(AppError::refused(format!(
                "{} is still there; its loops stay with it",
                from.display()
            ))
            .hint("a copy has loops of its own: `windlass run` starts one"));
        }
        let reader = windlass_store::open_read(&before).or_broken()?;
        let reader = reader.ok_or_else(|| AppError::broken(format!("{} has no records", from.display())))?;
        let mut loops = Vec::new();
        for row in reader.loops().or_broken()? {
            let name = row.name;
            if let Holder::Somebody(owner) = reader.holder(&name).or_broken()? {
                let who = owner.map_or_else(String::new, |owner| format!(" (process {})", owner.pid));
                let driven = format!("{name} is still driven from {}{who}", from.display());
                return Err(AppError::new(ErrorKind::NeedsOperator, driven).hint("end that process first"));
            }
            let view = windlass_store::view(&*reader, &name, &row.head).or_broken()?;
            if !setup::is_commit(&self.surroundings(), view.base.as_str()) {
                let base = &view.base;
                return Err(AppError::refused(format!(
                    "this is not the repository that was in {}: it does not have {base}, the base of {name}",
                    from.display()
                )));
            }
            loops.push(name);
        }
        before.adopt_into(&self.project.common_dir).or_broken()?;
        Ok(AdoptedLoops { from, loops })
    }

    /// The records of the place where this repository was, as far as its trails tell.
    fn before_move(&self) -> Option<VaultDir> {
        let is_tracked = |file: &Path| setup::is_tracked(&self.surroundings(), file);
        vault_before_move(&self.project.top, &self.vault, &is_tracked)
    }

    /// Nothing is begun anew in silence beside loops that are only out of sight.
    pub(crate) fn refuse_moved(&self) -> Result<(), AppError> {
        let Some(before) = self.before_move() else { return Ok(()) };
        let from = place_of(&before);
        Err(AppError::refused(format!(
            "this repository was in {} when its loops were driven, and their records are of that place",
            from.display()
        ))
        .hint("`windlass adopt` makes them loops of the repository where it is now")
        .hint("to begin without them, move .windlass/loops away"))
    }

    fn vault_at(&self, place: &Path) -> Result<VaultDir, AppError> {
        // What is gone has no canonical path, but the directory above it has.
        let above = place.parent().and_then(|above| above.canonicalize().ok());
        let place =
            above.zip(place.file_name()).map_or_else(|| place.to_owned(), |(above, name)| above.join(name));
        let found = [place.join(".git"), place.to_owned()].iter().find_map(|dir| self.state.vault_of(dir));
        found.ok_or_else(|| AppError::refused(format!("there are no records of {}", place.display())))
    }
}

/// As a person calls it.
fn place_of(vault: &VaultDir) -> PathBuf {
    let common = vault.repository();
    let top = common.parent().filter(|_| common.ends_with(".git"));
    top.unwrap_or(common).to_owned()
}
