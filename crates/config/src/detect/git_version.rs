//! Versions that a build of a Python project takes from git's tags: no checkout of a gate has a repository.

use super::project_files::ProjectFiles;
use windlass_core::plain::shell_word;

/// Words that a project's settings all have, and the variable by which such a build is told the version.
const BY_VARIABLE: &[(&[&str], &str)] = &[
    (&["setuptools-scm"], "SETUPTOOLS_SCM_PRETEND_VERSION"),
    (&["hatch-vcs"], "SETUPTOOLS_SCM_PRETEND_VERSION"),
    (&["flit-scm"], "SETUPTOOLS_SCM_PRETEND_VERSION"),
    (&["pbr"], "PBR_VERSION"),
    (&["pdm-backend", "scm"], "PDM_BUILD_SCM_VERSION"),
    (&["poetry-dynamic-versioning"], "POETRY_DYNAMIC_VERSIONING_BYPASS"),
    (&["uv-dynamic-versioning"], "UV_DYNAMIC_VERSIONING_BYPASS"),
];

/// Plug-ins that have no such variable. Versioneer is none of them: it asks for no repository but the tree's own.
const BY_REPOSITORY: [&str; 5] = [
    "setuptools-git-versioning",
    "setuptools-git-version",
    "versioningit",
    "dunamai",
    "hatch-dunamai-versioning",
];

/// Inside of the environment: there it is no work of anybody, and is kept with the packages.
const REPOSITORY: &str = ".venv/version";

/// How a build learns the version.
#[derive(Clone, Default)]
pub enum GitVersion {
    #[default]
    NotAsked,
    /// An assignment.
    Variable(String),
    /// A command that makes a repository with the last tag, beside which git finds nothing of the project's but the
    /// manifest: what is installed may depend on nothing else.
    Repository(String),
}

impl GitVersion {
    /// `settings` are the texts of what may name a plug-in.
    pub fn of(project: &ProjectFiles<'_>, settings: &str) -> Self {
        let settings = settings.to_lowercase().replace('_', "-");
        let names = |wanted: &str| {
            settings.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').any(|word| word == wanted)
        };
        let variable = BY_VARIABLE.iter().find(|(words, _)| words.iter().all(|word| names(word)));
        let manifest = ["pyproject.toml", "setup.py"].into_iter().find(|file| project.has(file));
        match (variable, manifest) {
            (Some((_, variable)), _) => Self::Variable(format!("{variable}={}", project.last_version())),
            (None, Some(manifest)) if BY_REPOSITORY.iter().any(|plug_in| names(plug_in)) => {
                let tag = project.last_tag().unwrap_or_else(|| project.last_version());
                Self::Repository(repository(manifest, &tag))
            }
            (None, Some(_) | None) => Self::NotAsked,
        }
    }

    /// What is run before a build.
    pub fn preparation(&self) -> Option<&str> {
        match self {
            Self::Repository(command) => Some(command),
            Self::NotAsked | Self::Variable(_) => None,
        }
    }

    /// A command that builds, with what it is told.
    pub fn told(&self, command: &str) -> String {
        match self {
            Self::NotAsked => command.to_owned(),
            Self::Variable(assignment) => format!("{assignment} {command}"),
            Self::Repository(_) => format!("GIT_DIR={REPOSITORY}/.git {command}"),
        }
    }
}

/// It can be run again: what is there already is no error.
fn repository(manifest: &str, tag: &str) -> String {
    let git = format!("GIT_DIR={REPOSITORY}/.git git");
    format!(
        "git init -q {REPOSITORY} && {git} add {manifest} && {git} -c user.name=base -c user.email=base@localhost \
         commit -q --allow-empty -m base && {git} tag -f {}",
        shell_word(tag)
    )
}
