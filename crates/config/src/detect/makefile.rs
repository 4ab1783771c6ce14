//! The targets by which a makefile runs the tests.

/// The likeliest first; none if the makefile has no such target.
pub fn test_targets(makefile: &str) -> impl Iterator<Item = &'static str> {
    let usual = ["test", "check", "tests", "unittest", "unit-test", "unittests", "run-tests", "runtests"];
    usual.into_iter().filter(|target| makefile.lines().any(|line| makes(line, target)))
}

/// Programs that the makefile builds and whose names say that they are tests.
pub fn test_programs(makefile: &str) -> Vec<&str> {
    let heads = makefile
        .lines()
        .filter(|line| !line.starts_with(['\t', '#', ' ', '.']))
        .filter_map(|line| line.split_once(':'));
    let targets = heads
        .filter(|(targets, _)| !targets.contains(['=', '$', '%']))
        .flat_map(|(targets, _)| targets.split_whitespace());
    let named = |target: &&str| {
        ["-test", "_test", "-tests", "_tests"].iter().any(|end| target.ends_with(end))
            || target.starts_with("test_")
    };
    targets.filter(named).filter(|target| !target.contains('.')).collect()
}

/// Whether the line is the head of a rule for this target.
fn makes(line: &str, target: &str) -> bool {
    if line.starts_with(['\t', '#']) {
        return false;
    }
    let Some((targets, rest)) = line.split_once(':') else { return false };
    let is_assignment = rest.trim_start_matches(':').starts_with('=') || targets.contains('=');
    !is_assignment && targets.split_whitespace().any(|name| name == target)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_known_as_tests_by_their_names() {
        let text =
            "all: sds-test\n\nsds-test: sds.c\n\tcc\nclean:\n\trm sds-test\nlatest: x\na_test.o: a.c\n";
        assert_eq!(test_programs(text), ["sds-test"]);
    }

    #[test]
    fn a_rule_is_told_from_an_assignment() {
        for (text, target) in [
            ("all:\ntest : all\n", Some("test")),
            ("check:\n\ttrue\n", Some("check")),
            ("check test:: build\n", Some("test")),
            ("test: CFLAGS += -g\ntest: all\n", Some("test")),
            ("test := 3\ntests:\n", Some("tests")),
            ("test := 3\n", None),
            ("test ::= 3\n", None),
            (".PHONY: test\n", None),
            ("all:\n\ttest: x\n", None),
            ("A = test: b\n", None),
            ("# test:\n", None),
        ] {
            assert_eq!(test_targets(text).next(), target, "{text:?}");
        }
    }
}
