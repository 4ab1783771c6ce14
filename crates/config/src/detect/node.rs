//! Node.js: the package manager that the lock file names, and the scripts and runners of package.json.

use serde_json::Value;

use super::project_files::ProjectFiles;
use super::{Stack, TestWay};

/// What `node --test`, jest, vitest and mocha look for.
pub const NODE_TESTS: [&str; 5] = [
    "**/*{.,-,_}{test,spec}.*",
    "**/test.{js,mjs,cjs,ts,mts,cts,jsx,tsx}",
    "**/test{-,_}*.{js,mjs,cjs,ts,mts,cts,jsx,tsx}",
    "**/{test,tests}/**",
    "**/__tests__/**",
];

/// Scripts that often run the tests alone, where `test` does more.
const SCRIPTS: [&str; 10] = [
    "tests-only",
    "test:unit",
    "test-unit",
    "unit",
    "test:src",
    "test:node",
    "test:ci",
    "test-ci",
    "tests",
    "test:vitest",
];

/// A runner's package, and how it is called once.
const RUNNERS: [(&str, &str); 9] = [
    ("vitest", "vitest run"),
    ("jest", "jest"),
    ("ava", "ava"),
    ("mocha", "mocha"),
    ("tap", "tap"),
    ("uvu", "uvu"),
    ("lab", "lab"),
    ("@hapi/lab", "lab"),
    // Without a name of files it runs nothing, and is green.
    ("tape", "tape \"{test,tests}{.js,/**/*.js}\""),
];

pub fn node(project: &ProjectFiles<'_>) -> Option<Stack> {
    let manifest: Value = serde_json::from_str(&project.text("package.json")).ok()?;
    let runs = runs(project, &manifest);
    if runs.is_empty() {
        return None;
    }
    let tool = PackageTool::of(project, &manifest);
    let repository = asks_for_a_repository(&manifest);
    let mut ways = Vec::new();
    for by in tool.callers() {
        let mut before = Vec::new();
        for install in tool.installs(project, &manifest) {
            let install = install.map(|install| by.call(&install));
            let setup: Vec<String> = match install {
                Some(install) if repository => vec![MAKE_REPOSITORY.to_owned(), beside_repository(&install)],
                Some(install) => vec![install],
                None => Vec::new(),
            };
            for (nth, run) in runs.iter().enumerate() {
                let plain = by.call(&run.words(tool.name));
                // A test that packs the project runs the same script again.
                let packs = (repository && nth == 0).then(|| beside_repository(&plain));
                for run in [Some(plain), packs].into_iter().flatten() {
                    let way = TestWay::new(run).needs(by.needs());
                    ways.push(TestWay { setup: setup.clone(), instead_of: before.clone(), ..way });
                }
            }
            before = setup;
        }
    }
    let product = &["**/*.{js,mjs,cjs,ts,jsx,tsx}", "src/**", "lib/**"];
    Some(Stack::new("Node.js", "node", ways).protect(&NODE_TESTS).product(product))
}

/// No checkout of a gate has a repository, and what installs hooks fails without one.
const MAKE_REPOSITORY: &str =
    "mkdir -p .repository && echo '*' >.repository/.gitignore && git init -q .repository/hooks";

fn beside_repository(command: &str) -> String {
    format!("export GIT_DIR=\"$PWD/.repository/hooks/.git\" && {command}")
}

/// Whether a script that every install runs calls git, or a program that puts hooks into a repository.
fn asks_for_a_repository(manifest: &Value) -> bool {
    let script = |name: &&str| manifest.get("scripts")?.get(*name)?.as_str();
    let calls = |text: &str| {
        let mut words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
        words.any(|word| ["git", "lefthook", "simple-git-hooks"].contains(&word))
    };
    ["preinstall", "install", "postinstall", "prepublish", "prepare"].iter().filter_map(script).any(calls)
}

/// One way to run the tests, whichever the package manager.
enum Run {
    Script(String),
    BuildThenTest,
    Runner(&'static str),
    BuildThenRunner(&'static str),
}

impl Run {
    fn words(&self, tool: &str) -> String {
        match self {
            Self::Script(script) if script == "test" && tool != "bun" => format!("{tool} test"),
            Self::Script(script) => format!("{tool} run {script}"),
            Self::BuildThenTest => format!("{tool} run build && {tool} run test"),
            Self::Runner(call) if tool == "npm" => format!("npx --no-install {call}"),
            Self::Runner(call) => format!("{tool} exec {call}"),
            Self::BuildThenRunner(call) => {
                format!("{tool} run build && {}", Self::Runner(call).words(tool))
            }
        }
    }
}

fn runs(project: &ProjectFiles<'_>, manifest: &Value) -> Vec<Run> {
    let script = |name: &str| {
        let text = manifest.get("scripts")?.get(name)?.as_str()?;
        // What `npm init` writes can only fail.
        (!text.contains("no test specified")).then_some(text)
    };
    let depends = |name: &str| {
        ["devDependencies", "dependencies"]
            .iter()
            .any(|key| manifest.get(*key).is_some_and(|all| all.get(name).is_some()))
    };
    let mut runs = Vec::new();
    // By itself it runs without what stands before and after `test`.
    let called = script("test").and_then(called_script).filter(|name| script(name).is_some());
    if script("test").is_some() {
        runs.push(Run::Script("test".to_owned()));
        runs.extend(called.map(|name| Run::Script(name.to_owned())));
        runs.extend(script("build").map(|_| Run::BuildThenTest));
    }
    let others = SCRIPTS.iter().filter(|name| script(name).is_some() && called != Some(**name));
    runs.extend(others.map(|name| Run::Script((*name).to_owned())));
    let runners = || RUNNERS.iter().filter(|(name, _)| depends(name)).map(|(_, call)| *call);
    runs.extend(runners().map(Run::Runner));
    if script("build").is_some() {
        runs.extend(runners().map(Run::BuildThenRunner));
    }
    if runs.is_empty() && project.files().any(is_test_of_node) {
        runs.push(Run::Runner("node --test"));
    }
    runs
}

/// The script that is all that this one calls.
fn called_script(text: &str) -> Option<&str> {
    let words = text.split_whitespace().filter(|word| !word.starts_with('-'));
    match words.collect::<Vec<_>>()[..] {
        ["npm" | "pnpm" | "yarn" | "bun", "run" | "run-script", name] => Some(name),
        ["pnpm" | "yarn", name] => Some(name),
        _ => None,
    }
}

/// What `node --test` finds by itself.
fn is_test_of_node(path: &str) -> bool {
    let name = super::base_name(path);
    let Some((stem, extension)) = name.rsplit_once('.') else { return false };
    let named = stem == "test"
        || stem.starts_with("test-")
        || [".test", "-test", "_test"].iter().any(|end| stem.ends_with(end));
    let inside = path.starts_with("test/") || path.contains("/test/");
    matches!(extension, "js" | "mjs" | "cjs") && (named || inside)
}

struct PackageTool {
    name: &'static str,
    /// The version that the project asks for, as npm names it; empty for any.
    version: String,
}

impl PackageTool {
    fn of(project: &ProjectFiles<'_>, manifest: &Value) -> Self {
        let asked = manifest.get("packageManager").and_then(Value::as_str).unwrap_or_default();
        let (asked, version) = asked.split_once('@').unwrap_or((asked, ""));
        let version = version.split('+').next().unwrap_or_default().to_owned();
        if let Some(name) = ["pnpm", "yarn", "bun", "npm"].into_iter().find(|name| *name == asked) {
            return Self { name, version };
        }
        let named = |name, version: &str| Self { name, version: version.to_owned() };
        if project.has("pnpm-lock.yaml") {
            let workspace = project.text("pnpm-workspace.yaml");
            return named("pnpm", pnpm_version(&project.text("pnpm-lock.yaml"), &workspace));
        }
        if project.has("yarn.lock") {
            let berry = project.text("yarn.lock").contains("__metadata:");
            return named("yarn", if berry { "berry" } else { "1" });
        }
        match project.has_any(&["bun.lock", "bun.lockb"]) {
            true => named("bun", ""),
            false => named("npm", ""),
        }
    }

    /// The program itself, else npm's own fetching of it.
    fn callers(&self) -> Vec<Caller> {
        let itself = Caller::Itself(self.name);
        if self.name == "npm" {
            return vec![itself];
        }
        // Yarn from 2 on is another package by another name.
        let package = match (self.name, self.version.as_str()) {
            ("yarn", version) if version == "berry" || !version.starts_with(['0', '1']) => {
                "@yarnpkg/cli-dist"
            }
            (name, _) => name,
        };
        let version =
            if self.version.is_empty() || self.version == "berry" { "latest" } else { &self.version };
        vec![itself, Caller::Fetched(format!("{package}@{version}"))]
    }

    /// The exact install first.
    fn installs(&self, project: &ProjectFiles<'_>, manifest: &Value) -> Vec<Option<String>> {
        let has_dependencies =
            ["dependencies", "devDependencies", "optionalDependencies", "workspaces"].iter().any(|key| {
                manifest.get(*key).is_some_and(|all| all.as_object().is_none_or(|all| !all.is_empty()))
            });
        // Beside a lock file the first dependency may come with the first task.
        let locks = ["pnpm-lock.yaml", "yarn.lock", "bun.lock", "bun.lockb"];
        let npm_locks = ["package-lock.json", "npm-shrinkwrap.json"];
        if !has_dependencies && !project.has_any(&locks) && !project.has_any(&npm_locks) {
            return vec![None];
        }
        let npm_lock = project.has_any(&npm_locks);
        let all: &[&str] = match self.name {
            "pnpm" => {
                &["pnpm install --frozen-lockfile", "pnpm install --no-frozen-lockfile --ignore-scripts"]
            }
            "yarn" if self.version.starts_with(['0', '1']) => {
                // A package that only releases or lints may ask for a later Node.js than the tests do.
                &[
                    "yarn install --frozen-lockfile",
                    "yarn install --frozen-lockfile --ignore-engines",
                    "yarn install --frozen-lockfile --ignore-engines --ignore-scripts",
                ]
            }
            "yarn" => &["yarn install --immutable", "yarn install --mode=skip-build"],
            "bun" => &["bun install --frozen-lockfile", "bun install --ignore-scripts"],
            // Old packages seldom agree on peers by the rules of today.
            _ if npm_lock => &[
                "npm ci",
                "npm ci --ignore-scripts",
                "npm ci --legacy-peer-deps",
                "npm install --no-save --ignore-scripts",
            ],
            _ => &[
                "npm install --no-package-lock",
                "npm install --no-package-lock --ignore-scripts",
                "npm install --no-package-lock --legacy-peer-deps",
            ],
        };
        let installs = all.iter().map(|install| Some((*install).to_owned()));
        installs.chain((!has_dependencies).then_some(None)).collect()
    }
}

/// The lock file says which versions can read it. A workspace file that has only settings is of version 10.
fn pnpm_version(lock: &str, workspace: &str) -> &'static str {
    let has_packages = workspace.lines().any(|line| line.starts_with("packages:"));
    let version = lock.lines().find_map(|line| line.strip_prefix("lockfileVersion:")).unwrap_or_default();
    match version.trim().trim_matches(['\'', '"']) {
        version if version.starts_with('5') => "7",
        version if version.starts_with('6') => "8",
        _ if !workspace.trim().is_empty() && !has_packages => "10",
        _ => "9",
    }
}

enum Caller {
    Itself(&'static str),
    /// A package that npm runs without installing it for all.
    Fetched(String),
}

impl Caller {
    fn call(&self, words: &str) -> String {
        match self {
            Self::Itself(_) => words.to_owned(),
            Self::Fetched(package) => format!("npx -y -p {package} -c '{words}'"),
        }
    }

    fn needs(&self) -> &'static str {
        match self {
            Self::Itself(name) => name,
            Self::Fetched(_) => "npx",
        }
    }
}
