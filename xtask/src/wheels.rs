//! The packages that a project in Python installs in tests. They are fetched once, by the set-up; the tests
//! offer them on loopback.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::stages::Stages;
use crate::surroundings::Surroundings;
use crate::tools;

const WANTED: [&str; 2] = ["pip", "pytest"];

/// Where they lie; tests are told of it.
pub fn dir(around: &Surroundings) -> PathBuf {
    around.target.join("wheels")
}

pub fn set_up(around: &Surroundings, stages: &mut Stages) {
    stages.run("the packages that tests install", |stages| {
        let dir = dir(around);
        if has_all(&dir) {
            println!("every package is here");
            return Ok(());
        }
        if let Err(error) = fetch(around, &dir) {
            stages.not_run("tests that install packages for Python", &format!("{error:#}"));
        }
        Ok(())
    });
}

fn fetch(around: &Surroundings, dir: &Path) -> Result<()> {
    let python = tools::find("python3").context("no python3 to fetch them with")?;
    let mut command = around.program(python);
    command.args(["-m", "pip", "download", "-q", "--disable-pip-version-check", "--only-binary", ":all:"]);
    command.arg("--dest").arg(dir).args(WANTED);
    tools::finish(&mut command)
}

fn has_all(dir: &Path) -> bool {
    let names: Vec<String> = fs::read_dir(dir)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    WANTED.iter().all(|wanted| names.iter().any(|name| name.starts_with(&format!("{wanted}-"))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_packages_are_not_all() {
        let dir = tempfile::tempdir().unwrap();
        assert!(!has_all(dir.path()));
        fs::write(dir.path().join("pip-26.3-py3-none-any.whl"), "").unwrap();
        assert!(!has_all(dir.path()));
        fs::write(dir.path().join("pytest-9.2.0-py3-none-any.whl"), "").unwrap();
        assert!(has_all(dir.path()));
    }
}
