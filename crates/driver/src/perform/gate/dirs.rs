//! Where the commands of a gate run.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use windlass_core::outcome::Fault;
use windlass_process::ThrowawayTree;
use windlass_workspace::Checkout;

use crate::confine::PrivateDirs;
use crate::perform::call::clear;
use crate::perform::{EffectRequest, EffectResources, fault, file_fault};

/// Begins the names of the commands' directories among those of attempts.
pub const NAME: &str = "gate";

/// Where checks find the tree that they judge, if they have a root of their own. Not where the records are: some
/// tools overlook files below a name with a dot in front, such as `.local`.
pub const SHOWN_AT: &str = "/windlass/tree";

pub struct GateDirs {
    pub cwd: PathBuf,
    pub private: PrivateDirs,
    /// The directories of the commands' processes are below it.
    pub attempts: PathBuf,
    /// The clean tree.
    pub tree: PathBuf,
}

impl GateDirs {
    pub fn new(
        resources: &EffectResources,
        request: &EffectRequest,
        checkout: &Checkout,
    ) -> Result<Self, Fault> {
        let name = &request.creation.name;
        let beside = resources.dirs.checkout(name);
        let (at, upper) = (resources.dirs.judged_tree(), beside.join("layer"));
        for dir in [&at, &upper] {
            std::fs::create_dir_all(dir).map_err(|error| file_fault(dir, &error))?;
        }
        let clean = checkout.dir().to_owned();
        let attempts = resources.dirs.attempts(name);
        let mut private = private_dirs(resources, &attempts)?;
        let copied = &request.policy.workspace.copy;
        private.read = copied.iter().map(|file| resources.surroundings.project.join(file)).collect();
        let cwd = if resources.safeguards.overlay {
            let caches = [resources.dirs.caches(name), resources.dirs.setups()];
            let caches = caches.into_iter().filter(|dir| dir.is_dir());
            let hide = [clean.clone(), resources.dirs.root()].into_iter().chain(caches).collect();
            private.tree = Some(ThrowawayTree {
                over: Vec::new(),
                shown_at: Some(SHOWN_AT.into()),
                lower: clean.clone(),
                at: at.clone(),
                upper,
                hide,
                read_only: Vec::new(),
            });
            at
        } else {
            private.write.push(clean.clone());
            clean.clone()
        };
        Ok(Self { cwd, private, attempts, tree: clean })
    }

    /// The tree that the work in hand stands on, where a check of a step can read it and not write.
    pub fn bring_previous(
        &mut self,
        resources: &EffectResources,
        request: &EffectRequest,
    ) -> Result<PathBuf, Fault> {
        let dir = resources.dirs.checkout(&request.creation.name).join("previous");
        let mut checkout = Checkout::new(&dir);
        let (vault, tree) = (&resources.vault, &request.base_tree);
        let brought = match resources.safeguards.confine.is_on() {
            true => checkout.bring_to(vault, tree),
            false => checkout.verify_and_rewrite(vault, tree),
        };
        brought.map_err(|error| fault(&error))?;
        self.private.read.push(dir.clone());
        Ok(dir)
    }

    /// Where what a command writes can be read: on a layer of its own nothing
    /// but that is there.
    pub fn written(&self) -> PathBuf {
        self.private.tree.as_ref().map_or_else(|| self.tree.clone(), ThrowawayTree::changes)
    }

    /// The next command goes on in what the last one left.
    pub fn go_on(&self) -> Result<PathBuf, Fault> {
        match &self.private.tree {
            Some(tree) => tree.go_on().map_err(|error| file_fault(&tree.upper, &error)),
            None => Ok(self.tree.clone()),
        }
    }

    /// Removes what the last command left, and closes these, while others go on.
    pub fn leave(&self, resources: &EffectResources, to_close: Vec<OwnedFd>) {
        resources.removal.remove(self.private.tree.clone(), to_close);
    }

    /// Removes what a command, also an interrupted one, left.
    pub fn discard(&self) -> Result<(), Fault> {
        match &self.private.tree {
            Some(tree) => tree.discard().map_err(|error| file_fault(&tree.upper, &error)),
            None => Ok(()),
        }
    }

    /// Makes room for the command of this number.
    pub fn clear(&self, resources: &EffectResources, number: usize) -> Result<(), Fault> {
        private_dirs(resources, &self.attempts)?;
        clear(&self.attempts.join(format!("{NAME}-{number}")))
    }
}

/// A command's home and temporary files, as no other left them.
fn private_dirs(resources: &EffectResources, attempts: &Path) -> Result<PrivateDirs, Fault> {
    let place = attempts.join("own-gate");
    PrivateDirs::empty_if_confined(&resources.safeguards.confine, place.clone())
        .map_err(|error| file_fault(&place, &error))
}

pub fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', "'\\''"))
}
