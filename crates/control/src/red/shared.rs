//! Tests that a runner cannot tell apart by what it prints: of two definitions with one name in
//! one file the later hides the earlier, and its failure says nothing of the other.

use std::collections::BTreeMap;

use crate::{BrokenTest, TitlePart};

/// Those that have a file and a name in common with another one. One failure that is printed
/// shows one of them: each is to be broken without the others.
pub fn sharing_a_name(tests: &[BrokenTest]) -> Vec<&BrokenTest> {
    let all: Vec<&BrokenTest> = tests.iter().collect();
    among(&all).into_iter().zip(all).filter(|(is_shared, _)| *is_shared).map(|(_, test)| test).collect()
}

/// Of each of them, in their order.
pub(super) fn among(tests: &[&BrokenTest]) -> Vec<bool> {
    let mut files: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, test) in tests.iter().enumerate() {
        files.entry(&test.file).or_default().push(at);
    }
    let mut shared = vec![false; tests.len()];
    for inside in files.values() {
        let mut written: BTreeMap<String, usize> = BTreeMap::new();
        for at in inside {
            if let Some(earlier) = written.insert(super::full_name(tests[*at]), *at) {
                (shared[earlier], shared[*at]) = (true, true);
            }
        }
        // A class that is only inherited from runs under the names of others.
        for one in inside.iter().filter(|at| is_computed(tests[**at])) {
            for other in inside.iter().filter(|at| !is_computed(tests[**at])) {
                if fits(tests[*one], tests[*other]) {
                    (shared[*one], shared[*other]) = (true, true);
                }
            }
        }
    }
    shared
}

fn is_computed(test: &BrokenTest) -> bool {
    let last_is_known = test.name.last().is_some_and(TitlePart::is_known);
    last_is_known && !test.name.iter().all(TitlePart::is_whole)
}

fn fits(computed: &BrokenTest, written: &BrokenTest) -> bool {
    let parts = computed.name.iter().zip(&written.name);
    computed.name.len() == written.name.len()
        && parts.into_iter().all(|(one, other)| one.matches(&other.to_string()))
}
