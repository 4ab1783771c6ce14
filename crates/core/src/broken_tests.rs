//! What became of a check's tests when windlass broke them: a check that stays
//! green on broken tests proves nothing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::BlobId;
use crate::red::RedReason;
use crate::tally::Names;
use crate::time::Millis;

/// The tests of the judged tree, broken in two ways, under the same check.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BrokenTests {
    /// With a failing statement at the end of each.
    pub statement: Breakings,
    /// With another value in place of the literal that an assertion expects.
    pub literal: Breakings,
    /// Tests that could not be broken: marked to be skipped or to fail, or of an unknown form.
    pub unbroken: Names,
    /// How often the check was run for it.
    pub runs: u32,
    pub duration_ms: Millis,
    /// Every test, with what was done to it and what became of it. None where there is no test.
    pub list: Option<BlobId>,
    /// What each run printed.
    pub outputs: Vec<BlobId>,
    /// The last useful lines of a run that stayed green.
    pub excerpt: String,
    /// Red in a run in which they were not broken, where the check is green in one run and red in another.
    #[serde(default)]
    pub unsteady: Names,
    /// Where the check was red on the base: those of the tests that failed there which were broken alone. None where it
    /// was green there, or of an older windlass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failing_on_base: Option<Names>,
}

/// The tests that were broken in one way.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Breakings {
    pub broken: u32,
    /// Seen to fail, by name or by what they print.
    pub red: u32,
    /// Of those, the ones that only the exit code told, broken alone.
    pub red_by_exit: u32,
    /// Green though broken, which they are not on the base.
    pub green: Names,
    /// Green though broken, as they are on the base: the check does not run them on this machine.
    pub set_aside: Names,
    /// Green though broken, and not among the tests of the base.
    pub added: Names,
    /// The check does not tell one test from another, and these were not broken alone.
    pub untold: Names,
    /// Of those, the ones that the base tells by name when they are broken, on terms that are trusted: the work silences them.
    #[serde(default, skip_serializing_if = "Names::is_empty")]
    pub silenced: Names,
}

impl BrokenTests {
    /// Whether any test was seen to fail.
    pub fn shows_failure(&self) -> bool {
        self.statement.red + self.literal.red > 0
    }

    pub fn red_reason(&self) -> Option<RedReason> {
        let (names, how) = match (self.statement.green.count, self.literal.green.count) {
            (0, 0) if self.unsteady.count > 0 => {
                let how = format!("the check is green and red on one tree{}", self.unsteady.told());
                return Some(RedReason::NotSensitive { how });
            }
            (0, 0) if self.statement.silenced.count > 0 => {
                let count = self.statement.silenced.count;
                let tests = if count == 1 { "a test".to_owned() } else { format!("{count} tests") };
                let how = format!(
                    "the check of the base tells by name which tests fail, and on this tree it does not: \
                     {tests} not told{}",
                    self.statement.silenced.told()
                );
                return Some(RedReason::NotSensitive { how });
            }
            (0, 0) => return None,
            (0, _) => (&self.literal.green, "though another value is expected"),
            (_, _) => (&self.statement.green, "though broken"),
        };
        let told = names.told();
        let how = format!(
            "the gate cannot fail on this tree: {}{told}",
            match names.count {
                1 => format!("a test stays green {how}"),
                count => format!("{count} tests stay green {how}"),
            }
        );
        Some(RedReason::NotSensitive { how })
    }

    /// The check was red on the base, by no test that windlass could break: a lie about that one would not be found.
    pub fn misses_failing_on_base(&self) -> bool {
        self.failing_on_base.as_ref().is_some_and(Names::is_empty)
    }

    /// For people, in one line.
    pub fn words(&self) -> String {
        self.lines().join(", ")
    }

    /// The same, in short pieces.
    pub fn lines(&self) -> Vec<String> {
        if self.statement.broken == 0 {
            return vec!["no test that windlass can break".to_owned()];
        }
        let mut parts = vec![self.statement.words("test", "broken")];
        if self.literal.broken > 0 {
            parts.push(self.literal.words("expected value", "changed"));
        }
        let weaker = [
            (&self.statement.set_aside, "not run on the base either"),
            (&self.statement.added, "added and not seen red"),
            (&self.statement.untold, "not told apart"),
        ];
        parts.extend(
            weaker
                .iter()
                .filter(|(names, _)| names.count > 0)
                .map(|(names, what)| format!("{} {what}{}", names.count, names.told())),
        );
        if self.misses_failing_on_base() {
            parts.push("no test that failed on the base could be broken".to_owned());
        }
        parts
    }
}

impl Breakings {
    fn words(&self, of: &str, done: &str) -> String {
        let Self { broken, red, .. } = self;
        match broken {
            1 if *red == 1 => format!("1 {of} {done} and red"),
            1 => format!("1 {of} {done}, not red"),
            _ if red == broken => format!("{broken} {of}s {done}, all red"),
            _ => format!("{broken} {of}s {done}, {red} red"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn breakings(broken: u32, green: &[&str]) -> Breakings {
        let green = Names::of(green.iter().copied());
        Breakings { broken, red: broken - green.count, green, ..Breakings::default() }
    }

    #[test]
    fn one_test_that_stays_green_is_enough() {
        let broken = |statement, literal| BrokenTests { statement, literal, ..BrokenTests::default() };
        assert_eq!(broken(breakings(3, &[]), breakings(1, &[])).red_reason(), None);
        let lies = broken(breakings(3, &["test_a.py:1 test_x"]), breakings(1, &[]));
        assert_eq!(
            lies.red_reason().unwrap().words(),
            "the gate cannot fail on this tree: a test stays green though broken: test_a.py:1 test_x"
        );
        let lies = broken(breakings(3, &[]), breakings(2, &["a", "b"]));
        assert_eq!(
            lies.red_reason().unwrap().words(),
            "the gate cannot fail on this tree: 2 tests stay green though another value is expected: a, b"
        );
    }

    #[test]
    fn tests_that_only_the_work_leaves_untold_are_silenced_by_it() {
        let silenced = Names::of(["test_hard.py test_hard"]);
        let statement = Breakings { untold: silenced.clone(), silenced, ..breakings(61, &[]) };
        let tests = BrokenTests { statement, ..BrokenTests::default() };
        assert_eq!(
            tests.red_reason().unwrap().words(),
            "the check of the base tells by name which tests fail, and on this tree it does not: a test not told: \
             test_hard.py test_hard"
        );
    }

    #[test]
    fn the_words_tell_what_is_weaker() {
        let mut tests = BrokenTests { statement: breakings(3, &[]), ..BrokenTests::default() };
        assert_eq!(tests.words(), "3 tests broken, all red");
        tests.literal = breakings(2, &[]);
        tests.statement = Breakings { red: 1, set_aside: Names::of(["a", "b"]), ..breakings(3, &[]) };
        assert_eq!(
            tests.words(),
            "3 tests broken, 1 red, 2 expected values changed, all red, 2 not run on the base either: a, b"
        );
        tests.failing_on_base = Some(Names::default());
        assert!(
            tests.words().ends_with(", no test that failed on the base could be broken"),
            "{}",
            tests.words()
        );
        assert_eq!(BrokenTests::default().words(), "no test that windlass can break");
    }
}
