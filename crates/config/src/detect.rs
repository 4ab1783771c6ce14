//! What a project is built with, from the files at its root: a first proposal
//! for its checks and for what no agent may touch.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

/// What `init` proposes; the person edits it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proposal {
    /// What was recognised, in words.
    pub stacks: Vec<&'static str>,
    /// Name and command.
    pub checks: Vec<(String, String)>,
    pub protect: Vec<String>,
    pub product: Vec<String>,
    pub setup: Vec<String>,
}

/// Looks at the root of a project. Only file names matter, and the content of
/// `package.json` and `Makefile`.
pub fn detect(root: &Path) -> io::Result<Proposal> {
    let project = ProjectFiles::list(root)?;
    let mut found: Vec<Stack> = LANGUAGES.iter().filter_map(|language| language(&project)).collect();
    if found.is_empty() {
        found.extend(RUNNERS.iter().find_map(|runner| runner(&project)));
    }
    let mut proposal = Proposal::default();
    let several = found.len() > 1;
    for stack in found {
        let name = if several { format!("{}-test", stack.word) } else { "test".to_owned() };
        proposal.checks.push((name, stack.run));
        proposal.stacks.push(stack.name);
        proposal.setup.extend(stack.setup.map(str::to_owned));
        proposal.protect.extend(stack.protect.iter().map(|glob| (*glob).to_owned()));
        proposal.product.extend(stack.product.iter().map(|glob| (*glob).to_owned()));
    }
    if !proposal.product.is_empty() {
        proposal.product.push("**/*.md".to_owned());
    }
    proposal.protect.extend(project.test_directories());
    for globs in [&mut proposal.protect, &mut proposal.product] {
        let mut seen = BTreeSet::new();
        globs.retain(|glob| seen.insert(glob.clone()));
    }
    Ok(proposal)
}

struct Stack {
    name: &'static str,
    /// Begins the name of its check where there are several.
    word: &'static str,
    run: String,
    setup: Option<&'static str>,
    protect: &'static [&'static str],
    /// Its sources. Empty where they cannot be told from what builds and tests.
    product: &'static [&'static str],
}

impl Stack {
    fn new(name: &'static str, word: &'static str, run: &str) -> Self {
        Self { name, word, run: run.to_owned(), setup: None, protect: &[], product: &[] }
    }
}

type Recognise = fn(&ProjectFiles<'_>) -> Option<Stack>;

const LANGUAGES: &[Recognise] =
    &[rust, node, python, go, maven, gradle, cmake, ruby, elixir, dotnet, php, swift, zig];
const RUNNERS: &[Recognise] = &[test_script, makefile];

struct ProjectFiles<'a> {
    root: &'a Path,
    files: BTreeSet<String>,
    directories: BTreeSet<String>,
}

impl<'a> ProjectFiles<'a> {
    fn list(root: &'a Path) -> io::Result<Self> {
        let mut project = Self { root, files: BTreeSet::new(), directories: BTreeSet::new() };
        for entry in fs::read_dir(root)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            if entry.path().is_dir() {
                project.directories.insert(name);
            } else {
                project.files.insert(name);
            }
        }
        Ok(project)
    }

    fn has(&self, file: &str) -> bool {
        self.files.contains(file)
    }

    fn has_any(&self, files: &[&str]) -> bool {
        files.iter().any(|file| self.has(file))
    }

    fn has_suffix(&self, suffix: &str) -> bool {
        self.files.iter().any(|file| file.ends_with(suffix))
    }

    fn text(&self, file: &str) -> String {
        fs::read_to_string(self.root.join(file)).unwrap_or_default()
    }

    /// Whether a directory at the root has a file with such a name in it.
    fn holds(&self, directory: &str, wanted: fn(&str) -> bool) -> bool {
        let Ok(entries) = fs::read_dir(self.root.join(directory)) else {
            return false;
        };
        entries.filter_map(Result::ok).any(|entry| entry.file_name().to_str().is_some_and(wanted))
    }

    fn test_directories(&self) -> Vec<String> {
        let known = ["tests", "test", "spec"];
        known
            .iter()
            .filter(|name| self.directories.contains(**name))
            .map(|name| format!("{name}/**"))
            .collect()
    }
}

fn rust(project: &ProjectFiles<'_>) -> Option<Stack> {
    let run = if project.has("Cargo.lock") { "cargo test --locked" } else { "cargo test" };
    let stack = || Stack { product: &["**/src/**"], ..Stack::new("Rust", "rust", run) };
    project.has("Cargo.toml").then(stack)
}

fn node(project: &ProjectFiles<'_>) -> Option<Stack> {
    let manifest: serde_json::Value = serde_json::from_str(&project.text("package.json")).ok()?;
    let script = manifest.get("scripts")?.get("test")?.as_str()?;
    // What `npm init` writes: it can only fail.
    if script.contains("no test specified") {
        return None;
    }
    let (run, setup) = if project.has("pnpm-lock.yaml") {
        ("pnpm test", Some("pnpm install --frozen-lockfile"))
    } else if project.has("yarn.lock") {
        ("yarn test", Some("yarn install --frozen-lockfile"))
    } else if project.has_any(&["package-lock.json", "npm-shrinkwrap.json"]) {
        ("npm test", Some("npm ci"))
    } else {
        ("npm test", None)
    };
    let product = &["**/*.{js,mjs,cjs,ts,jsx,tsx}", "src/**", "lib/**"];
    let protect = &["**/*.test.*", "**/*.spec.*", "**/__tests__/**"];
    Some(Stack { setup, protect, product, ..Stack::new("Node.js", "node", run) })
}

fn python(project: &ProjectFiles<'_>) -> Option<Stack> {
    let is_test =
        |name: &str| name.ends_with(".py") && (name.starts_with("test_") || name.ends_with("_test.py"));
    let found = project.has_any(&["pyproject.toml", "setup.py", "setup.cfg", "pytest.ini", "tox.ini"])
        || project.files.iter().any(|name| is_test(name))
        || ["tests", "test"].iter().any(|directory| project.holds(directory, is_test));
    let protect: &[&str] = &["**/test_*.py", "**/*_test.py", "**/conftest.py"];
    let product: &[&str] = &["**/*.py", "src/**"];
    found.then(|| Stack { protect, product, ..Stack::new("Python", "python", "python3 -m pytest -q") })
}

fn go(project: &ProjectFiles<'_>) -> Option<Stack> {
    let (protect, product) = (&["**/*_test.go"], &["**/*.go"]);
    let stack = || Stack { protect, product, ..Stack::new("Go", "go", "go test ./...") };
    project.has("go.mod").then(stack)
}

fn maven(project: &ProjectFiles<'_>) -> Option<Stack> {
    let run = if project.has("mvnw") { "./mvnw -q test" } else { "mvn -q test" };
    let (protect, product) = (&["src/test/**"], &["src/main/**"]);
    project.has("pom.xml").then(|| Stack { protect, product, ..Stack::new("Maven", "maven", run) })
}

fn gradle(project: &ProjectFiles<'_>) -> Option<Stack> {
    let run = if project.has("gradlew") { "./gradlew test" } else { "gradle test" };
    let found = project.has_any(&["build.gradle", "build.gradle.kts"]);
    let (protect, product) = (&["src/test/**"], &["src/main/**"]);
    found.then(|| Stack { protect, product, ..Stack::new("Gradle", "gradle", run) })
}

const C_SOURCES: &[&str] = &["**/*.{c,h,cc,cpp}", "src/**"];

fn cmake(project: &ProjectFiles<'_>) -> Option<Stack> {
    let run = "cmake -S . -B build && cmake --build build && ctest --test-dir build --output-on-failure";
    let stack = || Stack { product: C_SOURCES, ..Stack::new("CMake", "cmake", run) };
    project.has("CMakeLists.txt").then(stack)
}

fn ruby(project: &ProjectFiles<'_>) -> Option<Stack> {
    let specs = project.has(".rspec") || project.directories.contains("spec");
    let run = if specs { "bundle exec rspec" } else { "bundle exec rake test" };
    project.has("Gemfile").then(|| Stack::new("Ruby", "ruby", run))
}

fn elixir(project: &ProjectFiles<'_>) -> Option<Stack> {
    project.has("mix.exs").then(|| Stack::new("Elixir", "elixir", "mix test"))
}

fn dotnet(project: &ProjectFiles<'_>) -> Option<Stack> {
    let found = [".sln", ".slnx", ".csproj", ".fsproj"].iter().any(|suffix| project.has_suffix(suffix));
    found.then(|| Stack::new(".NET", "dotnet", "dotnet test"))
}

fn php(project: &ProjectFiles<'_>) -> Option<Stack> {
    let found = project.has("composer.json") && project.has_any(&["phpunit.xml", "phpunit.xml.dist"]);
    let stack =
        || Stack { setup: Some("composer install"), ..Stack::new("PHP", "php", "vendor/bin/phpunit") };
    found.then(stack)
}

fn swift(project: &ProjectFiles<'_>) -> Option<Stack> {
    let stack = || Stack { protect: &["Tests/**"], ..Stack::new("Swift", "swift", "swift test") };
    project.has("Package.swift").then(stack)
}

fn zig(project: &ProjectFiles<'_>) -> Option<Stack> {
    project.has("build.zig").then(|| Stack::new("Zig", "zig", "zig build test"))
}

fn test_script(project: &ProjectFiles<'_>) -> Option<Stack> {
    if project.has("test.sh") {
        let stack = Stack::new("a test script", "script", "sh ./test.sh");
        return Some(Stack { protect: &["test.sh"], ..stack });
    }
    let inside = project.holds("tests", |name| name == "run.sh");
    inside.then(|| Stack::new("a test script", "script", "sh ./tests/run.sh"))
}

fn makefile(project: &ProjectFiles<'_>) -> Option<Stack> {
    let names = ["GNUmakefile", "makefile", "Makefile"];
    let file = names.into_iter().find(|name| project.has(name))?;
    let is_target = |line: &str| {
        let rest = line.strip_prefix("test").map(str::trim_start);
        rest.is_some_and(|rest| rest.starts_with(':') && !rest.starts_with(":=") && !rest.starts_with("::="))
    };
    let has_c = |name: &str| name.ends_with(".c") || name.ends_with(".cc") || name.ends_with(".cpp");
    let is_c = project.files.iter().any(|name| has_c(name)) || project.holds("src", has_c);
    let product: &[&str] = if is_c { C_SOURCES } else { &[] };
    let stack = || Stack { protect: &["Makefile"], product, ..Stack::new("make", "make", "make test") };
    project.text(file).lines().any(is_target).then(stack)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layer::{Layer, LayerKind};
    use crate::project_file;
    use crate::tests::format;

    /// A project with these files; `name=content`, or empty. What is written
    /// for it must read back as the same policy.
    fn proposed(files: &[&str]) -> String {
        let dir = tempfile::tempdir().unwrap();
        for file in files {
            let (name, content) = file.split_once('=').unwrap_or((file, ""));
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        let proposal = detect(dir.path()).unwrap();
        let layer = Layer::new(LayerKind::Project, "windlass.toml", project_file(&proposal, None));
        let policy = format().resolve(vec![layer]).unwrap_or_else(|error| panic!("{error}")).policy;
        assert_eq!((&policy.gate.protect, &policy.workspace.setup), (&proposal.protect, &proposal.setup));
        assert_eq!(policy.gate.product, proposal.product);
        let checks: Vec<_> = policy.gate.checks.into_iter().map(|check| (check.name, check.run)).collect();
        assert_eq!(checks, proposal.checks);
        let checks: Vec<String> = checks.iter().map(|(name, run)| format!("{name}: {run}")).collect();
        let mut shown = format!("{} | protect {}", checks.join("; "), proposal.protect.join(" "));
        if !proposal.product.is_empty() {
            shown += &format!(" | product {}", proposal.product.join(" "));
        }
        if !proposal.setup.is_empty() {
            shown += &format!(" | setup {}", proposal.setup.join("; "));
        }
        shown
    }

    #[test]
    fn each_stack_gets_its_check() {
        for (files, shown) in [
            (&["Cargo.toml"][..], "test: cargo test | protect  | product **/src/** **/*.md"),
            (
                &["Cargo.toml", "Cargo.lock", "tests/a.rs"],
                "test: cargo test --locked | protect tests/** | product **/src/** **/*.md",
            ),
            (
                &["package.json={\"scripts\":{\"test\":\"vitest\"}}", "package-lock.json"],
                "test: npm test | protect **/*.test.* **/*.spec.* **/__tests__/** | product **/*.{js,mjs,cjs,ts,jsx,tsx} src/** lib/** **/*.md | setup npm ci",
            ),
            (
                &["package.json={\"scripts\":{\"test\":\"jest\"}}", "pnpm-lock.yaml"],
                "test: pnpm test | protect **/*.test.* **/*.spec.* **/__tests__/** | product **/*.{js,mjs,cjs,ts,jsx,tsx} src/** lib/** **/*.md | setup pnpm install --frozen-lockfile",
            ),
            (
                &["pyproject.toml"],
                "test: python3 -m pytest -q | protect **/test_*.py **/*_test.py **/conftest.py | product **/*.py src/** **/*.md",
            ),
            (
                &["tests/test_a.py"],
                "test: python3 -m pytest -q | protect **/test_*.py **/*_test.py **/conftest.py tests/** | product **/*.py src/** **/*.md",
            ),
            (&["go.mod"], "test: go test ./... | protect **/*_test.go | product **/*.go **/*.md"),
            (&["pom.xml"], "test: mvn -q test | protect src/test/** | product src/main/** **/*.md"),
            (
                &["build.gradle.kts", "gradlew"],
                "test: ./gradlew test | protect src/test/** | product src/main/** **/*.md",
            ),
            (&["Gemfile", "spec/a.rb"], "test: bundle exec rspec | protect spec/**"),
            (&["test.sh", "Makefile=test:\n"], "test: sh ./test.sh | protect test.sh"),
            (&["tests/run.sh"], "test: sh ./tests/run.sh | protect tests/**"),
            (&["Makefile=all:\ntest : all\n"], "test: make test | protect Makefile"),
            (
                &["Makefile=test:\n", "a.c"],
                "test: make test | protect Makefile | product **/*.{c,h,cc,cpp} src/** **/*.md",
            ),
            (&["app.csproj"], "test: dotnet test | protect "),
        ] {
            assert_eq!(proposed(files), shown, "{files:?}");
        }
    }

    #[test]
    fn several_stacks_get_a_check_each() {
        assert_eq!(
            proposed(&["Cargo.toml", "go.mod", "test.sh"]),
            "rust-test: cargo test; go-test: go test ./... | protect **/*_test.go | product **/src/** **/*.go **/*.md"
        );
    }

    #[test]
    fn what_is_not_a_test_is_not_proposed() {
        let placeholder =
            r#"package.json={"scripts":{"test":"echo \"Error: no test specified\" && exit 1"}}"#;
        for files in [
            &[][..],
            &[placeholder],
            &["package.json=not json"],
            &["Makefile=test := 3\ntests:\n"],
            &["README.md"],
        ] {
            assert_eq!(proposed(files), " | protect ", "{files:?}");
        }
    }
}
