//! What the set-up commands made on a base, kept for the gates of all loops of the project. Only a baseline makes
//! one, since its tree is the operator's: what the code of an attempt could have written is never kept.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use windlass_core::id::TreeId;
use windlass_core::outcome::Fault;
use windlass_gate::{holds_only_packages, install_dirs, is_manifest, needed_in_home, only_install};
use windlass_process::remove_tree;

use super::dirs::{GateDirs, SHOWN_AT};
use crate::clock;
use crate::perform::{EffectRequest, EffectResources, fault, file_fault};

/// One that nobody used for so long is removed.
const UNUSED_MS: i64 = 14 * 24 * 3600 * 1000;

/// Names the only tree that a set-up stands for, where it does not stand for all with its manifests.
const ONLY_FOR: &str = "only-for";
const USED: &str = "used";

/// Where the set-up of one tree is kept, if it is.
pub struct SetupPlace {
    dir: PathBuf,
    tree: TreeId,
    by_manifests: bool,
}

/// A set-up that need not be done again.
pub struct KeptSetup {
    pub dir: PathBuf,
    pub tree: PathBuf,
    /// What was installed into each directory of packages.
    pub packages: Vec<PathBuf>,
}

impl KeptSetup {
    /// None where it is gone.
    pub fn at(dir: &Path, resources: &EffectResources) -> Option<Self> {
        if !dir.is_dir() {
            return None;
        }
        // Without it the set-up is only done again, some day.
        fs::write(dir.join(USED), "").ok();
        let count = resources.safeguards.confine.package_dirs().len();
        let packages = (0..count).map(|number| dir.join("packages").join(number.to_string())).collect();
        Some(Self { dir: dir.to_owned(), tree: dir.join("tree"), packages })
    }
}

impl SetupPlace {
    /// None where there is no set-up, or nothing to lay it under.
    pub fn of(
        resources: &EffectResources,
        request: &EffectRequest,
        tree: &TreeId,
    ) -> Result<Option<Self>, Fault> {
        let setup = &request.policy.workspace.setup;
        if setup.is_empty() || !resources.safeguards.overlay {
            return Ok(None);
        }
        let listed = resources.vault.list_paths(tree).map_err(|error| fault(&error))?;
        let words: Vec<String> =
            setup.iter().flat_map(|step| step.split_whitespace().map(str::to_owned)).collect();
        let package = |dir: String| {
            let path = Path::new(&dir).join("package.json");
            let read = resources.vault.read_blob(tree, path.as_os_str().as_encoded_bytes());
            read.map(|text| String::from_utf8_lossy(&text.unwrap_or_default()).into_owned())
        };
        let packages: Result<Vec<String>, _> = install_dirs(setup).into_iter().map(package).collect();
        let by_manifests = only_install(setup, &packages.map_err(|error| fault(&error))?);
        let mut hasher = blake3::Hasher::new();
        let mut part = |bytes: &[u8]| {
            hasher.update(&(bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        };
        part(b"windlass set-up 1");
        // Virtual environments contain the path of their tree.
        part(SHOWN_AT.as_bytes());
        part(resources.dirs.judged_tree().as_os_str().as_encoded_bytes());
        setup.iter().for_each(|step| part(step.as_bytes()));
        for file in &request.policy.workspace.copy {
            part(&fs::read(resources.surroundings.project.join(file)).unwrap_or_default());
        }
        for dir in resources.safeguards.confine.package_dirs() {
            part(dir.as_os_str().as_encoded_bytes());
        }
        part(toolchain(resources, &words).as_bytes());
        match by_manifests {
            false => part(tree.as_str().as_bytes()),
            true => {
                for (path, item) in listed.iter().filter(|(path, _)| is_manifest(path, &words)) {
                    part(path);
                    part(item.oid.as_bytes());
                }
            }
        }
        let dir = resources.dirs.setups().join(hasher.finalize().to_hex().as_str());
        Ok(Some(Self { dir, tree: tree.clone(), by_manifests }))
    }

    /// What was kept, if it stands for this tree.
    pub fn find(&self, resources: &EffectResources) -> Option<KeptSetup> {
        match fs::read_to_string(self.dir.join(ONLY_FOR)) {
            Ok(only) if only != self.tree.as_str() => None,
            Ok(_) | Err(_) => KeptSetup::at(&self.dir, resources),
        }
    }

    /// What was kept, if it stands for all trees with these manifests: packages, and nothing that covers or removes
    /// a file of the tree.
    pub fn find_packages(&self, resources: &EffectResources) -> Option<KeptSetup> {
        let stands_for_all = self.by_manifests && !self.dir.join(ONLY_FOR).exists();
        stands_for_all.then(|| KeptSetup::at(&self.dir, resources)).flatten()
    }

    /// Takes what a set-up just left, unless something of it lies where it cannot be kept.
    pub fn keep(&self, resources: &EffectResources, dirs: &GateDirs) -> Result<(), Fault> {
        let setups = resources.dirs.setups();
        let making = setups.join(format!("making-{}", clock::marker()));
        let kept = self.move_into(resources, dirs, &making);
        let done = kept.and_then(|kept| match kept {
            true => fs::rename(&making, &self.dir),
            false => Ok(()),
        });
        // Another baseline may have been faster; and without a kept one, the set-up is done each time.
        if let Err(error) = &done {
            tracing::debug!(%error, "a set-up is not kept");
        }
        remove_tree(&making).map_err(|error| file_fault(&making, &error))?;
        remove_unused(&setups);
        Ok(())
    }

    fn move_into(&self, resources: &EffectResources, dirs: &GateDirs, making: &Path) -> io::Result<bool> {
        let home = dirs.private.home();
        let needed = if home.is_dir() { needed_in_home(&home)? } else { None };
        if let Some(file) = needed {
            tracing::debug!(file = %file.display(), "a set-up is not kept, because of what it left in its home");
            return Ok(false);
        }
        fs::create_dir_all(making.join("packages"))?;
        fs::rename(dirs.written(), making.join("tree"))?;
        let layers = dirs.private.layers(resources.safeguards.confine.package_dirs());
        for (number, layer) in layers.iter().enumerate() {
            let to = making.join("packages").join(number.to_string());
            match fs::rename(layer.changes(), &to) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => fs::create_dir(&to)?,
                moved => moved?,
            }
        }
        if !self.by_manifests || !holds_only_packages(&making.join("tree"))? {
            fs::write(making.join(ONLY_FOR), self.tree.as_str())?;
        }
        Ok(true)
    }
}

/// The programs that the commands name, as they are on this machine.
fn toolchain(resources: &EffectResources, words: &[String]) -> String {
    let mut known = String::new();
    for word in words.iter().filter(|word| !word.contains('/')) {
        let found = std::env::split_paths(&resources.safeguards.confine.path).map(|dir| dir.join(word));
        let found = found.filter_map(|path| Some((path.canonicalize().ok()?, fs::metadata(path).ok()?)));
        if let Some((path, meta)) = found.into_iter().find(|(_, meta)| meta.is_file()) {
            known += &format!("{} {} {}\n", path.display(), meta.size(), meta.mtime());
        }
    }
    known
}

/// What cannot be removed takes room, and is looked at again by the next baseline.
fn remove_unused(setups: &Path) {
    let now = clock::wall().0;
    for entry in fs::read_dir(setups).into_iter().flatten().filter_map(Result::ok) {
        let used = fs::metadata(entry.path().join(USED)).or_else(|_| entry.metadata());
        let is_old = used.is_ok_and(|meta| now - meta.mtime() * 1000 > UNUSED_MS);
        if is_old && let Err(error) = remove_tree(&entry.path()) {
            tracing::debug!(%error, "an unused set-up is not removed");
        }
    }
}
