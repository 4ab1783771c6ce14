//! What the output of a red command says of its cause: tests that fail, a program that is not there, a Go that is too
//! old.

/// Nearly all tests are green, and those that are not have names: the way to run them is right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FewFailures {
    failed: u64,
    all: u64,
    names: Vec<String>,
}

impl FewFailures {
    pub fn of(excerpt: &str) -> Option<Self> {
        const MOST: u64 = 5;
        let (mut passed, mut failed) = (0, 0);
        let is_of_tests =
            |line: &&str| !["Test Suites:", "Snapshots:"].iter().any(|head| line.contains(head));
        for line in excerpt.lines().filter(is_of_tests) {
            passed = count(line, &["passed", "passing", "pass"]).unwrap_or(passed);
            failed = count(line, &["failed", "failing", "fail"]).unwrap_or(failed);
        }
        let mut names: Vec<String> = Vec::new();
        for name in excerpt.lines().filter_map(failed_test) {
            if !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        }
        let is_few = (1..=MOST).contains(&failed) && passed >= 10 * failed && !names.is_empty();
        is_few.then_some(Self { failed, all: passed + failed, names })
    }

    pub fn words(&self) -> String {
        const MOST: usize = 3;
        let Self { failed, all, names } = self;
        let verb = if *failed == 1 { "fails" } else { "fail" };
        let shown = names[..names.len().min(MOST)].join(", ");
        let more = if names.len() > MOST { ", …" } else { "" };
        format!("{failed} of {all} tests {verb} before any work: {shown}{more}")
    }
}

/// The number that stands before one of these words, or after it as in TAP.
fn count(line: &str, words: &[&str]) -> Option<u64> {
    let is_mark = |letter: char| !letter.is_ascii_alphanumeric() && letter != '#';
    let parts: Vec<&str> = line.split_whitespace().map(|part| part.trim_matches(is_mark)).collect();
    if let ["#", word, number] = parts[..] {
        return words.contains(&word).then(|| number.parse().ok()).flatten();
    }
    parts.windows(2).find_map(|pair| words.contains(&pair[1]).then(|| pair[0].parse().ok()).flatten())
}

/// The name in a line that reports one test as failed, by pytest, TAP, Go, Cargo, vitest or jest.
fn failed_test(line: &str) -> Option<&str> {
    let line = line.trim();
    if let Some(rest) = line.strip_prefix("FAILED ").filter(|rest| rest.contains("::")) {
        return rest.split(" - ").next();
    }
    if let Some(rest) = line.strip_prefix("not ok ") {
        return Some(rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ' || c == '-'));
    }
    let of_vitest = line.strip_prefix("FAIL ").filter(|rest| rest.contains(" > "));
    let of_jest = line.strip_prefix("● ").filter(|rest| rest.contains(" › "));
    if let Some(rest) = of_vitest.or(of_jest) {
        return Some(rest.trim());
    }
    if let Some(rest) = line.strip_prefix("--- FAIL: ") {
        return rest.split(' ').next();
    }
    line.strip_prefix("test ")?.strip_suffix(" ... FAILED")
}

/// Whether a runner came as far as running tests: then the tests are red, and not the way to run them.
pub fn shows_tests(excerpt: &str) -> bool {
    let lower = excerpt.to_lowercase();
    // pytest runs none of them then.
    if lower.contains("during collection !!") {
        return false;
    }
    let is_counted = |line: &str| {
        let has_number = line.chars().any(|c| c.is_ascii_digit() && c != '0');
        let words = ["passed", "passing", "failed", "failing", "# pass ", "tests:", "test in ", "tests in "];
        has_number && words.iter().any(|word| line.contains(word))
    };
    lower.lines().any(is_counted)
}

/// Files that pytest could not load: it ran no test because of them.
pub fn not_loaded(excerpt: &str) -> impl Iterator<Item = &str> {
    let lines = excerpt.lines().filter_map(|line| line.trim().strip_prefix("ERROR "));
    lines.filter_map(|rest| rest.split(" - ").next()).filter(|path| path.ends_with(".py"))
}

/// Modules that Python did not find, each once.
pub fn missing_modules(excerpt: &str) -> Vec<&str> {
    let mut modules = Vec::new();
    for line in excerpt.lines() {
        let Some((_, rest)) = line.split_once("ModuleNotFoundError: No module named '") else { continue };
        let module = rest.split(['.', '\'']).next().unwrap_or_default();
        if !module.is_empty() && !modules.contains(&module) {
            modules.push(module);
        }
    }
    modules
}

/// The program that a shell or make did not find.
pub fn missing_program(excerpt: &str) -> Option<&str> {
    // make names a missing file in the same words, but with another code.
    let by_make = excerpt.contains("Error 127");
    excerpt.lines().find_map(|line| {
        let line = line.trim();
        let of_make = || {
            let rest = line.strip_suffix(": No such file or directory").filter(|_| by_make)?;
            rest.split_once(": ").filter(|(make, _)| make.starts_with("make")).map(|(_, program)| program)
        };
        // `sh: 1: NAME: not found`, or without the number.
        let of_sh = || {
            let (before, program) = line.strip_suffix(": not found")?.rsplit_once(": ")?;
            let is_shell = before.ends_with("sh") || before.ends_with(|c: char| c.is_ascii_digit());
            is_shell.then_some(program)
        };
        let of_bash = line.strip_suffix(": command not found").and_then(|named| named.rsplit(": ").next());
        let program = of_bash.or_else(of_sh).or_else(of_make)?;
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-+".contains(c);
        (!program.is_empty() && program.chars().all(is_plain)).then_some(program)
    })
}

/// The Go that a module asks for, where the one here is older.
pub fn wanted_go(excerpt: &str) -> Option<&str> {
    let heads = ["module requires Go ", "requires go >= ", "go: download go"];
    let rest =
        excerpt.lines().find_map(|line| heads.iter().find_map(|head| Some(line.split_once(head)?.1)))?;
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    let version = rest[..end].trim_end_matches('.');
    (!version.is_empty()).then_some(version)
}

/// Whether an install failed before the tool that was to be fetched was there.
pub fn fetch_failed(excerpt: &str) -> bool {
    let signs =
        ["npm error", "npm ERR!", "No matching distribution found", "ensurepip", "No module named venv"];
    excerpt.lines().any(|line| signs.iter().any(|sign| line.contains(sign)))
}

/// Whether a project wants another version of the build tool itself.
pub fn refuses_tool(excerpt: &str) -> bool {
    let signs = ["Compatibility with CMake <", "or higher is required", "Meson version is "];
    signs.iter().any(|sign| excerpt.contains(sign))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_runner_that_is_missing_ran_no_tests() {
        for red in [
            "Ran 5 tests in 0.001s\n\nFAILED (failures=1)",
            "1 failed, 1400 passed, 10 skipped in 25.21s",
            "# pass 3\n# fail 1",
            "test result: FAILED. 1 passed; 1 failed; 0 ignored",
        ] {
            assert!(shows_tests(red), "{red}");
        }
        for red in [
            "/usr/bin/python3: No module named pytest",
            "sh: 1: xo: not found",
            "error: 2 problems",
            "Failed: 3 tests: x\n!!!!!! Interrupted: 1 error during collection !!!!!!\n1 error in 0.2s",
        ] {
            assert!(!shows_tests(red), "{red}");
        }
    }

    #[test]
    fn what_pytest_could_not_load_is_read_from_the_output() {
        let red = "E   ModuleNotFoundError: No module named 'msgspec.json'\n\
                   E   ModuleNotFoundError: No module named 'bson'\n\
                   E   ModuleNotFoundError: No module named 'msgspec'\n\
                   ERROR bench/test_a.py - ModuleNotFoundError\nERROR tests/test_b.py\n\
                   ERROR tests/test_c.py::test_d - fixture\nERROR: usage\n";
        assert_eq!(not_loaded(red).collect::<Vec<_>>(), ["bench/test_a.py", "tests/test_b.py"]);
        assert_eq!(missing_modules(red), ["msgspec", "bson"]);
    }

    #[test]
    fn few_tests_that_fail_are_named() {
        for (red, words) in [
            (
                "FAILED tests/test_a.py::T::test_b - Assertio...\n1 failed, 1400 passed, 10 skipped in 42.72s",
                Some("1 of 1401 tests fails before any work: tests/test_a.py::T::test_b"),
            ),
            (
                "not ok 3 - adds\nnot ok 9 - takes\n# tests 40\n# pass  38\n# fail  2",
                Some("2 of 40 tests fail before any work: adds, takes"),
            ),
            (
                "test a::b ... FAILED\ntest result: FAILED. 20 passed; 1 failed; 0 ignored",
                Some("1 of 21 tests fails before any work: a::b"),
            ),
            (
                " FAIL  a.spec.ts > sum > adds\nTest Files  1 failed | 10 passed (11)\nTests  1 failed | 40 passed (41)",
                Some("1 of 41 tests fails before any work: a.spec.ts > sum > adds"),
            ),
            (
                "FAIL test/a.js\n  ● sum › adds\nTest Suites: 1 failed, 1 total\nTests:       1 failed, 40 passed, 41 total",
                Some("1 of 41 tests fails before any work: sum › adds"),
            ),
            ("FAILED a.py::b\n1 failed, 2 passed in 1s", None),
            ("FAILED a.py::b\n40 failed, 900 passed in 1s", None),
            ("1 failed, 900 passed in 1s", None),
            ("make: *** [Makefile:13: check] Error 127", None),
        ] {
            assert_eq!(FewFailures::of(red).map(|few| few.words()).as_deref(), words, "{red}");
        }
    }

    #[test]
    fn a_program_that_was_not_found_is_read_from_the_output() {
        for (red, program) in [
            (
                "make: shellspec: No such file or directory\nmake: *** [Makefile:27: test] Error 127",
                Some("shellspec"),
            ),
            ("make[1]: tclsh: No such file or directory\nmake[1]: *** [a] Error 127", Some("tclsh")),
            ("/bin/sh: 1: shellspec: not found", Some("shellspec")),
            ("test.sh: line 3: ninja: command not found", Some("ninja")),
            ("make: a.c: No such file or directory\nmake: *** [a] Error 2", None),
            ("sh: 1: ./configure: not found", None),
            ("error: symbol y: not found", None),
        ] {
            assert_eq!(missing_program(red), program, "{red}");
        }
    }

    #[test]
    fn the_go_that_a_module_asks_for_is_read_from_the_output() {
        for (red, version) in [
            ("util_test.go:233:80: undefined\nnote: module requires Go 1.21", Some("1.21")),
            ("go: go.mod requires go >= 1.22.1 (running go 1.21.3; GOTOOLCHAIN=local)", Some("1.22.1")),
            ("go: download go1.23 for linux/amd64: toolchain not available", Some("1.23")),
            ("FAIL", None),
        ] {
            assert_eq!(wanted_go(red), version, "{red}");
        }
    }
}
