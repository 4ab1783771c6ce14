//! Files that decide what is built, or what runs elsewhere: a change to one is told, and forbidden only where
//! the operator protects it.

use windlass_core::finding::Rule;

/// In any directory.
const LOCKFILES: &[&str] = &[
    "Cargo.lock",
    "package-lock.json",
    "npm-shrinkwrap.json",
    "yarn.lock",
    "pnpm-lock.yaml",
    "bun.lock",
    "bun.lockb",
    "deno.lock",
    "poetry.lock",
    "uv.lock",
    "pdm.lock",
    "Pipfile.lock",
    "pixi.lock",
    "conda-lock.yml",
    "go.sum",
    "go.work.sum",
    "Gemfile.lock",
    "composer.lock",
    "mix.lock",
    "rebar.lock",
    "pubspec.lock",
    "Podfile.lock",
    "Package.resolved",
    "packages.lock.json",
    "gradle.lockfile",
    "flake.lock",
    "MODULE.bazel.lock",
    "cabal.project.freeze",
    "stack.yaml.lock",
];

/// From the root, and everything below.
const CI: &[&str] = &[
    ".github/workflows",
    ".github/actions",
    ".gitlab-ci.yml",
    ".gitlab-ci.yaml",
    ".gitlab/ci",
    ".circleci",
    ".buildkite",
    ".drone.yml",
    ".woodpecker.yml",
    ".woodpecker",
    ".travis.yml",
    ".appveyor.yml",
    "appveyor.yml",
    ".cirrus.yml",
    ".semaphore",
    ".teamcity",
    ".forgejo/workflows",
    ".gitea/workflows",
    "Jenkinsfile",
    "azure-pipelines.yml",
    "azure-pipelines.yaml",
    ".azure-pipelines",
    "bitbucket-pipelines.yml",
    "cloudbuild.yaml",
    "cloudbuild.yml",
    "buildspec.yml",
];

/// The rule that a change of this path, as git has it, comes under.
pub fn watched(path: &[u8]) -> Option<Rule> {
    if is_lockfile(path) {
        return Some(Rule::LockfileChanged);
    }
    let is_ci = |place: &&str| {
        path.strip_prefix(place.as_bytes()).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
    };
    CI.iter().any(is_ci).then_some(Rule::CiChanged)
}

pub fn is_lockfile(path: &[u8]) -> bool {
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    LOCKFILES.iter().any(|lockfile| lockfile.as_bytes() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lockfiles_count_anywhere_and_ci_files_in_their_place() {
        for (path, rule) in [
            ("Cargo.lock", Some(Rule::LockfileChanged)),
            ("web/package-lock.json", Some(Rule::LockfileChanged)),
            ("go.sum", Some(Rule::LockfileChanged)),
            ("my-Cargo.lock", None),
            ("Cargo.lock/x", None),
            (".github/workflows/ci.yml", Some(Rule::CiChanged)),
            (".github/workflows", Some(Rule::CiChanged)),
            (".github/CODEOWNERS", None),
            (".github/workflows2/ci.yml", None),
            ("docs/.github/workflows/ci.yml", None),
            ("Jenkinsfile", Some(Rule::CiChanged)),
            (".circleci/config.yml", Some(Rule::CiChanged)),
            ("azure-pipelines.yml", Some(Rule::CiChanged)),
            ("src/main.rs", None),
            ("", None),
        ] {
            assert_eq!(watched(path.as_bytes()), rule, "{path}");
        }
        assert_eq!(watched(b"\xff/yarn.lock"), Some(Rule::LockfileChanged));
    }
}
