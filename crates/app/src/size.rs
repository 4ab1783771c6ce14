//! How much of the disk loops take.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use windlass_core::id::LoopName;

use crate::OpenProject;

/// What `du` calls a block.
const BLOCK: u64 = 512;

impl OpenProject {
    /// Bytes of what is a loop's own: its workspace, the gate's tree, homes of agents, caches, trail.
    pub fn size_of(&self, name: &LoopName) -> u64 {
        let vault = &self.vault;
        let trail = self.project.top.join(".windlass/loops").join(name.as_str());
        [
            vault.space(name),
            vault.checkout(name),
            vault.attempts(name),
            vault.homes(name),
            vault.caches(name),
            trail,
        ]
        .iter()
        .map(|dir| bytes(dir))
        .sum()
    }

    /// Bytes of what all loops of the project share: records, texts and snapshots.
    pub fn size_of_records(&self) -> u64 {
        bytes(&self.vault.root())
    }
}

/// No link is followed; what cannot be read is left out.
fn bytes(path: &Path) -> u64 {
    let Ok(found) = fs::symlink_metadata(path) else { return 0 };
    let own = found.blocks() * BLOCK;
    if !found.is_dir() {
        return own;
    }
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    own + entries.map(|entry| bytes(&entry.path())).sum::<u64>()
}
