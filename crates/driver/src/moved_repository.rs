//! A repository that lies in another place than when its loops were driven. Records are found by the place of
//! the repository, so that a copy never shares those of the original; what was moved takes them along only
//! when the operator says so.

use std::path::{Path, PathBuf};

use windlass_store::{StateDir, VaultDir};

use crate::orphaned_data::{loop_names, trail_state};

/// The vault that the trails of a project were written from, where it is of a repository that is not there any
/// more, and the project has none of its own. `is_tracked` is asked as for orphaned data.
pub fn vault_before_move(
    project: &Path,
    vault: &VaultDir,
    is_tracked: &dyn Fn(&Path) -> bool,
) -> Option<VaultDir> {
    if vault.root().exists() {
        return None;
    }
    let state = StateDir::new(vault.state());
    let loops = project.join(".windlass/loops");
    loop_names(&loops).find_map(|name| {
        let trail = loops.join(name.as_str());
        let workspace = PathBuf::from(trail_state(&trail)?.workspace);
        let key = workspace.parent()?.file_name()?.to_str()?;
        let before = state.vault_named(key)?;
        let moved = workspace == before.space(&name)
            && !is_there(before.repository())
            && !is_tracked(&trail.join("state.json"));
        moved.then_some(before)
    })
}

/// Yes, where it cannot be told.
pub fn is_there(common_dir: &Path) -> bool {
    common_dir.join("HEAD").try_exists().unwrap_or(true)
}
