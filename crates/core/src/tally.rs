//! The tests of one check, as windlass counted them itself in the junit files
//! the check wrote.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::BlobId;
use crate::plain::plain;
use crate::red::RedReason;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "read", rename_all = "snake_case")]
pub enum Tally {
    Counted(Counts),
    /// There is no file, or none that can be read.
    Unreadable {
        why: String,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    pub tests: u32,
    pub failures: u32,
    pub errors: u32,
    pub skipped: u32,
    pub failed: Names,
    /// Every test by name: what a later tally is compared with.
    pub names: BlobId,
    pub compared: Option<Comparison>,
}

/// What the tests of an earlier tree became.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    pub with: Earlier,
    /// How many tests there were.
    pub tests: u32,
    pub vanished: Names,
    /// Ran then, skipped now.
    pub newly_skipped: Names,
}

/// What landed last was itself compared with what landed before it, and the
/// first with the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Earlier {
    Baseline,
    Accepted,
    /// The other trial of the same gate: what ran there must run in what lands.
    TrustedTerms,
}

/// How many, and the first of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Names {
    pub count: u32,
    pub first: Vec<String>,
}

impl Tally {
    /// Why a check that exited with 0 is red.
    pub fn red_reason(&self) -> Option<RedReason> {
        match self {
            Self::Unreadable { why } => Some(RedReason::TestsFailed { how: why.clone() }),
            Self::Counted(counts) => counts.red_reason(),
        }
    }

    /// The same in words that have no number: judged code can write as many tests as it likes.
    pub fn red_reason_without_numbers(&self) -> Option<RedReason> {
        match (self, self.red_reason()?) {
            (Self::Counted(counts), RedReason::TestsFailed { .. }) if counts.broken() > 0 => {
                let how = format!("its report shows failed tests{}", counts.failed.named());
                Some(RedReason::TestsFailed { how })
            }
            (Self::Counted(_), RedReason::TestsFailed { .. }) => {
                Some(RedReason::TestsFailed { how: "its report has no test that ran".to_owned() })
            }
            (Self::Counted(Counts { compared: Some(compared), .. }), RedReason::TestsVanished { .. }) => {
                let gone = compared.vanished.named() + &compared.newly_skipped.named();
                let how = format!("tests of {} are gone or skipped{gone}", compared.with.words());
                Some(RedReason::TestsVanished { how })
            }
            (_, reason) => Some(reason),
        }
    }

    /// What is left where no number may be told.
    pub fn without_numbers(&self) -> Self {
        match self {
            Self::Unreadable { .. } => self.clone(),
            Self::Counted(counts) => Self::Counted(Counts {
                tests: 0,
                failures: 0,
                errors: 0,
                skipped: 0,
                failed: counts.failed.without_count(),
                compared: None,
                ..counts.clone()
            }),
        }
    }
}

impl Counts {
    fn broken(&self) -> u32 {
        self.failures.saturating_add(self.errors)
    }

    fn red_reason(&self) -> Option<RedReason> {
        let broken = self.broken();
        if broken > 0 {
            let how = format!("its report shows {}{}", failed(broken), self.failed.told());
            return Some(RedReason::TestsFailed { how });
        }
        if self.skipped >= self.tests {
            let how = match self.tests {
                0 => "its report has no test".to_owned(),
                1 => "its one test was skipped".to_owned(),
                tests => format!("all of its {tests} tests were skipped"),
            };
            return Some(RedReason::TestsFailed { how });
        }
        let how = self.compared.as_ref()?.what_is_gone(self.tests)?;
        Some(RedReason::TestsVanished { how })
    }
}

impl Earlier {
    fn words(self) -> &'static str {
        match self {
            Self::Baseline => "the base",
            Self::Accepted => "what landed last",
            Self::TrustedTerms => "the trial on trusted terms",
        }
    }
}

impl Comparison {
    fn what_is_gone(&self, tests: u32) -> Option<String> {
        let then = self.with.words();
        if self.vanished.count > 0 {
            return Some(format!("tests of {then} are gone{}", self.vanished.told()));
        }
        if self.newly_skipped.count > 0 {
            return Some(format!("tests that ran on {then} are skipped{}", self.newly_skipped.told()));
        }
        let left = if tests == 1 { "1 test is".to_owned() } else { format!("{tests} tests are") };
        (tests < self.tests).then(|| format!("{left} left of the {} of {then}", self.tests))
    }
}

impl Names {
    /// How many names are kept, and how long one may be.
    const KEPT: usize = 12;
    const LENGTH: usize = 160;

    pub fn of<'n>(names: impl IntoIterator<Item = &'n str>) -> Self {
        let mut kept = Self::default();
        for name in names {
            kept.count = kept.count.saturating_add(1);
            if kept.first.len() < Self::KEPT {
                let name: String =
                    plain(name).replace(['\n', '\t'], " ").chars().take(Self::LENGTH).collect();
                kept.first.push(name);
            }
        }
        kept
    }

    /// The same, without how many more there are.
    fn named(&self) -> String {
        self.without_count().told()
    }

    fn without_count(&self) -> Self {
        Self { count: self.first.len() as u32, first: self.first.clone() }
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// `: a, b and 3 more`, or nothing where no name is known.
    pub fn told(&self) -> String {
        let first = self.first.join(", ");
        match (self.first.len(), (self.count as usize).saturating_sub(self.first.len())) {
            (0, _) => String::new(),
            (_, 0) => format!(": {first}"),
            (_, more) => format!(": {first} and {more} more"),
        }
    }
}

fn failed(count: u32) -> String {
    if count == 1 { "a failed test".to_owned() } else { format!("{count} failed tests") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Rule;

    fn counts(tests: u32, skipped: u32) -> Counts {
        Counts {
            tests,
            failures: 0,
            errors: 0,
            skipped,
            failed: Names::default(),
            names: BlobId::new("names"),
            compared: None,
        }
    }

    fn words(counts: Counts) -> (String, Option<Rule>) {
        Tally::Counted(counts).red_reason().map(|red| (red.words(), red.rule())).unwrap_or_default()
    }

    #[test]
    fn one_test_is_not_called_tests() {
        assert_eq!(words(counts(1, 1)).0, "exit code 0, but its one test was skipped");
        let with = Earlier::Baseline;
        let compared =
            Comparison { with, tests: 2, vanished: Names::default(), newly_skipped: Names::default() };
        let fewer = Counts { compared: Some(compared), ..counts(1, 0) };
        assert_eq!(words(fewer).0, "exit code 0, but 1 test is left of the 2 of the base");
    }

    #[test]
    fn what_falls_short_is_said() {
        assert_eq!(Tally::Counted(counts(2, 1)).red_reason(), None);
        assert_eq!(words(counts(0, 0)).0, "exit code 0, but its report has no test");
        assert_eq!(words(counts(2, 2)).0, "exit code 0, but all of its 2 tests were skipped");
        let failed = Counts { failures: 1, errors: 1, failed: Names::of(["a", "b"]), ..counts(5, 0) };
        assert_eq!(
            words(failed),
            ("exit code 0, but its report shows 2 failed tests: a, b".to_owned(), None)
        );
        let unreadable = Tally::Unreadable { why: "no file is out.xml".to_owned() };
        assert_eq!(unreadable.red_reason().unwrap().words(), "exit code 0, but no file is out.xml");
    }

    #[test]
    fn fewer_tests_than_before_are_a_finding() {
        let against = |tests, vanished: &[&str], newly_skipped: &[&str]| {
            let (vanished, newly_skipped) =
                (Names::of(vanished.iter().copied()), Names::of(newly_skipped.iter().copied()));
            let compared = Some(Comparison { with: Earlier::Baseline, tests, vanished, newly_skipped });
            words(Counts { compared, ..counts(3, 0) })
        };
        assert_eq!(against(3, &[], &[]), Default::default());
        let rule = Some(Rule::TestsVanished);
        assert_eq!(
            against(3, &["x"], &[]),
            ("exit code 0, but tests of the base are gone: x".to_owned(), rule)
        );
        assert_eq!(
            against(3, &[], &["y"]),
            ("exit code 0, but tests that ran on the base are skipped: y".to_owned(), rule)
        );
        assert_eq!(against(9, &[], &[]).0, "exit code 0, but 3 tests are left of the 9 of the base");
    }

    #[test]
    fn names_are_bounded_and_safe() {
        let many: Vec<String> = (0..100).map(|n| format!("t\u{1b}[31m{n}\n{}", "x".repeat(1000))).collect();
        let names = Names::of(many.iter().map(String::as_str));
        assert_eq!((names.count, names.first.len()), (100, Names::KEPT));
        assert!(names.first.iter().all(|name| name.len() <= Names::LENGTH && !name.contains('\u{1b}')));
        assert!(names.told().ends_with(" and 88 more"));
    }
}
