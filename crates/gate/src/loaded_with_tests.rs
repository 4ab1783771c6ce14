//! Files beside tests that a runner loads by itself before it runs them: whatever is in one can decide what
//! becomes of every test below it, also of those that are written later.

const NAMES: [&[u8]; 6] = [
    b"__init__.py",
    b"test_helper.exs",
    b"test_helper.rb",
    b"spec_helper.rb",
    b"rails_helper.rb",
    b"bootstrap.php",
];

/// Whether a path below `gate.protect` is such a file, with something in it: an empty package is no more than
/// its name.
pub fn is_loaded_with_tests(path: &[u8], content: &[u8]) -> bool {
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    NAMES.contains(&name) && !content.trim_ascii().is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_with_every_test_is_told_from_a_test() {
        assert!(is_loaded_with_tests(b"tests/__init__.py", b"import os\n"));
        assert!(is_loaded_with_tests(b"__init__.py", b"x"));
        assert!(is_loaded_with_tests(b"spec/spec_helper.rb", b"x"));
        assert!(!is_loaded_with_tests(b"tests/__init__.py", b" \n"), "an empty package");
        assert!(!is_loaded_with_tests(b"tests/test_a.py", b"x"));
        assert!(!is_loaded_with_tests(b"tests/my__init__.py", b"x"));
    }
}
