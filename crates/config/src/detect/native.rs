//! C and C++, and whatever a makefile builds.

use super::project_files::ProjectFiles;
use super::stacks::SCRIPT_TESTS;
use super::{Stack, TestWay, fetched, makefile};

const C_SOURCES: &[&str] = &["**/*.{c,h,cc,cpp,cxx,hh,hpp,hxx,inl,ipp}", "src/**", "include/**"];
/// What GoogleTest, Check, Qt and plain programs are named by.
pub const C_TESTS: [&str; 4] = [
    "**/{test,tests,unittest}.{c,cc,cpp,cxx}",
    "**/{test,tests,tst}{_,-}*.{c,h,cc,cpp,cxx,hh,hpp}",
    "**/{*_,*-,*.}{test,tests,unittest}.{c,h,cc,cpp,cxx,hh,hpp}",
    "**/{test,tests,unittest,unittests}/**",
];

const MAKEFILES: [&str; 3] = ["GNUmakefile", "makefile", "Makefile"];

/// A project with CMake; a makefile beside it is another way.
pub fn cmake(project: &ProjectFiles<'_>) -> Option<Stack> {
    if !project.has("CMakeLists.txt") {
        return None;
    }
    let options = switched_off_tests(&project.text("CMakeLists.txt"));
    let build = if project.has_directory("build") { "_build" } else { "build" };
    let run = format!(
        "cmake -S . -B {build} -DBUILD_TESTING=ON && cmake --build {build} --parallel && \
         ctest --test-dir {build} --output-on-failure --no-tests=error"
    );
    let plain = TestWay::new(&run).needs("cmake");
    // Since CMake 3.21; the name is below the directory that is built in.
    let reporting = TestWay {
        run: format!("{run} --output-junit junit.xml"),
        junit: Some(format!("{build}/junit.xml")),
        ..plain.clone()
    };
    // From 4 on CMake refuses projects that are written for old versions of it.
    let fetched = by_fetched(&reporting, "cmake", "'cmake<4'");
    let switched_on = (!options.is_empty()).then(|| {
        let on = |way: &TestWay| TestWay {
            run: way.run.replace(" -DBUILD_TESTING=ON", &format!(" -DBUILD_TESTING=ON{options}")),
            ..way.clone()
        };
        [on(&reporting), on(&plain), on(&fetched)]
    });
    let [on, plain_on, fetched_on] = switched_on.map_or([None, None, None], |ways| ways.map(Some));
    let mut ways = vec![reporting, plain];
    ways.extend(on.into_iter().chain(plain_on));
    let file = MAKEFILES.into_iter().find(|name| project.has(name));
    ways.extend(make_ways(project, file));
    ways.push(fetched);
    ways.extend(fetched_on);
    let stack = Stack::new("CMake", "cmake", ways).protect(&C_TESTS).product(C_SOURCES);
    Some(file.into_iter().fold(stack, |stack, file| stack.protect(&[file])))
}

/// Arguments that switch on the project's own options for tests, each with a blank in front.
fn switched_off_tests(settings: &str) -> String {
    let options = settings.lines().filter_map(|line| {
        let line = line.trim();
        let (_, rest) =
            line.split_once('(').filter(|(head, _)| head.trim().eq_ignore_ascii_case("option"))?;
        let (name, value) = rest.trim().split_once([' ', '\t'])?;
        let (value, _) = value.rsplit_once(')')?;
        let value = value.rsplit(['"', ' ', '\t']).next().unwrap_or_default().to_ascii_uppercase();
        let is_for_tests = ["_TESTING", "_TESTS", "_TEST"].iter().any(|end| name.ends_with(end));
        let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let is_off = matches!(value.as_str(), "" | "OFF" | "NO" | "FALSE" | "0");
        let switches_off = name.split('_').any(|word| ["DISABLE", "NO", "SKIP", "WITHOUT"].contains(&word));
        (is_for_tests && is_plain && is_off && !switches_off).then(|| format!(" -D{name}=ON"))
    });
    options.collect()
}

/// `configure`, meson, or a makefile with a target for tests.
pub fn make(project: &ProjectFiles<'_>) -> Option<Stack> {
    let file = MAKEFILES.into_iter().find(|name| project.has(name));
    let mut ways = Vec::new();
    if project.has("meson.build") {
        let run = "meson setup _build && meson test -C _build --print-errorlogs";
        let way = TestWay::new(run).needs("meson").needs("ninja");
        ways.extend(way.with_and_without_junit("_build/meson-logs/testlog.junit.xml"));
    }
    let fetched = ways.first().map(|meson| by_fetched(meson, "meson", "meson ninja"));
    ways.extend(make_ways(project, file));
    ways.extend(fetched);
    let name = if file.is_some() { "make" } else { "C" };
    let stack = Stack::new(name, "make", (!ways.is_empty()).then_some(ways)?);
    let stack = file.into_iter().fold(stack, |stack, file| stack.protect(&[file]));
    Some(match has_c(project) {
        true => with_c(project, stack),
        false => stack.protect(&SCRIPT_TESTS),
    })
}

/// The stack with the tests and sources of C, if the project has any.
pub fn with_c(project: &ProjectFiles<'_>, stack: Stack) -> Stack {
    match has_c(project) {
        true => stack.protect(&C_TESTS).product(C_SOURCES),
        false => stack,
    }
}

fn has_c(project: &ProjectFiles<'_>) -> bool {
    let is_c = |path: &str| [".c", ".cc", ".cpp", ".cxx", ".hpp"].iter().any(|suffix| path.ends_with(suffix));
    let directories = ["src/", "lib/", "include/"];
    let is_source =
        |path: &str| !path.contains('/') || directories.iter().any(|directory| path.starts_with(directory));
    project.files().any(|path| is_c(path) && is_source(path))
}

/// The same way where its tool is missing and pip can bring it.
fn by_fetched(way: &TestWay, tool: &'static str, packages: &str) -> TestWay {
    TestWay {
        setup: fetched::by_pip(tool, packages).to_vec(),
        run: fetched::with_tool(tool, &way.run),
        needs: vec!["python3"],
        junit: way.junit.clone(),
        fetches: Some(tool),
        ..TestWay::default()
    }
}

fn make_ways(project: &ProjectFiles<'_>, file: Option<&str>) -> Vec<TestWay> {
    let mut ways = Vec::new();
    if let Some(file) = file {
        // One that takes too long, or is red, may have a lesser one beside it.
        let text = project.text(file);
        let targets = makefile::test_targets(&text);
        ways.extend(targets.map(|target| TestWay::new(format!("make {target}")).needs("make")));
    }
    if ways.is_empty()
        && let Some(file) = file
    {
        let text = project.text(file);
        let programs = makefile::test_programs(&text);
        let run = |program: &&str| TestWay::new(format!("make {program} && ./{program}")).needs("make");
        ways.extend(programs.iter().map(run));
    }
    let template = ["Makefile.in", "makefile.in"].into_iter().find(|name| project.has(name));
    let target = template.and_then(|file| makefile::test_targets(&project.text(file)).next());
    // Automake gives every project a target `check`.
    let target = target.or(project.has("Makefile.am").then_some("check"));
    if let Some(target) = target {
        let run = format!("./configure && make && make {target}");
        if project.has("configure") {
            ways.push(TestWay::new(run).needs("make"));
        } else if project.has_any(&["configure.ac", "configure.in"]) {
            ways.push(TestWay::new(format!("autoreconf -fi && {run}")).needs("autoreconf").needs("make"));
        }
    }
    ways
}
