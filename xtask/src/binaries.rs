//! The binary as it is shipped, and the builds of it that only tests use.
//!
//! All share one target directory: cargo keeps what differs by feature apart, so
//! each dependency is built once. Only the last step, the link to
//! `debug/windlass`, is the same for all; hence the copies. Ask for the plain one
//! last.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use crate::surroundings::Surroundings;

pub fn plain(around: &Surroundings) -> Result<PathBuf> {
    build(around, &[])?;
    Ok(built(around))
}

/// With points at which it can be made to abort.
pub fn failpoints(around: &Surroundings) -> Result<PathBuf> {
    apart(around, "windlass/failpoints", &failpoints_path(around))
}

/// With switches that take its defences away.
pub fn weakened(around: &Surroundings) -> Result<PathBuf> {
    apart(around, "windlass/weaken", &weakened_path(around))
}

pub fn failpoints_path(around: &Surroundings) -> PathBuf {
    around.target.join("failpoints/windlass")
}

pub fn weakened_path(around: &Surroundings) -> PathBuf {
    around.target.join("weaken/windlass")
}

fn built(around: &Surroundings) -> PathBuf {
    around.target.join("debug/windlass")
}

fn apart(around: &Surroundings, feature: &str, copy: &Path) -> Result<PathBuf> {
    build(around, &["--features", feature])?;
    fs::create_dir_all(copy.parent().unwrap_or(&around.target))?;
    // Under another name first: an older copy may still be running.
    let fresh = copy.with_extension("fresh");
    fs::copy(built(around), &fresh).with_context(|| format!("copy the binary with {feature}"))?;
    fs::rename(&fresh, copy).with_context(|| format!("rename to {}", copy.display()))?;
    Ok(copy.to_owned())
}

fn build(around: &Surroundings, features: &[&str]) -> Result<()> {
    let mut build = around.cargo(["build", "--workspace", "--bin", "windlass", "--locked"]);
    build.args(features);
    let status = build.status().with_context(|| format!("start {build:?}"))?;
    ensure!(status.success(), "{build:?}: {status}");
    Ok(())
}
