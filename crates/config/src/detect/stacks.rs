//! Stacks with one usual way to test each.

use super::project_files::ProjectFiles;
use windlass_core::plain::shell_word;

use super::{Stack, TestWay, native, workflow};

pub fn rust(project: &ProjectFiles<'_>) -> Option<Stack> {
    let protect = ["**/tests/**", "**/{test,tests}.rs", "**/*_{test,tests}.rs"];
    let way = |fetch: &str, test: &str| TestWay::new(test).setup(fetch).needs("cargo");
    let tests = if has_members(project) { "cargo test --workspace" } else { "cargo test" };
    let mut ways = Vec::new();
    if project.has("Cargo.lock") {
        ways.push(way("cargo fetch --locked", &format!("{tests} --locked")));
    }
    ways.push(way("cargo fetch", tests));
    if has_members(project) {
        // One of the members may need what the machine does not have.
        ways.push(way("cargo fetch", "cargo test"));
    }
    if project.has_any(&["rust-toolchain", "rust-toolchain.toml"]) {
        // The toolchain that is there, without components that rustup would download and tests seldom need.
        let as_is = |command: &str| format!("RUSTUP_AUTO_INSTALL=0 {command}");
        let here: Vec<TestWay> = ways
            .iter()
            .flat_map(|it| it.setup.first().map(|fetch| way(&as_is(fetch), &as_is(&it.run))))
            .collect();
        ways.extend(here);
    }
    project
        .has("Cargo.toml")
        .then(|| Stack::new("Rust", "rust", ways).protect(&protect).product(&["**/src/**"]))
}

/// Whether the package at the root has others beside it, which `cargo test` leaves out.
fn has_members(project: &ProjectFiles<'_>) -> bool {
    let manifest: toml::Table = project.text("Cargo.toml").parse().unwrap_or_default();
    let members = manifest.get("workspace").and_then(|workspace| workspace.get("members")?.as_array());
    manifest.contains_key("package") && members.is_some_and(|members| !members.is_empty())
}

pub fn go(project: &ProjectFiles<'_>) -> Option<Stack> {
    let way = TestWay::new("go test ./...").needs("go");
    // Without a requirement there is nothing to download, and no file that says so.
    let way = if project.has("go.sum") { way.setup("go mod download") } else { way };
    project
        .has("go.mod")
        .then(|| Stack::new("Go", "go", vec![way]).protect(&["**/*_test.go"]).product(&["**/*.go"]))
}

/// With the modules of a project of several.
const JVM_TESTS: [&str; 1] = ["**/src/*{test,Test}*/**"];
const JVM_SOURCES: &[&str] = &["**/src/main/**"];

pub fn maven(project: &ProjectFiles<'_>) -> Option<Stack> {
    let way = match project.has("mvnw") {
        true => maven_way("./mvnw").needs("java"),
        false => maven_way("mvn").needs("mvn"),
    };
    let ways = way.with_and_without_junit("**/target/surefire-reports/TEST-*.xml");
    project
        .has("pom.xml")
        .then(|| Stack::new("Maven", "maven", ways.to_vec()).protect(&JVM_TESTS).product(JVM_SOURCES))
}

/// Java takes the home from the password file, which is not the one that a check may write to.
fn maven_way(program: &str) -> TestWay {
    let maven = format!("{program} -q -Duser.home=\"$HOME\"");
    TestWay::new(format!("{maven} test")).setup(format!("{maven} test-compile"))
}

pub fn gradle(project: &ProjectFiles<'_>) -> Option<Stack> {
    let way = match project.has("gradlew") {
        true => gradle_way("./gradlew").needs("java"),
        false => gradle_way("gradle").needs("gradle"),
    };
    let found = project.has_any(&["build.gradle", "build.gradle.kts"]);
    let ways = way.with_and_without_junit("**/build/test-results/test/TEST-*.xml").to_vec();
    found.then(|| Stack::new("Gradle", "gradle", ways).protect(&JVM_TESTS).product(JVM_SOURCES))
}

/// The home, as for Maven.
fn gradle_way(program: &str) -> TestWay {
    TestWay::new(format!("GRADLE_USER_HOME=\"$HOME/.gradle\" {program} test"))
}

pub fn ruby(project: &ProjectFiles<'_>) -> Option<Stack> {
    let specs = project.has(".rspec") || project.has_directory("spec");
    let way = |run: &str| {
        TestWay::new(run)
            .setup("bundle config set --local path vendor/bundle")
            .setup("bundle install")
            .needs("bundle")
    };
    let (spec, test) = (way("bundle exec rspec"), way("bundle exec rake test"));
    let ways = if specs { vec![spec, test] } else { vec![test, spec] };
    let protect = ["**/*_{spec,test}.rb", "**/test_*.rb", "**/{spec,test}/**"];
    let stack = || Stack::new("Ruby", "ruby", ways).protect(&protect);
    project.has("Gemfile").then(|| with_sources(project, stack(), &["lib/**", "app/**", "exe/**"]))
}

/// The stack with its sources, where the project keeps them in one of the usual directories.
fn with_sources(project: &ProjectFiles<'_>, stack: Stack, usual: &'static [&'static str]) -> Stack {
    let is_there = |glob: &&str| glob.split('/').next().is_some_and(|name| project.has_directory(name));
    if usual.iter().any(is_there) { stack.product(usual) } else { stack }
}

pub fn elixir(project: &ProjectFiles<'_>) -> Option<Stack> {
    let way = TestWay::new("mix test").setup("mix deps.get").needs("mix");
    let protect = ["**/*_test.exs", "**/test/**"];
    let stack = || Stack::new("Elixir", "elixir", vec![way]).protect(&protect);
    project.has("mix.exs").then(|| with_sources(project, stack(), &["lib/**", "apps/*/lib/**"]))
}

pub fn dotnet(project: &ProjectFiles<'_>) -> Option<Stack> {
    let suffixes = [".sln", ".slnx", ".csproj", ".fsproj"];
    let found = project.names_in("").any(|name| suffixes.iter().any(|suffix| name.ends_with(suffix)));
    let way = TestWay::new("dotnet test").setup("dotnet restore").needs("dotnet");
    let protect = ["**/*{Test,Tests}.{cs,fs,vb}", "**/*.{Test,Tests,UnitTests,IntegrationTests}/**"];
    found.then(|| Stack::new(".NET", "dotnet", vec![way]).protect(&protect))
}

pub fn php(project: &ProjectFiles<'_>) -> Option<Stack> {
    let found = project.has("composer.json") && project.has_any(&["phpunit.xml", "phpunit.xml.dist"]);
    let way = TestWay::new("vendor/bin/phpunit").setup("composer install").needs("php").needs("composer");
    let stack = Stack::new("PHP", "php", vec![way]).protect(&["**/*Test.php", "tests/**"]);
    found.then(|| with_sources(project, stack, &["src/**", "app/**", "lib/**"]))
}

pub fn swift(project: &ProjectFiles<'_>) -> Option<Stack> {
    let way = TestWay::new("swift test").needs("swift");
    let protect = ["Tests/**", "**/*Tests.swift"];
    project.has("Package.swift").then(|| Stack::new("Swift", "swift", vec![way]).protect(&protect))
}

pub fn zig(project: &ProjectFiles<'_>) -> Option<Stack> {
    let way = TestWay::new("zig build test").needs("zig");
    project.has("build.zig").then(|| Stack::new("Zig", "zig", vec![way]))
}

pub const SCRIPT_TESTS: [&str; 2] = ["**/*.{t,bats}", "**/{test,tests}/**"];

pub fn test_script(project: &ProjectFiles<'_>) -> Option<Stack> {
    match SCRIPTS.into_iter().find(|script| project.has(script)) {
        Some(script) => scripts_stack(project, &[script.to_owned()]),
        None => bats(project).or_else(|| scripts_stack(project, &further_scripts(project))),
    }
}

/// A way for each of these scripts.
fn scripts_stack(project: &ProjectFiles<'_>, scripts: &[String]) -> Option<Stack> {
    let ways: Vec<TestWay> =
        scripts.iter().map(|script| TestWay::new(script_call(project, script))).collect();
    let stack = Stack::new("a test script", "script", (!ways.is_empty()).then_some(ways)?);
    let globs: Vec<String> = scripts.iter().map(|script| globset::escape(script)).collect();
    let stack = stack.protect(&globs.iter().map(String::as_str).collect::<Vec<_>>());
    Some(native::with_c(project, stack.protect(&SCRIPT_TESTS)))
}

pub fn script_call(project: &ProjectFiles<'_>, script: &str) -> String {
    match project.is_executable(script) {
        true => format!("./{}", shell_word(script)),
        false => format!("{} ./{}", interpreter(&project.text(script)), shell_word(script)),
    }
}

/// What the project's own pages tell people to run, then what has a usual name, then what its CI runs.
fn further_scripts(project: &ProjectFiles<'_>) -> Vec<String> {
    const MOST: usize = 3;
    let usual = ["tools", "scripts", "script", "ci"].into_iter().flat_map(|directory| {
        ["test", "tests", "unit", "check"].map(|name| format!("{directory}/{name}.sh"))
    });
    let usual = usual.chain(["script/test".to_owned()]).filter(|script| project.has(script));
    let mut scripts: Vec<String> = Vec::new();
    for script in workflow::scripts_of_pages(project)
        .into_iter()
        .chain(usual)
        .chain(workflow::scripts_of_workflows(project))
    {
        if !scripts.contains(&script) && scripts.len() < MOST {
            scripts.push(script);
        }
    }
    scripts
}

fn bats(project: &ProjectFiles<'_>) -> Option<Stack> {
    let directory = ["test", "tests"]
        .into_iter()
        .find(|directory| project.names_in(directory).any(|name| name.ends_with(".bats")))?;
    let itself = TestWay::new(format!("bats {directory}")).needs("bats");
    // `npx` does not find it: its package names a directory of programs, not the program.
    let fetched = TestWay::new(format!("PATH=\"$PWD/.bats/node_modules/bats/bin:$PATH\" {}", itself.run))
        .setup("npm install --no-save --no-package-lock --prefix .bats bats@1")
        .setup("echo '*' >.bats/node_modules/.gitignore")
        .needs("npm");
    Some(Stack::new("Bats", "bats", vec![itself, fetched]).protect(&SCRIPT_TESTS))
}

/// Scripts that run all tests, the likeliest first.
const SCRIPTS: [&str; 11] = [
    "test.sh",
    "tests/run.sh",
    "test/run.sh",
    "run_tests.sh",
    "run-tests.sh",
    "runtests.sh",
    "tests/run_tests.sh",
    "tests/run-tests.sh",
    "tests/runtests.sh",
    "test/run_tests.sh",
    "test_runner",
];

/// The shell that a script asks for in its first line.
fn interpreter(script: &str) -> &'static str {
    let first = script.lines().next().filter(|line| line.starts_with("#!")).unwrap_or_default();
    let asked = first.rsplit(['/', ' ']).find(|word| !word.is_empty() && !word.starts_with('-'));
    ["bash", "zsh", "ksh"].into_iter().find(|shell| asked == Some(*shell)).unwrap_or("sh")
}
