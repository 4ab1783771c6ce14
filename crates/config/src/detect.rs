//! What a project is built with, from the names of its files: a first proposal
//! for its checks and for what no agent may touch.

mod makefile;
mod project_files;
mod test_names;

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use project_files::ProjectFiles;

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

/// Looks at a project. Only names of files matter, and the content of
/// `package.json` and of the makefile.
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
        proposal.protect.extend(stack.protect);
        proposal.product.extend(stack.product.iter().map(|glob| (*glob).to_owned()));
    }
    if !proposal.product.is_empty() {
        proposal.product.push("**/*.md".to_owned());
    }
    for globs in [&mut proposal.protect, &mut proposal.product] {
        let mut seen = BTreeSet::new();
        globs.retain(|glob| seen.insert(glob.clone()));
    }
    protect_what_is_there(&project, &mut proposal.protect);
    Ok(proposal)
}

/// Tests that the project has and no glob covers.
fn protect_what_is_there(project: &ProjectFiles<'_>, protect: &mut Vec<String>) {
    let mut covered = glob_set(protect);
    let directories = project.directories().map(|path| (path, test_names::directory_glob(path)));
    let files = project.files().map(|path| (path, test_names::file_glob(path)));
    // Those that are outside of others come first.
    for (path, glob) in directories.chain(files) {
        let Some(glob) = glob.filter(|_| !covered.is_match(path)) else { continue };
        protect.push(glob);
        covered = glob_set(protect);
    }
}

/// As the gate reads them: a glob covers what it names and all below.
fn glob_set(globs: &[String]) -> GlobSet {
    let mut builder = GlobSetBuilder::new();
    for glob in globs {
        let name = glob.trim_end_matches("/**");
        for pattern in [name.to_owned(), format!("{name}/**")] {
            let glob = GlobBuilder::new(&pattern).literal_separator(true).build();
            builder.add(glob.expect("the globs of a proposal are tested"));
        }
    }
    builder.build().expect("the globs of a proposal are tested")
}

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

struct Stack {
    name: &'static str,
    /// Begins the name of its check where there are several.
    word: &'static str,
    run: String,
    setup: Option<&'static str>,
    protect: Vec<String>,
    /// Its sources. Empty where they cannot be told from what builds and tests.
    product: &'static [&'static str],
}

impl Stack {
    fn new(name: &'static str, word: &'static str, run: &str) -> Self {
        Self { name, word, run: run.to_owned(), setup: None, protect: Vec::new(), product: &[] }
    }

    fn protect(mut self, globs: &[&str]) -> Self {
        self.protect.extend(globs.iter().map(|glob| (*glob).to_owned()));
        self
    }

    fn product(self, product: &'static [&'static str]) -> Self {
        Self { product, ..self }
    }
}

type Recognise = fn(&ProjectFiles<'_>) -> Option<Stack>;

const LANGUAGES: &[Recognise] =
    &[rust, node, python, go, maven, gradle, cmake, ruby, elixir, dotnet, php, swift, zig];
/// A makefile builds what a script beside it may only run.
const RUNNERS: &[Recognise] = &[make, test_script];

fn rust(project: &ProjectFiles<'_>) -> Option<Stack> {
    let run = if project.has("Cargo.lock") { "cargo test --locked" } else { "cargo test" };
    let protect = ["**/tests/**", "**/{test,tests}.rs", "**/*_{test,tests}.rs"];
    let stack = || Stack::new("Rust", "rust", run).protect(&protect).product(&["**/src/**"]);
    project.has("Cargo.toml").then(stack)
}

/// What `node --test`, jest, vitest and mocha look for.
const NODE_TESTS: [&str; 5] = [
    "**/*{.,-,_}{test,spec}.*",
    "**/test.{js,mjs,cjs,ts,mts,cts,jsx,tsx}",
    "**/test{-,_}*.{js,mjs,cjs,ts,mts,cts,jsx,tsx}",
    "**/{test,tests}/**",
    "**/__tests__/**",
];

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
    let stack = Stack::new("Node.js", "node", run).protect(&NODE_TESTS).product(product);
    Some(Stack { setup, ..stack })
}

fn python(project: &ProjectFiles<'_>) -> Option<Stack> {
    let is_test =
        |name: &str| name.ends_with(".py") && (name.starts_with("test_") || name.ends_with("_test.py"));
    let found = project.has_any(&["pyproject.toml", "setup.py", "setup.cfg", "pytest.ini", "tox.ini"])
        || ["", "tests", "test"].iter().any(|directory| project.names_in(directory).any(is_test));
    let protect =
        ["**/test_*.py", "**/*_test.py", "**/{test,tests}.py", "**/conftest.py", "**/{test,tests}/**"];
    let stack = || Stack::new("Python", "python", "python3 -m pytest -q").protect(&protect);
    found.then(|| stack().product(&["**/*.py", "src/**"]))
}

fn go(project: &ProjectFiles<'_>) -> Option<Stack> {
    let stack = || Stack::new("Go", "go", "go test ./...").protect(&["**/*_test.go"]).product(&["**/*.go"]);
    project.has("go.mod").then(stack)
}

/// With the modules of a project of several.
const JVM_TESTS: [&str; 1] = ["**/src/*{test,Test}*/**"];
const JVM_SOURCES: &[&str] = &["**/src/main/**"];

fn maven(project: &ProjectFiles<'_>) -> Option<Stack> {
    let run = if project.has("mvnw") { "./mvnw -q test" } else { "mvn -q test" };
    let stack = || Stack::new("Maven", "maven", run).protect(&JVM_TESTS).product(JVM_SOURCES);
    project.has("pom.xml").then(stack)
}

fn gradle(project: &ProjectFiles<'_>) -> Option<Stack> {
    let run = if project.has("gradlew") { "./gradlew test" } else { "gradle test" };
    let found = project.has_any(&["build.gradle", "build.gradle.kts"]);
    found.then(|| Stack::new("Gradle", "gradle", run).protect(&JVM_TESTS).product(JVM_SOURCES))
}

const C_SOURCES: &[&str] = &["**/*.{c,h,cc,cpp}", "src/**"];
/// What GoogleTest, Check, Qt and plain programs are named by.
const C_TESTS: [&str; 4] = [
    "**/{test,tests,unittest}.{c,cc,cpp,cxx}",
    "**/{test,tests,tst}{_,-}*.{c,h,cc,cpp,cxx,hh,hpp}",
    "**/{*_,*-,*.}{test,tests,unittest}.{c,h,cc,cpp,cxx,hh,hpp}",
    "**/{test,tests,unittest,unittests}/**",
];

fn cmake(project: &ProjectFiles<'_>) -> Option<Stack> {
    let run = "cmake -S . -B build && cmake --build build && ctest --test-dir build --output-on-failure";
    let stack = || Stack::new("CMake", "cmake", run).protect(&C_TESTS).product(C_SOURCES);
    project.has("CMakeLists.txt").then(stack)
}

fn ruby(project: &ProjectFiles<'_>) -> Option<Stack> {
    let specs = project.has(".rspec") || project.has_directory("spec");
    let run = if specs { "bundle exec rspec" } else { "bundle exec rake test" };
    let protect = ["**/*_{spec,test}.rb", "**/test_*.rb", "**/{spec,test}/**"];
    project.has("Gemfile").then(|| Stack::new("Ruby", "ruby", run).protect(&protect))
}

fn elixir(project: &ProjectFiles<'_>) -> Option<Stack> {
    let stack = || Stack::new("Elixir", "elixir", "mix test").protect(&["**/*_test.exs", "**/test/**"]);
    project.has("mix.exs").then(stack)
}

fn dotnet(project: &ProjectFiles<'_>) -> Option<Stack> {
    let suffixes = [".sln", ".slnx", ".csproj", ".fsproj"];
    let found = project.names_in("").any(|name| suffixes.iter().any(|suffix| name.ends_with(suffix)));
    let protect = ["**/*{Test,Tests}.{cs,fs,vb}", "**/*.{Test,Tests,UnitTests,IntegrationTests}/**"];
    found.then(|| Stack::new(".NET", "dotnet", "dotnet test").protect(&protect))
}

fn php(project: &ProjectFiles<'_>) -> Option<Stack> {
    let found = project.has("composer.json") && project.has_any(&["phpunit.xml", "phpunit.xml.dist"]);
    let stack = || Stack::new("PHP", "php", "vendor/bin/phpunit").protect(&["**/*Test.php", "tests/**"]);
    found.then(|| Stack { setup: Some("composer install"), ..stack() })
}

fn swift(project: &ProjectFiles<'_>) -> Option<Stack> {
    let stack = || Stack::new("Swift", "swift", "swift test").protect(&["Tests/**", "**/*Tests.swift"]);
    project.has("Package.swift").then(stack)
}

fn zig(project: &ProjectFiles<'_>) -> Option<Stack> {
    project.has("build.zig").then(|| Stack::new("Zig", "zig", "zig build test"))
}

const SCRIPT_TESTS: [&str; 2] = ["**/*.{t,bats}", "**/{test,tests}/**"];

fn test_script(project: &ProjectFiles<'_>) -> Option<Stack> {
    let script = ["test.sh", "tests/run.sh"].into_iter().find(|script| project.has(script))?;
    let stack = Stack::new("a test script", "script", &format!("sh ./{script}"));
    Some(stack.protect(&[script]).protect(&SCRIPT_TESTS))
}

fn make(project: &ProjectFiles<'_>) -> Option<Stack> {
    let names = ["GNUmakefile", "makefile", "Makefile"];
    let file = names.into_iter().find(|name| project.has(name))?;
    let target = makefile::test_target(&project.text(file))?;
    let stack = Stack::new("make", "make", &format!("make {target}")).protect(&[file]);
    let is_c = |name: &str| [".c", ".cc", ".cpp"].iter().any(|suffix| name.ends_with(suffix));
    let has_c = ["", "src"].iter().any(|directory| project.names_in(directory).any(is_c));
    Some(match has_c {
        true => stack.protect(&C_TESTS).product(C_SOURCES),
        false => stack.protect(&SCRIPT_TESTS),
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::layer::{Layer, LayerKind};
    use crate::project_file;
    use crate::tests::format;

    /// A project with these files; `name=content`, or empty.
    fn project(files: &[&str]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for file in files {
            let (name, content) = file.split_once('=').unwrap_or((file, ""));
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        dir
    }

    /// What is written for a project must read back as the same policy.
    fn proposed(files: &[&str]) -> String {
        let dir = project(files);
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
        let node = NODE_TESTS.join(" ");
        let python = "**/test_*.py **/*_test.py **/{test,tests}.py **/conftest.py **/{test,tests}/**";
        let rust = "**/tests/** **/{test,tests}.rs **/*_{test,tests}.rs";
        let scripts = SCRIPT_TESTS.join(" ");
        for (files, shown) in [
            (&["Cargo.toml"][..], format!("test: cargo test | protect {rust} | product **/src/** **/*.md")),
            (
                &["Cargo.toml", "Cargo.lock", "tests/a.rs"],
                format!("test: cargo test --locked | protect {rust} | product **/src/** **/*.md"),
            ),
            (
                &["package.json={\"scripts\":{\"test\":\"vitest\"}}", "package-lock.json"],
                format!(
                    "test: npm test | protect {node} | product **/*.{{js,mjs,cjs,ts,jsx,tsx}} src/** lib/** **/*.md | setup npm ci"
                ),
            ),
            (
                &["package.json={\"scripts\":{\"test\":\"jest\"}}", "pnpm-lock.yaml"],
                format!(
                    "test: pnpm test | protect {node} | product **/*.{{js,mjs,cjs,ts,jsx,tsx}} src/** lib/** **/*.md | setup pnpm install --frozen-lockfile"
                ),
            ),
            (
                &["tests/test_a.py"],
                format!("test: python3 -m pytest -q | protect {python} | product **/*.py src/** **/*.md"),
            ),
            (&["go.mod"], "test: go test ./... | protect **/*_test.go | product **/*.go **/*.md".to_owned()),
            (
                &["build.gradle.kts", "gradlew"],
                "test: ./gradlew test | protect **/src/*{test,Test}*/** | product **/src/main/** **/*.md"
                    .to_owned(),
            ),
            (
                &["Gemfile", "spec/a.rb"],
                "test: bundle exec rspec | protect **/*_{spec,test}.rb **/test_*.rb **/{spec,test}/**"
                    .to_owned(),
            ),
            (&["tests/run.sh"], format!("test: sh ./tests/run.sh | protect tests/run.sh {scripts}")),
            (
                &["GNUmakefile=all:\ncheck : all\n"],
                format!("test: make check | protect GNUmakefile {scripts}"),
            ),
            (
                &["Makefile=test:\n", "a.c"],
                format!(
                    "test: make test | protect Makefile {} | product **/*.{{c,h,cc,cpp}} src/** **/*.md",
                    C_TESTS.join(" ")
                ),
            ),
        ] {
            assert_eq!(proposed(files), shown, "{files:?}");
        }
    }

    #[test]
    fn a_makefile_with_a_target_for_tests_comes_before_a_script() {
        for script in ["test.sh", "tests/run.sh"] {
            assert!(proposed(&[script, "Makefile=check:\n"]).starts_with("test: make check |"));
            assert!(proposed(&[script, "Makefile=all:\n"]).starts_with(&format!("test: sh ./{script} |")));
        }
    }

    /// Of the second paths those that the proposal for the first protects.
    fn protected<'a>(files: &[&str], paths: &[&'a str]) -> Vec<&'a str> {
        let dir = project(files);
        let covered = glob_set(&detect(dir.path()).unwrap().protect);
        paths.iter().copied().filter(|path| covered.is_match(path)).collect()
    }

    const C_PROJECT: [&str; 2] = ["Makefile=test:\n", "src/calc.c"];
    const NODE_PROJECT: [&str; 1] = ["package.json={\"scripts\":{\"test\":\"node --test\"}}"];

    #[test]
    fn tests_are_protected_under_every_usual_name() {
        let tests = [
            "src/test_x.c",
            "src/x_test.c",
            "test_x.c",
            "unittest/x.c",
            "tests/x.c",
            "x-test.c",
            "test-x.c",
            "a_unittest.cc",
            "src/test/x.c",
            "test.c",
        ];
        assert_eq!(protected(&C_PROJECT, &tests), tests);
        let product = ["src/calc.c", "src/latest.c", "contest/a.c", "src/testify.c", "src/attest.h"];
        assert_eq!(protected(&C_PROJECT, &product), [""; 0]);
        let tests = [
            "test.js",
            "x-test.js",
            "x_test.js",
            "test-x.js",
            "src/test/x.js",
            "x.test.mjs",
            "x.spec.ts",
            "src/a/__tests__/x.js",
            "tests/x.js",
            "x.test.js.snap",
        ];
        assert_eq!(protected(&NODE_PROJECT, &tests), tests);
        assert_eq!(protected(&NODE_PROJECT, &["src/latest.js", "testing.js", "src/spec.js"]), [""; 0]);
        let tests =
            ["test.py", "x_test.py", "test_x.py", "app/tests.py", "pkg/tests/x.py", "a/test/data.json"];
        assert_eq!(protected(&["pyproject.toml"], &tests), tests);
        assert_eq!(protected(&["pyproject.toml"], &["pkg/testing.py", "contest.py"]), [""; 0]);
        let tests = ["a/src/test/X.java", "src/integrationTest/X.kt"];
        assert_eq!(protected(&["build.gradle"], &tests), tests);
    }

    #[test]
    fn tests_that_the_repository_has_are_protected_with_their_like() {
        let with = |file| [&C_PROJECT[..], &[file]].concat();
        assert_eq!(protected(&with("t/calc.c"), &["t/calc.c", "t/new.c"]), ["t/calc.c", "t/new.c"]);
        assert_eq!(protected(&with("tools/test_gen.py"), &["a/test_b.py", "gen.py"]), ["a/test_b.py"]);
        assert_eq!(protected(&with("src/CalcTest.cpp"), &["src/AddTest.cpp"]), ["src/AddTest.cpp"]);
        let script = ["Makefile=test:\n\tsh scripts/test.sh\n", "scripts/test.sh"];
        assert_eq!(protected(&script, &["scripts/test.sh", "scripts/gen.sh"]), ["scripts/test.sh"]);
        let made = ["build/t/test_x.lua", "node_modules/a/test_x.lua", ".cache/test_x.lua"];
        assert_eq!(protected(&[&C_PROJECT[..], &made].concat(), &["src/test_x.lua"]), [""; 0]);
    }

    #[test]
    fn several_stacks_get_a_check_each() {
        assert_eq!(
            proposed(&["Cargo.toml", "go.mod", "test.sh"]),
            "rust-test: cargo test; go-test: go test ./... | protect **/tests/** **/{test,tests}.rs **/*_{test,tests}.rs **/*_test.go **/test.sh | product **/src/** **/*.go **/*.md"
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
