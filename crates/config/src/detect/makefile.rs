//! The target by which a makefile runs the tests.

/// `test` before `check`; none if the makefile has neither.
pub fn test_target(makefile: &str) -> Option<&'static str> {
    ["test", "check"].into_iter().find(|target| makefile.lines().any(|line| makes(line, target)))
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
    fn a_rule_is_told_from_an_assignment() {
        for (text, target) in [
            ("all:\ntest : all\n", Some("test")),
            ("check:\n\ttrue\n", Some("check")),
            ("check test:: build\n", Some("test")),
            ("test: CFLAGS += -g\ntest: all\n", Some("test")),
            ("test := 3\ntests:\n", None),
            ("test ::= 3\n", None),
            (".PHONY: test\n", None),
            ("all:\n\ttest: x\n", None),
            ("A = test: b\n", None),
            ("# test:\n", None),
        ] {
            assert_eq!(test_target(text), target, "{text:?}");
        }
    }
}
