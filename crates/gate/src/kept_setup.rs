//! What set-up commands made, kept so that they need not run again: which files of a tree decide about it, and for
//! which trees it may stand.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use crate::shell::{self, ShellCommand, ShellWord};
use crate::steering::installed_dir;

/// Programs that install what manifests and lock files name, and do nothing with other files of a tree.
const INSTALLERS: &[&str] = &[
    "npm", "npx", "pnpm", "yarn", "bun", "pip", "pip3", "python", "python3", "uv", "poetry", "cargo", "go",
    "mvn", "bundle", "composer", "mix", "dotnet", "awk", "echo", "true", "cd", "git",
];

/// Of the names above, those that may also run a file of the tree: then with these words only.
const WITH_WORDS: &[(&str, &[&str])] = &[
    ("python", &["-m venv", "-m pip", "-m virtualenv"]),
    ("python3", &["-m venv", "-m pip", "-m virtualenv"]),
    ("npm", &["ci", "install"]),
    ("npx", &["-y -p"]),
    ("cargo", &["fetch"]),
    ("go", &["mod download"]),
    // The command of `init` that lists the versions in a poetry.lock, and no other program in that language.
    ("awk", &[POETRY_LOCK_READER]),
    // The commands of `init` that make a repository of the manifest alone, for builds that ask git for a version.
    (
        "git",
        &[
            "init -q .venv/",
            "add pyproject.toml",
            "add setup.py",
            "-c user.name=base -c user.email=base@localhost commit ",
            "tag -f ",
        ],
    ),
];

const POETRY_LOCK_READER: &str =
    r#"-F " /^name = "/ { name = $2 } /^version = "/ { print name "==" $2 } poetry.lock"#;

/// Files by which installers decide, at any depth.
const MANIFESTS: &[&str] = &[
    "package.json",
    "package-lock.json",
    "npm-shrinkwrap.json",
    "pnpm-lock.yaml",
    "pnpm-workspace.yaml",
    "yarn.lock",
    "bun.lock",
    "bun.lockb",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".nvmrc",
    ".node-version",
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "uv.lock",
    "poetry.lock",
    "Pipfile",
    "Pipfile.lock",
    "pdm.lock",
    "tox.ini",
    "noxfile.py",
    "MANIFEST.in",
    ".python-version",
    "Cargo.toml",
    "Cargo.lock",
    "rust-toolchain",
    "rust-toolchain.toml",
    "go.mod",
    "go.sum",
    "go.work",
    "go.work.sum",
    "pom.xml",
    "Gemfile",
    "Gemfile.lock",
    "composer.json",
    "composer.lock",
    "mix.exs",
    "mix.lock",
    ".tool-versions",
];

/// Whether a file decides what is installed. `named` are the words of the set-up commands.
pub fn is_manifest(path: &[u8], named: &[String]) -> bool {
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    let is_requirements = || {
        let lower = String::from_utf8_lossy(path).to_lowercase();
        (lower.contains("requirement") || lower.contains("constraint"))
            && (lower.ends_with(".txt") || lower.ends_with(".in"))
    };
    MANIFESTS.iter().any(|manifest| manifest.as_bytes() == name)
        || name.ends_with(b".gemspec")
        || name.ends_with(b"proj")
        || path.starts_with(b".cargo/")
        || path.starts_with(b".yarn/")
        || path.starts_with(b"patches/")
        || is_requirements()
        || named.iter().any(|word| word.as_bytes() == path)
        || installed_dir(path).is_some()
}

/// Whether these commands do nothing but install, so that manifests alone decide what they make. `packages` are the
/// texts of package.json where they run, whose own scripts an install runs.
pub fn only_install(commands: &[String], packages: &[String]) -> bool {
    let each = commands.iter().flat_map(|command| shell::commands(command));
    each.into_iter().all(|command| only_installs(&command))
        && has_plain_dirs(commands)
        && packages.iter().all(|package| runs_no_script(package))
}

/// The directories in which these commands run, from the root of the tree; that is the first of them.
pub fn install_dirs(commands: &[String]) -> Vec<String> {
    std::iter::once(String::new()).chain(commands.iter().flat_map(|command| entered(command))).collect()
}

fn entered(command: &str) -> Vec<String> {
    let dir = |command: ShellCommand| match command.program() {
        [cd, dir, ..] if cd.text == "cd" => Some(dir.text.clone()),
        [cd] if cd.text == "cd" => Some("~".to_owned()),
        _ => None,
    };
    shell::commands(command).into_iter().filter_map(dir).collect()
}

/// Whether each `cd` goes from the root into a directory below it: the only one, or in brackets of its own.
fn has_plain_dirs(commands: &[String]) -> bool {
    let is_below = |dir: &String| {
        let mut parts = Path::new(dir).components();
        dir != "~" && parts.all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
    };
    let dirs: Vec<Vec<String>> = commands.iter().map(|command| entered(command)).collect();
    let apart = |(command, dirs): (&String, &Vec<String>)| {
        dirs.is_empty() || (dirs.len() == 1 && command.starts_with('(') && command.ends_with(')'))
    };
    dirs.iter().flatten().all(is_below)
        && (dirs.iter().flatten().count() < 2 || commands.iter().zip(&dirs).all(apart))
}

/// Directories for packages that `init` makes.
const ENVIRONMENTS: [&str; 6] = [".venv/", ".uv/", ".poetry/", ".cmake/", ".meson/", ".bats/node_modules/"];

fn only_installs(command: &ShellCommand) -> bool {
    let is_in_environment = |text: &str| ENVIRONMENTS.iter().any(|dir| text.starts_with(dir));
    let plain = |word: &ShellWord| word.literal && (!word.redirected || is_in_environment(&word.text));
    if !command.words.iter().all(|word| plain(word) || word.text == "*") {
        return false;
    }
    let words: Vec<&str> =
        command.program().iter().filter(|word| !word.redirected).map(|word| word.text.as_str()).collect();
    let Some((program, rest)) = words.split_first() else { return true };
    let installed = ENVIRONMENTS.iter().find_map(|dir| program.strip_prefix(dir)?.strip_prefix("bin/"));
    let program = installed.unwrap_or(program);
    let rest = rest.join(" ");
    let fits = |(name, starts): &(&str, &[&str])| {
        *name == program && starts.iter().any(|start| rest.starts_with(start))
    };
    INSTALLERS.contains(&program)
        && (WITH_WORDS.iter().all(|(name, _)| *name != program) || WITH_WORDS.iter().any(fits))
}

/// Scripts that package managers run when they install a project itself.
const LIFECYCLE: &[&str] =
    &["preinstall", "install", "postinstall", "prepublish", "preprepare", "prepare", "postprepare"];

/// Programs in such scripts that leave what is installed as it is.
const HARMLESS: &[&str] = &["husky", "lefthook", "simple-git-hooks", "is-ci", "is-ci-cli", "true", "echo"];

fn runs_no_script(package: &str) -> bool {
    let manifest: serde_json::Value = serde_json::from_str(package).unwrap_or_default();
    let script = |name: &&str| manifest.get("scripts")?.get(*name)?.as_str().map(str::to_owned);
    let programs = LIFECYCLE.iter().filter_map(script).collect::<Vec<String>>();
    let programs = programs.iter().flat_map(|line| shell::commands(line));
    programs.into_iter().all(|command| {
        command.program().first().is_none_or(|program| HARMLESS.contains(&program.text.as_str()))
    })
}

/// Whether a layer has nothing in it but packages, and no copy of the project: then it stands for every tree with
/// the same manifests. What was built from sources stands for these sources only.
pub fn holds_only_packages(layer: &Path) -> io::Result<bool> {
    let mut pending = vec![PathBuf::new()];
    while let Some(dir) = pending.pop() {
        for entry in fs::read_dir(layer.join(&dir))? {
            let entry = entry?;
            let path = dir.join(entry.file_name());
            let bytes = path.as_os_str().as_bytes();
            if is_environment(&layer.join(&path)) {
                if has_copy_of_project(&layer.join(&path))? {
                    return Ok(false);
                }
            } else if installed_dir(bytes).is_some() {
                continue;
            } else if entry.file_type()?.is_dir() {
                pending.push(path);
            } else if !is_manifest(bytes, &[]) && !is_version_file(bytes) {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// A virtual environment of Python.
fn is_environment(dir: &Path) -> bool {
    dir.join("pyvenv.cfg").is_file()
}

/// Written by build backends that ask git for the version.
fn is_version_file(path: &[u8]) -> bool {
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    matches!(name, b"_version.py" | b"version.py" | b"_version.pyi")
}

/// Whether a directory of sources was installed otherwise than by a reference to it: pip and uv note where a package
/// came from.
fn has_copy_of_project(environment: &Path) -> io::Result<bool> {
    let lib = environment.join("lib");
    for version in fs::read_dir(&lib).into_iter().flatten() {
        let packages = version?.path().join("site-packages");
        for package in fs::read_dir(packages).into_iter().flatten() {
            let note = package?.path().join("direct_url.json");
            let Ok(text) = fs::read_to_string(&note) else { continue };
            let plain: String = text.chars().filter(|letter| !letter.is_whitespace()).collect();
            if plain.contains("\"file://") && !plain.contains("\"editable\":true") {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// What installers put into a home and nobody misses: everything else there is needed by what comes after.
const CACHES_IN_HOME: &[&str] = &[
    ".cache/pip",
    ".cache/uv",
    ".cache/yarn",
    ".cache/pnpm",
    ".cache/node",
    ".cache/node-gyp",
    ".cache/pypoetry",
    ".cache/go-build",
    ".npm",
    ".node-gyp",
    ".yarn",
    ".local/share/pnpm",
    ".local/state/pnpm",
    ".config/configstore",
    // Any rustup that looks for its directory and finds none writes an empty one.
    ".rustup/settings.toml",
];

/// What a set-up left in its home that later commands may need: the first such file.
pub fn needed_in_home(home: &Path) -> io::Result<Option<PathBuf>> {
    let mut pending = vec![PathBuf::new()];
    while let Some(dir) = pending.pop() {
        for entry in fs::read_dir(home.join(&dir))? {
            let entry = entry?;
            let path = dir.join(entry.file_name());
            if CACHES_IN_HOME.iter().any(|cache| Path::new(cache) == path) {
                continue;
            }
            if !entry.file_type()?.is_dir() {
                return Ok(Some(path));
            }
            pending.push(path);
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_installers_are_trusted_to_read_nothing_but_manifests() {
        for command in [
            "npm ci",
            "npm install --no-package-lock",
            "npx -y -p pnpm@9 -c 'pnpm install --frozen-lockfile'",
            "python3 -m venv .venv && echo '*' >.venv/.gitignore",
            "python3 -m venv .uv && echo '*' >.uv/.gitignore",
            ".uv/bin/uv sync --frozen --group test",
            "POETRY_VIRTUALENVS_IN_PROJECT=true .poetry/bin/poetry install --no-interaction",
            r#"awk -F '"' '/^name = "/ { name = $2 } /^version = "/ { print name "==" $2 }' poetry.lock >.venv/locked.txt"#,
            ".cmake/bin/python -m pip install -q 'cmake<4'",
            ".meson/bin/python -m pip install -q meson ninja",
            "SETUPTOOLS_SCM_PRETEND_VERSION=1.2 .venv/bin/python -m pip install -q -e '.[test]'",
            "npm install --no-save --no-package-lock --prefix .bats bats@1",
            "echo '*' >.bats/node_modules/.gitignore",
            "RUSTUP_AUTO_INSTALL=0 cargo fetch",
            "cargo fetch --locked",
            "uv sync --frozen",
            "git init -q .venv/version && GIT_DIR=.venv/version/.git git add pyproject.toml && \
             GIT_DIR=.venv/version/.git git -c user.name=base -c user.email=base@localhost commit -q -m base && \
             GIT_DIR=.venv/version/.git git tag -f v1.2",
            "GIT_DIR=.venv/version/.git .venv/bin/python -m pip install -q -e '.'",
        ] {
            assert!(only_install(&[command.to_owned()], &[]), "{command}");
        }
        for command in [
            "make deps",
            "npm run build",
            "npm ci; make",
            "sh setup.sh",
            "python3 setup.py",
            "cat x | sh",
            "cargo build",
            "awk '{ print }' src/versions >.venv/locked.txt",
            "awk -f tools/versions.awk poetry.lock",
            "git add -A",
            "git submodule update --init",
        ] {
            assert!(!only_install(&[command.to_owned()], &[]), "{command}");
        }
        let npm = ["npm ci".to_owned()];
        assert!(only_install(&npm, &[r#"{"scripts":{"prepare":"husky","test":"x"}}"#.to_owned()]));
        assert!(!only_install(&npm, &[r#"{"scripts":{"postinstall":"node scripts/patch.js"}}"#.to_owned()]));
    }

    #[test]
    fn directories_that_are_entered_are_known() {
        let commands = |lines: &[&str]| lines.iter().map(|&line| line.to_owned()).collect::<Vec<String>>();
        let two = commands(&["(cd web && npm ci)", "(cd 'my api' && uv sync)"]);
        assert_eq!(install_dirs(&two), ["", "web", "my api"]);
        assert!(only_install(&two, &[]));
        assert!(only_install(&commands(&["cd web && npm ci", "npm install"]), &[]));
        for lines in [
            &["cd web && npm ci", "cd api && npm ci"][..],
            &["(cd web && npm ci && cd ../api && npm ci)"],
            &["(cd .. && npm ci)"],
            &["(cd / && npm ci)"],
            &["cd && npm ci"],
            &["(cd a && npm ci) && (cd b && npm ci)"],
        ] {
            assert!(!only_install(&commands(lines), &[]), "{lines:?}");
        }
    }

    #[test]
    fn what_decides_about_an_install_is_known_by_its_name() {
        let named = ["deps.txt".to_owned()];
        for path in
            ["package.json", "a/Cargo.toml", "requirements/test.txt", "deps.txt", "node_modules/a/b.js"]
        {
            assert!(is_manifest(path.as_bytes(), &named), "{path}");
        }
        assert!(!is_manifest(b"src/package.js", &named) && !is_manifest(b"docs/a.txt", &named));
    }

    #[test]
    fn packages_stand_for_other_trees_and_what_was_built_does_not() {
        let holds = |files: &[(&str, &str)]| {
            let dir = tempfile::tempdir().unwrap();
            for (name, text) in files {
                let path = dir.path().join(name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            holds_only_packages(dir.path()).unwrap()
        };
        let note = ".venv/lib/python3.12/site-packages/x-1.dist-info/direct_url.json";
        let environment = (".venv/pyvenv.cfg", "");
        assert!(holds(&[
            ("node_modules/a/index.js", ""),
            ("package-lock.json", ""),
            ("src/x.egg-info/a", "")
        ]));
        assert!(holds(&[environment, (".venv/bin/python", "")]));
        assert!(holds(&[environment, (note, r#"{"url":"file:///t","dir_info": {"editable": true}}"#)]));
        assert!(!holds(&[environment, (note, r#"{"url": "file:///t", "dir_info": {}}"#)]));
        assert!(!holds(&[("node_modules/a/index.js", ""), ("dist/index.js", "")]));
    }

    #[test]
    fn a_home_with_more_than_caches_is_needed() {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir_all(home.path().join(".cache/pip/http")).unwrap();
        fs::write(home.path().join(".cache/pip/http/a"), "").unwrap();
        assert_eq!(needed_in_home(home.path()).unwrap(), None);
        fs::create_dir_all(home.path().join(".local/lib")).unwrap();
        fs::write(home.path().join(".local/lib/x.py"), "").unwrap();
        assert!(needed_in_home(home.path()).unwrap().is_some());
    }
}
