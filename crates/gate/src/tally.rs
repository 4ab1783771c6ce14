//! The tests of a check, counted, and compared with those of an earlier tree.

use std::collections::BTreeMap;

use windlass_core::id::BlobId;
use windlass_core::tally::{Comparison, Counts, Earlier, Names};

use crate::junit::{self, Case, CaseParts, Cases, End};

/// What the files of one check say together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counted {
    cases: Cases,
}

impl Counted {
    /// The error completes "the check exited with 0, but".
    pub fn of(files: &[(String, Vec<u8>)]) -> Result<Self, String> {
        let mut cases = Cases::default();
        for (path, bytes) in files {
            junit::read(bytes, &mut cases).map_err(|what| format!("{path} {what}"))?;
        }
        cases.cases.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(Self { cases })
    }

    /// Those that failed, in the words of their file.
    pub fn failed(self) -> impl Iterator<Item = CaseParts> {
        let failed = |case: &Case| matches!(case.end, End::Failed | End::Errored);
        self.cases.cases.into_iter().filter(failed).map(|case| case.parts)
    }

    /// The failed tests by name, in order.
    pub fn failed_names(&self) -> Vec<String> {
        let broken = self.cases.cases.iter().filter(|case| matches!(case.end, End::Failed | End::Errored));
        broken.map(|case| case.name.clone()).collect()
    }

    /// Every test on a line of its own, in order: `s` where it was skipped and `r` where it ran, a blank, its
    /// name. Equal tests give equal text.
    pub fn names(&self) -> String {
        let mut text = String::new();
        for case in &self.cases.cases {
            text.push_str(if case.end == End::Skipped { "s " } else { "r " });
            text.push_str(&case.name);
            text.push('\n');
        }
        text
    }

    /// As the core takes it; `names` is where the caller stored [`Self::names`], and `earlier` is such a text.
    pub fn counts(&self, names: BlobId, earlier: Option<(Earlier, &str)>) -> Counts {
        let of = |end: End| self.cases.cases.iter().filter(move |case| case.end == end);
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let broken = self.cases.cases.iter().filter(|case| matches!(case.end, End::Failed | End::Errored));
        Counts {
            tests: number(self.cases.cases.len()),
            failures: number(of(End::Failed).count()).max(self.cases.failures),
            errors: number(of(End::Errored).count()).max(self.cases.errors),
            skipped: number(of(End::Skipped).count()),
            failed: Names::of(broken.map(|case| case.name.as_str())),
            names,
            compared: earlier.map(|(with, text)| compare_names(with, text, &self.names())),
        }
    }
}

/// What became of the tests of one text, as [`Counted::names`] makes it, in another.
pub fn compare_names(with: Earlier, then: &str, now: &str) -> Comparison {
    let (before, after) = (by_name(then), by_name(now));
    let vanished = before.keys().filter(|name| !after.contains_key(*name)).copied();
    let skipped = before.iter().filter(|(name, ran)| **ran && after.get(*name) == Some(&false));
    Comparison {
        with,
        tests: u32::try_from(then.lines().count()).unwrap_or(u32::MAX),
        vanished: Names::of(vanished),
        newly_skipped: Names::of(skipped.map(|(name, _)| *name)),
    }
}

/// Of these tests, those that the first such text does not name and that ran in the second.
pub fn new_and_run<'n>(names: &'n [String], before: &str, after: &str) -> Vec<&'n str> {
    let (before, after) = (by_name(before), by_name(after));
    let is_it = |name: &&str| !before.contains_key(name) && after.get(name) == Some(&true);
    names.iter().map(String::as_str).filter(is_it).collect()
}

/// Whether any test of that name ran.
fn by_name(text: &str) -> BTreeMap<&str, bool> {
    let mut names = BTreeMap::new();
    for (state, name) in text.lines().filter_map(|line| line.split_once(' ')) {
        *names.entry(name).or_insert(false) |= state == "r";
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_that_was_there_or_is_skipped_is_not_new() {
        let failed = ["old", "new", "skipped", "gone"].map(str::to_owned);
        let found = new_and_run(&failed, "r old\n", "r old\nr new\ns skipped\n");
        assert_eq!(found, ["new"]);
    }
}
