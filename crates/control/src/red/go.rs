//! `go test`, plain, with `-v` and with `-json`.

use std::collections::BTreeSet;

use super::{FailedCase, Sureness, add_up};
use crate::BrokenTest;

#[derive(Debug, Default)]
pub(super) struct Failures {
    /// With the package, once it is printed.
    tests: Vec<(String, Option<String>)>,
    packages: BTreeSet<String>,
}

pub(super) fn read(lines: &[String]) -> Failures {
    let mut failures = Failures::default();
    let mut waiting = Vec::new();
    for line in lines {
        let text = line.trim_start();
        if let Some(rest) = text.strip_prefix("--- FAIL: ") {
            waiting.extend(rest.split(' ').next().map(str::to_owned));
        } else if let Some(package) = package(line) {
            let done = waiting.drain(..).map(|test| (test, Some(package.to_owned())));
            failures.tests.extend(done);
            failures.packages.insert(package.to_owned());
        } else if line.starts_with('{') && line.contains("\"Action\":\"fail\"") {
            let test = json_text(line, "Test").map(str::to_owned);
            failures.tests.extend(test.map(|test| (test, json_text(line, "Package").map(str::to_owned))));
            failures.packages.extend(json_text(line, "Package").map(str::to_owned));
        }
    }
    failures.tests.extend(waiting.into_iter().map(|test| (test, None)));
    failures
}

/// Of `FAIL<tab>package<tab>0.1s` and `ok  <tab>package<tab>…`, printed when its tests have ended.
fn package(line: &str) -> Option<&str> {
    let (word, rest) = line.split_once('\t')?;
    matches!(word.trim_end(), "FAIL" | "ok" | "?").then(|| rest.split(['\t', ' ']).next())?
}

fn json_text<'l>(line: &'l str, key: &str) -> Option<&'l str> {
    let (_, rest) = line.split_once(&format!("\"{key}\":\""))?;
    rest.split('"').next()
}

pub(super) fn sureness(test: &BrokenTest, failures: &Failures) -> Sureness {
    add_up(failures.tests.iter().map(|(printed, package)| match package {
        _ if !names(printed, test) => Sureness::No,
        None => Sureness::ByNameOnly(1),
        Some(package) if is_package_of(package, test, &failures.packages) => Sureness::Yes,
        Some(_) => Sureness::No,
    }))
}

/// The test itself, one of its subtests, or a method of a suite that is run as a subtest.
fn names(printed: &str, test: &BrokenTest) -> bool {
    test.name.last().is_some_and(|name| printed.split('/').take(2).any(|part| name.matches(part)))
}

/// A package is named by its module and directory. Only the shortest can be the root's.
fn is_package_of(package: &str, test: &BrokenTest, all: &BTreeSet<String>) -> bool {
    match test.file.rsplit_once('/') {
        Some((directory, _)) => {
            package.strip_suffix(directory).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
        }
        None => all.iter().all(|other| package.len() <= other.len()),
    }
}

pub(super) fn in_case(test: &BrokenTest, case: &FailedCase) -> Sureness {
    let all = BTreeSet::new();
    let fits = names(&case.name, test) && is_package_of(&case.class, test, &all);
    if fits { Sureness::Yes } else { Sureness::No }
}
