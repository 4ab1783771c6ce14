//! How tests are named where a stack has no rule of its own, or a repository does not keep to it.

use super::base_name;

/// Directories that hold tests wherever they are.
const ANYWHERE: &[&str] = &[
    "tests",
    "test",
    "Tests",
    "Test",
    "__tests__",
    "unittest",
    "unittests",
    "unit_test",
    "unit_tests",
    "unit-tests",
    "integration_tests",
    "integration-tests",
    "selftest",
    "selftests",
    "testsuite",
];

/// Directories that hold tests at the root: deeper down these names are used for other things.
const AT_THE_ROOT: &[&str] = &["t", "spec", "specs", "e2e", "regress"];

/// Files with these extensions are tests.
const TEST_EXTENSIONS: &[&str] = &["t", "bats"];

const SOURCE_EXTENSIONS: &[&str] = &[
    "c", "h", "cc", "cpp", "cxx", "hh", "hpp", "m", "mm", "rs", "go", "zig", "py", "js", "mjs", "cjs", "jsx",
    "ts", "mts", "cts", "tsx", "rb", "pl", "sh", "bash", "zsh", "php", "lua", "tcl", "java", "kt", "scala",
    "groovy", "cs", "fs", "swift", "ex", "exs", "erl", "hs", "ml", "jl", "r", "R", "d", "nim", "dart",
];

/// The glob of this directory, if its name says that it holds tests. Of one that is not at the root, with all
/// others of its name.
pub fn directory_glob(path: &str) -> Option<String> {
    let name = base_name(path);
    match ANYWHERE.contains(&name) || AT_THE_ROOT.contains(&path) {
        true if name == path => Some(format!("{name}/**")),
        true => Some(format!("**/{name}/**")),
        false => None,
    }
}

/// The glob of all files that are named as this test is; none if it is not named as a test.
pub fn file_glob(path: &str) -> Option<String> {
    let (stem, extension) = base_name(path).rsplit_once('.')?;
    if TEST_EXTENSIONS.contains(&extension) && !stem.is_empty() {
        return Some(format!("**/*.{extension}"));
    }
    if !SOURCE_EXTENSIONS.contains(&extension) {
        return None;
    }
    Some(format!("**/{}.{extension}", shape(stem)?))
}

/// `test_calc` is `test_*`, `CalcTest` is `*Test`.
fn shape(stem: &str) -> Option<String> {
    const WORDS: [&str; 4] = ["test", "tests", "unittest", "unittests"];
    if WORDS.contains(&stem) || ["Test", "Tests"].contains(&stem) {
        return Some(stem.to_owned());
    }
    let is_mark = |c: char| "_-.".contains(c);
    for word in WORDS {
        if let Some(mark) =
            stem.strip_prefix(word).and_then(|rest| rest.chars().next()).filter(|c| is_mark(*c))
        {
            return Some(format!("{word}{mark}*"));
        }
    }
    for word in WORDS.into_iter().chain(["spec"]) {
        let mark = stem.strip_suffix(word).and_then(|rest| rest.chars().next_back()).filter(|c| is_mark(*c));
        // `open-spec` is a specification.
        if let Some(mark) = mark.filter(|mark| word != "spec" || *mark != '-') {
            return Some(format!("*{mark}{word}"));
        }
    }
    let after = stem.strip_prefix("Test").and_then(|rest| rest.chars().next());
    if after.is_some_and(|c| c.is_ascii_uppercase()) {
        return Some("Test[A-Z]*".to_owned());
    }
    let before = |word: &str| stem.strip_suffix(word).and_then(|rest| rest.chars().next_back());
    let is_end = |word: &&str| before(word).is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    ["Test", "Tests", "Spec"].into_iter().find(is_end).map(|word| format!("*{word}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_named_as_a_test_gives_the_glob_of_its_like() {
        for (path, glob) in [
            ("test_calc.c", "**/test_*.c"),
            ("src/calc_test.c", "**/*_test.c"),
            ("x-test.js", "**/*-test.js"),
            ("a/test-x.mjs", "**/test-*.mjs"),
            ("test.js", "**/test.js"),
            ("app/tests.py", "**/tests.py"),
            ("x.spec.ts", "**/*.spec.ts"),
            ("x_spec.rb", "**/*_spec.rb"),
            ("src/CalcTest.cpp", "**/*Test.cpp"),
            ("TestCalc.java", "**/Test[A-Z]*.java"),
            ("base_unittest.cc", "**/*_unittest.cc"),
            ("t/basic.t", "**/*.t"),
        ] {
            assert_eq!(file_glob(path).as_deref(), Some(glob), "{path}");
        }
        for path in [
            "src/attest.c",
            "latest.js",
            "contest.py",
            "testament.c",
            "Testament.cpp",
            "openapi-spec.js",
            "spec.ts",
            "test_data.json",
            "test",
            ".t",
            "src/UTEST.c",
        ] {
            assert_eq!(file_glob(path), None, "{path}");
        }
    }

    #[test]
    fn a_directory_of_tests_is_known_by_its_name() {
        for (path, glob) in [("t", "t/**"), ("src/test", "**/test/**"), ("a[1]/tests", "**/tests/**")] {
            assert_eq!(directory_glob(path).as_deref(), Some(glob));
        }
        for path in ["lib/t", "src/spec", "contest", "testing"] {
            assert_eq!(directory_glob(path), None, "{path}");
        }
    }
}
