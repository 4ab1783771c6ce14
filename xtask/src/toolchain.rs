//! The toolchain that runs this, for a user who cannot reach it: what `cargo test` needs of it, and no more.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::link_tree::{link_file, link_tree};

/// The first tests documentation, which `cargo test` does as well.
const PROGRAMS: [&str; 3] = ["rustdoc", "rustc", "cargo"];

/// Where anybody finds the cargo that lies in a toolchain's `bin`: where it is, or below `to`.
pub fn for_anybody(cargo: &Path, to: &Path) -> Result<PathBuf> {
    if cargo.ancestors().skip(1).all(is_open) {
        return Ok(cargo.to_owned());
    }
    let toolchain = cargo.parent().and_then(Path::parent).context("a toolchain has a directory bin")?;
    let below = |name: &str| (toolchain.join(name), to.join(name));
    for name in ["bin", "lib/rustlib"] {
        fs::create_dir_all(to.join(name)).with_context(|| format!("make {}", to.display()))?;
    }
    for program in PROGRAMS {
        let (from, to) = below(&format!("bin/{program}"));
        link_file(&from, &to).with_context(|| format!("link {}", from.display()))?;
    }
    for library in fs::read_dir(toolchain.join("lib"))? {
        let library = library?;
        if library.file_name().to_string_lossy().contains(".so") {
            link_file(&library.path(), &to.join("lib").join(library.file_name()))?;
        }
    }
    // With the linker that some hosts use by default.
    let (from, standard_library) = below(&format!("lib/rustlib/{}", host(toolchain)?));
    link_tree(&from, &standard_library).with_context(|| format!("link {}", from.display()))?;
    Ok(to.join("bin/cargo"))
}

fn is_open(dir: &Path) -> bool {
    fs::metadata(dir).is_ok_and(|found| found.permissions().mode() & 0o005 == 0o005)
}

fn host(toolchain: &Path) -> Result<String> {
    let rustc = toolchain.join("bin/rustc");
    let output = Command::new(&rustc).arg("-vV").output();
    let output = output.with_context(|| format!("start {}", rustc.display()))?;
    ensure!(output.status.success(), "{}: {}", rustc.display(), output.status);
    let text = String::from_utf8_lossy(&output.stdout);
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).with_context(|| format!("{} names no host", rustc.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_toolchain_in_a_closed_directory_is_brought_and_works() {
        let Some(cargo) = std::env::var_os("CARGO").map(PathBuf::from) else { return };
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o700)).unwrap();
        let (closed, place) = (dir.path().join("closed"), dir.path().join("place"));
        std::os::unix::fs::symlink(cargo.parent().unwrap().parent().unwrap(), &closed).unwrap();
        let brought = for_anybody(&closed.join("bin/cargo"), &place).unwrap();
        assert_eq!(brought, place.join("bin/cargo"));
        // Cargo sets for tests where libraries of its own toolchain are.
        let mut rustc = Command::new(place.join("bin/rustc"));
        let said = rustc.env_remove("LD_LIBRARY_PATH").args(["--print", "sysroot"]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&said.stdout).trim(), place.display().to_string());
    }

    #[test]
    fn a_toolchain_that_anybody_reaches_stays_where_it_is() {
        let cargo = Path::new("/usr/bin/cargo");
        assert_eq!(for_anybody(cargo, Path::new("/nonexistent")).unwrap(), cargo);
    }
}
