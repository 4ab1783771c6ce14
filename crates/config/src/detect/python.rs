//! Python: a virtual environment with what the project says that its tests need.

use toml::{Table, Value};

use super::git_version::GitVersion;
use super::project_files::ProjectFiles;
use super::{Stack, TestWay, fetched};

const PROTECT: [&str; 5] =
    ["**/test_*.py", "**/*_test.py", "**/{test,tests}.py", "**/conftest.py", "**/{test,tests}/**"];

/// Names of extras and dependency groups that are for tests, and of those that have them among others.
const FOR_TESTS: [&str; 6] = ["test", "tests", "testing", "pytest", "unittest", "test-deps"];
const FOR_DEVELOPERS: [&str; 6] = ["dev", "develop", "development", "dev-dependencies", "ci", "all"];

pub fn python(project: &ProjectFiles<'_>) -> Option<Stack> {
    let is_test =
        |name: &str| name.ends_with(".py") && (name.starts_with("test_") || name.ends_with("_test.py"));
    let found = project.has_any(&["pyproject.toml", "setup.py", "setup.cfg", "pytest.ini", "tox.ini"])
        || ["", "tests", "test"].iter().any(|directory| project.names_in(directory).any(is_test));
    let stack = || Stack::new("Python", "python", ways(project)).protect(&PROTECT);
    found.then(|| stack().product(&["**/*.py", "src/**"]))
}

fn ways(project: &ProjectFiles<'_>) -> Vec<TestWay> {
    let needed = Needed::of(project);
    let unittest = unittest(project);
    let directory = ["tests", "test"].into_iter().find(|directory| project.has_directory(directory));
    let pytest = "-m pytest -q";
    let in_tests = directory.map(|directory| format!("{pytest} {directory}"));
    let runs = [Some(pytest.to_owned()), in_tests, unittest.clone()];
    let runs: Vec<String> = runs.into_iter().flatten().collect();
    let mut ways = Vec::new();
    if needed.is_nothing() && !project.has_environment() {
        let plain = [Some(pytest.to_owned()), unittest].into_iter().flatten();
        ways.extend(plain.map(|run| TestWay::new(format!("python3 {run}")).needs("python3")));
    }
    for setup in needed.setups(project) {
        for run in &runs {
            let way = TestWay::new(format!("{ACTIVE} python {run}")).needs(setup.needs);
            let Setup { commands, instead_of, .. } = &setup;
            ways.push(TestWay { setup: commands.clone(), instead_of: instead_of.clone(), ..way });
        }
    }
    if project.text("tox.ini").contains("[testenv") {
        let way = TestWay::new(".venv/bin/tox -e py").setup(ENVIRONMENT).setup(pip("tox")).needs("python3");
        ways.push(way);
    }
    let sessions = project.text("noxfile.py");
    let session = ["tests", "test"].into_iter().find(|name| sessions.contains(&format!("def {name}(")));
    ways.extend(session.map(|session| {
        TestWay::new(format!(".venv/bin/nox -s {session}"))
            .setup(ENVIRONMENT)
            .setup(pip("nox"))
            .needs("python3")
    }));
    ways
}

/// Ignored by git also where an older Python makes it.
const ENVIRONMENT: &str = "python3 -m venv .venv && echo '*' >.venv/.gitignore";

/// As in an environment that is active: tests may call its programs.
pub const ACTIVE: &str = "PATH=\"$PWD/.venv/bin:$PATH\"";

fn pip(what: &str) -> String {
    format!(".venv/bin/python -m pip install -q {what}")
}

/// The versions that Poetry locked, for pip: they hold where Poetry itself cannot install.
const LOCKED: &str = ".venv/locked.txt";
const READ_POETRY_LOCK: &str =
    r#"awk -F '"' '/^name = "/ { name = $2 } /^version = "/ { print name "==" $2 }' poetry.lock"#;

struct Setup {
    commands: Vec<String>,
    needs: &'static str,
    /// The set-up for which it stands in where that one failed.
    instead_of: Vec<String>,
}

impl Setup {
    fn new(commands: impl IntoIterator<Item = String>, needs: &'static str) -> Self {
        Self { commands: commands.into_iter().collect(), needs, instead_of: Vec::new() }
    }
}

/// Where the tool is missing, pip can bring it.
fn by_fetched(tool: &str, install: String) -> Setup {
    Setup::new(fetched::by_pip(tool, tool).into_iter().chain([install]), "python3")
}

/// What the project says that its tests need.
#[derive(Clone, Default)]
struct Needed {
    /// The project itself can be installed.
    installable: bool,
    dependencies: bool,
    extras: Choice,
    groups: Choice,
    /// Files of requirements.
    files: Vec<String>,
    /// Requirements that are written elsewhere.
    others: Vec<String>,
    /// What tox installs for the tests.
    tox: Vec<String>,
    version: GitVersion,
    names_pytest: bool,
}

/// Names that are for tests, and all that a developer may need.
#[derive(Clone, Default)]
struct Choice {
    tests: Vec<String>,
    wide: Vec<String>,
}

impl Choice {
    fn of(names: impl Iterator<Item = String>) -> Self {
        let names: Vec<String> = names.collect();
        let among = |wanted: &[&str]| -> Vec<String> {
            names.iter().filter(|name| wanted.contains(&name.as_str())).cloned().collect()
        };
        let (tests, developers) = (among(&FOR_TESTS), among(&FOR_DEVELOPERS));
        let not_for_tests = ["doc", "lint", "typ", "mypy", "bench", "publish", "release", "pre-commit"];
        let may_help = |name: &&String| !not_for_tests.iter().any(|word| name.to_lowercase().contains(word));
        let wide = names.iter().filter(may_help).cloned().collect();
        Self { tests: if tests.is_empty() { developers } else { tests }, wide }
    }
}

impl Needed {
    fn of(project: &ProjectFiles<'_>) -> Self {
        let manifest: Table = project.text("pyproject.toml").parse().unwrap_or_default();
        let at = |path: &[&str]| path.iter().try_fold(&manifest, |table, key| table.get(*key)?.as_table());
        let keys = |table: Option<&Table>| {
            table.into_iter().flat_map(|table| table.keys().cloned()).collect::<Vec<_>>()
        };
        let is_poetry_package = at(&["tool", "poetry"])
            .is_some_and(|poetry| poetry.get("package-mode").and_then(Value::as_bool) != Some(false));
        let texts =
            ["pyproject.toml", "setup.py", "setup.cfg", "tox.ini"].map(|file| project.text(file)).concat();
        let mut needed = Self {
            installable: at(&["project"]).is_some()
                || is_poetry_package
                || project.has_any(&["setup.py", "setup.cfg"]),
            dependencies: at(&["project"])
                .and_then(|project| project.get("dependencies")?.as_array())
                .is_some_and(|all| !all.is_empty())
                || at(&["tool", "poetry", "dependencies"]).is_some_and(|all| all.len() > 1)
                || texts.contains("install_requires"),
            extras: Choice::of(
                keys(at(&["project", "optional-dependencies"])).into_iter().chain(extras_of_setup(project)),
            ),
            groups: Choice::of(keys(at(&["dependency-groups"])).into_iter()),
            version: GitVersion::of(project, &texts),
            ..Self::default()
        };
        needed.others.extend(poetry_requirements(&manifest));
        needed.tox = tox_requirements(&tox_settings(project, &manifest));
        needed.files = requirement_files(project, !needed.has_test_names());
        if !needed.has_test_names() && needed.files.is_empty() && needed.others.is_empty() {
            needed.others.clone_from(&needed.tox);
        }
        let files = needed.files.iter().map(|file| project.text(file));
        needed.names_pytest = files.chain([texts]).any(|text| text.contains("pytest"));
        needed
    }

    fn has_test_names(&self) -> bool {
        !self.extras.tests.is_empty() || !self.groups.tests.is_empty()
    }

    /// The tests may run in the system's own Python.
    fn is_nothing(&self) -> bool {
        !self.dependencies && !self.has_test_names() && self.files.is_empty() && self.others.is_empty()
    }

    /// The most exact first.
    fn setups(&self, project: &ProjectFiles<'_>) -> Vec<Setup> {
        let mut setups = Vec::new();
        if project.has("uv.lock") {
            let names = |flag: &str, all: &[String]| {
                all.iter().map(|name| format!(" --{flag} {name}")).collect::<String>()
            };
            let sync = |choice: fn(&Choice) -> &Vec<String>| {
                let extras = names("extra", choice(&self.extras));
                format!("uv sync --frozen{extras}{}", names("group", choice(&self.groups)))
            };
            let (exact, wide) = (sync(|choice| &choice.tests), sync(|choice| &choice.wide));
            // uv does not take an environment that it did not make, and so none with a repository in it.
            let version = |command: &str| match self.version.preparation() {
                Some(_) => command.to_owned(),
                None => self.version.told(command),
            };
            let mut all = vec![exact];
            all.extend((wide != all[0]).then_some(wide));
            setups.extend(all.iter().map(|sync| Setup::new([version(sync)], "uv")));
            setups.extend(all.iter().map(|sync| by_fetched("uv", version(&format!(".uv/bin/{sync}")))));
        }
        if project.has("poetry.lock") {
            let install = |poetry: &str| {
                format!("POETRY_VIRTUALENVS_IN_PROJECT=true {poetry} install --no-interaction --all-extras")
            };
            setups.push(Setup::new([install("poetry")], "poetry"));
            setups.push(by_fetched("poetry", install(".poetry/bin/poetry")));
        }
        let environment = |what: String| {
            let first = [ENVIRONMENT.to_owned(), pip("--upgrade pip")];
            let preparation = self.version.preparation().map(str::to_owned);
            let install = self.version.told(&pip(&what));
            Setup::new(first.into_iter().chain(preparation).chain([install]), "python3")
        };
        let exact = self.arguments(&self.extras.tests, &self.groups.tests);
        let wide = self.arguments(&self.extras.wide, &self.groups.wide);
        if project.has("poetry.lock") {
            let mut locked = environment(format!("-c {LOCKED} {exact}"));
            locked.commands.insert(1, format!("{READ_POETRY_LOCK} >{LOCKED}"));
            setups.push(locked);
        }
        setups.push(environment(exact.clone()));
        if let Some(lean) = self.without_wide_files() {
            let instead_of = environment(exact.clone()).commands;
            setups.push(Setup { instead_of, ..environment(lean.arguments(&[], &[])) });
        }
        if wide != exact {
            setups.push(environment(wide.clone()));
        }
        // What only tox brings: plug-ins that the project's own settings need.
        let named = |requirement: &&String| !self.others.contains(requirement);
        let more: Vec<&String> = self.tox.iter().filter(named).collect();
        if !more.is_empty() {
            let more = more.iter().map(|requirement| format!(" '{requirement}'")).collect::<String>();
            setups.push(environment(format!("{wide}{more}")));
        }
        setups
    }

    /// The same without files that may name all that a developer wants: one package among them may not be built here.
    fn without_wide_files(&self) -> Option<Self> {
        let is_for_tests = |file: &&String| file.contains("test");
        let files: Vec<String> = self.files.iter().filter(is_for_tests).cloned().collect();
        if files.len() == self.files.len() || (!self.installable && self.tox.is_empty()) {
            return None;
        }
        let others = if self.others.is_empty() { &self.tox } else { &self.others };
        let names_pytest = !files.is_empty() || others.iter().any(|other| other.contains("pytest"));
        Some(Self { files, others: others.clone(), names_pytest, ..self.clone() })
    }

    /// What pip is to install.
    fn arguments(&self, extras: &[String], groups: &[String]) -> String {
        let mut words = Vec::new();
        if self.installable {
            let extras = if extras.is_empty() { String::new() } else { format!("[{}]", extras.join(",")) };
            words.push(format!("-e '.{extras}'"));
        }
        words.extend(groups.iter().map(|group| format!("--group {group}")));
        words.extend(self.files.iter().map(|file| format!("-r {file}")));
        words.extend(self.others.iter().map(|requirement| format!("'{requirement}'")));
        if !self.names_pytest || !(self.has_test_names() || !self.files.is_empty() || !self.others.is_empty())
        {
            words.push("pytest".to_owned());
        }
        words.join(" ")
    }
}

/// The names in `extras_require` of a setup.py or setup.cfg, as far as they are plain.
fn extras_of_setup(project: &ProjectFiles<'_>) -> Vec<String> {
    let mut extras = Vec::new();
    if let Some((_, text)) = project.text("setup.cfg").split_once("[options.extras_require]") {
        let lines = text.lines().take_while(|line| !line.starts_with('['));
        let names =
            lines.filter(|line| !line.starts_with([' ', '\t', '#'])).filter_map(|line| line.split_once('='));
        extras.extend(names.map(|(name, _)| name.trim().to_owned()));
    }
    let script = project.text("setup.py");
    if script.contains("extras_require") {
        let quoted = |name: &&&str| {
            [format!("'{name}':"), format!("\"{name}\":")].iter().any(|key| script.contains(key))
        };
        extras.extend(FOR_TESTS.iter().chain(&FOR_DEVELOPERS).filter(quoted).map(|name| (*name).to_owned()));
    }
    extras
}

/// Those whose names speak of tests; `requirements.txt` itself where there is no better source.
fn requirement_files(project: &ProjectFiles<'_>, or_plain: bool) -> Vec<String> {
    let words = ["test", "dev", "ci"];
    let is_for_tests = |path: &&str| {
        let is_near = path.matches('/').count() <= 1 && (path.ends_with(".txt") || path.ends_with(".in"));
        let named = path.to_lowercase();
        is_near && named.contains("require") && words.iter().any(|word| named.contains(word))
    };
    let mut all: Vec<String> = project.files().filter(is_for_tests).map(str::to_owned).collect();
    // A list that was compiled from another has all of it.
    let compiled: Vec<String> =
        all.iter().filter_map(|path| Some(format!("{}.in", path.strip_suffix(".txt")?))).collect();
    all.retain(|path| !compiled.contains(path));
    let tests: Vec<String> = all.iter().filter(|path| path.contains("test")).cloned().collect();
    let mut files = if tests.is_empty() { all } else { tests };
    if !or_plain {
        return Vec::new();
    }
    if project.has("requirements.txt") && !files.iter().any(|file| file == "requirements.txt") {
        files.insert(0, "requirements.txt".to_owned());
    }
    files
}

/// The developers' packages in Poetry's own tables, as pip writes requirements.
fn poetry_requirements(manifest: &Table) -> Vec<String> {
    let poetry = manifest.get("tool").and_then(|tool| tool.get("poetry"));
    let Some(poetry) = poetry.and_then(Value::as_table) else { return Vec::new() };
    let groups = poetry.get("group").and_then(Value::as_table).into_iter().flatten();
    let groups = groups
        .filter(|(name, _)| FOR_TESTS.contains(&name.as_str()) || FOR_DEVELOPERS.contains(&name.as_str()));
    let tables =
        groups.filter_map(|(_, group)| group.get("dependencies")).chain(poetry.get("dev-dependencies"));
    let entries = tables.filter_map(Value::as_table).flatten();
    entries.filter_map(|(name, wanted)| requirement(name, wanted)).collect()
}

fn requirement(name: &str, wanted: &Value) -> Option<String> {
    let version = match wanted {
        Value::String(version) => version.as_str(),
        Value::Table(table) => table.get("version").and_then(Value::as_str)?,
        Value::Integer(_) | Value::Float(_) | Value::Boolean(_) | Value::Datetime(_) | Value::Array(_) => {
            return None;
        }
    };
    let version = version.trim();
    Some(match version.strip_prefix('^') {
        Some(least) => {
            let parts: Vec<u64> = least.split('.').map_while(|part| part.parse().ok()).collect();
            match parts.iter().position(|part| *part > 0).and_then(|at| Some((at, parts.get(at)?))) {
                Some((at, part)) => format!("{name}>={least},<{}{}", "0.".repeat(at), part + 1),
                None => format!("{name}>={least}"),
            }
        }
        None if version == "*" => name.to_owned(),
        None if version.starts_with(['<', '>', '=', '~', '!']) && !version.starts_with("~") => {
            format!("{name}{version}")
        }
        None => format!("{name}>={}", version.trim_start_matches('~')),
    })
}

/// A tox.ini, or what stands in pyproject.toml instead of one.
fn tox_settings(project: &ProjectFiles<'_>, manifest: &Table) -> String {
    let inside = || {
        let tox = manifest.get("tool")?.get("tox")?.get("legacy_tox_ini")?;
        tox.as_str().map(str::to_owned)
    };
    match project.has("tox.ini") {
        true => project.text("tox.ini"),
        false => inside().unwrap_or_default(),
    }
}

/// The plain requirements in `deps` of tox's tests, with those of sections that they name.
fn tox_requirements(tox: &str) -> Vec<String> {
    let mut requirements = Vec::new();
    for line in tox_list(tox, "testenv", "deps") {
        match line.strip_prefix("{[").and_then(|named| named.strip_suffix('}')?.split_once(']')) {
            Some((section, key)) => requirements.extend(tox_list(tox, section, key)),
            None => requirements.push(line),
        }
    }
    let is_plain = |line: &&str| {
        // What comes from an address is not what a first try should wait for.
        let is_name = !line.starts_with(['#', '-', '.']) && !line.contains("://");
        is_name && !line.contains(['{', '\'', '"', '$'])
    };
    requirements.into_iter().filter_map(for_this_python).filter(is_plain).map(str::to_owned).collect()
}

/// A requirement; one for certain environments only if they are those of a Python, such as `py3{11,12}: six`.
fn for_this_python(line: &str) -> Option<&str> {
    match line.split_once(": ") {
        Some((environments, requirement)) => environments.starts_with("py3").then(|| requirement.trim()),
        None => Some(line),
    }
}

/// The lines of a key with a list.
fn tox_list<'t>(tox: &'t str, section: &str, key: &str) -> Vec<&'t str> {
    let head = format!("[{section}]");
    let inside = tox.lines().skip_while(|line| line.trim_end() != head).skip(1);
    let inside = inside.take_while(|line| !line.starts_with('['));
    let begins = |line: &str| line.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with('='));
    let mut lines = inside.skip_while(|line| !begins(line));
    let first = lines.next().and_then(|line| line.split_once('=')).map_or("", |(_, value)| value);
    let indented = lines.take_while(|line| line.starts_with([' ', '\t']) || line.trim().is_empty());
    std::iter::once(first).chain(indented).map(str::trim).filter(|line| !line.is_empty()).collect()
}

/// Where the tests are for unittest, and none is for pytest.
fn unittest(project: &ProjectFiles<'_>) -> Option<String> {
    let directory = ["tests", "test", ""].into_iter().find(|directory| {
        let tests = project.files().filter(|path| match path.strip_suffix(".py") {
            None => false,
            Some(stem) if directory.is_empty() => stem.starts_with("test") && !stem.contains('/'),
            Some(stem) => stem.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/')),
        });
        let texts: Vec<String> = tests.take(20).map(|path| project.text(path)).collect();
        !texts.iter().any(|text| text.contains("import pytest"))
            && texts.iter().any(|text| text.contains("unittest"))
    })?;
    // Only a package can be imported from the directory above it.
    Some(match (directory, project.has(&format!("{directory}/__init__.py"))) {
        ("", _) => "-m unittest discover".to_owned(),
        (_, true) => format!("-m unittest discover -s {directory} -t ."),
        (_, false) => format!("-m unittest discover -s {directory}"),
    })
}
