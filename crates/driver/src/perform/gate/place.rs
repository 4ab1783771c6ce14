//! Where the commands of a gate run.

use std::path::{Path, PathBuf};

use windlass_core::outcome::Fault;
use windlass_process::ThrowawayTree;
use windlass_workspace::Checkout;

use crate::confine::Own;
use crate::perform::call::clear;
use crate::perform::{Job, Workshop, file_fault};

/// Begins the names of the commands' directories among those of attempts.
pub const NAME: &str = "gate";

pub struct Place {
    pub cwd: PathBuf,
    pub own: Own,
    /// The directories of the commands' processes are below it.
    pub attempts: PathBuf,
    /// The clean tree.
    pub tree: PathBuf,
}

impl Place {
    pub fn new(shop: &Workshop, job: &Job, checkout: &Checkout) -> Result<Self, Fault> {
        let name = &job.creation.name;
        let beside = shop.dirs.checkout(name);
        let (at, upper) = (beside.join("tree"), beside.join("layer"));
        for dir in [&at, &upper] {
            std::fs::create_dir_all(dir).map_err(|error| file_fault(dir, &error))?;
        }
        let clean = checkout.dir().to_owned();
        let attempts = shop.dirs.attempts(name);
        let mut own = own(shop, &attempts)?;
        let copied = &job.policy.workspace.copy;
        own.read = copied.iter().map(|file| shop.surroundings.project.join(file)).collect();
        let cwd = if shop.overlay {
            let caches = Some(shop.dirs.caches(name)).filter(|dir| dir.is_dir());
            let hide = [clean.clone(), shop.dirs.root()].into_iter().chain(caches).collect();
            own.tree = Some(ThrowawayTree { lower: clean.clone(), at: at.clone(), upper, hide });
            at
        } else {
            own.write.push(clean.clone());
            clean.clone()
        };
        Ok(Self { cwd, own, attempts, tree: clean })
    }

    /// Where what a command writes can be read: on a layer of its own nothing
    /// but that is there.
    pub fn written(&self) -> PathBuf {
        self.own.tree.as_ref().map_or_else(|| self.tree.clone(), ThrowawayTree::changes)
    }

    /// The next command goes on in what the last one left.
    pub fn go_on(&self) -> Result<PathBuf, Fault> {
        match &self.own.tree {
            Some(tree) => tree.go_on().map_err(|error| file_fault(&tree.upper, &error)),
            None => Ok(self.tree.clone()),
        }
    }

    /// Removes what the last command left, while others go on.
    pub fn leave(&self, shop: &Workshop) {
        self.own.tree.clone().into_iter().for_each(|tree| shop.litter.remove(tree));
    }

    /// Removes what a command, also an interrupted one, left.
    pub fn discard(&self) -> Result<(), Fault> {
        match &self.own.tree {
            Some(tree) => tree.discard().map_err(|error| file_fault(&tree.upper, &error)),
            None => Ok(()),
        }
    }

    /// Makes room for the command of this number.
    pub fn clear(&self, shop: &Workshop, number: usize) -> Result<(), Fault> {
        own(shop, &self.attempts)?;
        clear(&self.attempts.join(format!("{NAME}-{number}")))
    }
}

/// A command's home and temporary files, as no other left them.
fn own(shop: &Workshop, attempts: &Path) -> Result<Own, Fault> {
    let place = attempts.join("own-gate");
    Own::fresh(&shop.confine, place.clone()).map_err(|error| file_fault(&place, &error))
}

pub fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', "'\\''"))
}
