//! `cargo test` and nextest.

use std::collections::{BTreeMap, BTreeSet};

use super::places::same_file;
use super::{FailedCase, Sureness};
use crate::BrokenTest;

#[derive(Debug, Default)]
pub(super) struct Failures {
    names: BTreeSet<String>,
    /// In which files a test of this name panicked, or failed to.
    files: BTreeMap<String, BTreeSet<String>>,
}

pub(super) fn read(lines: &[String]) -> Failures {
    let mut failures = Failures::default();
    let mut in_list = false;
    let mut heading: Option<&str> = None;
    for line in lines {
        let text = line.trim();
        let listed = in_list && line.starts_with("    ") && !text.is_empty() && !text.contains(' ');
        in_list = text == "failures:" || listed;
        if let Some(name) = named(text).or(listed.then_some(text)) {
            failures.names.insert(name.to_owned());
        }
        if let Some(name) = text.strip_prefix("---- ").and_then(|rest| rest.split(' ').next()) {
            failures.names.insert(name.to_owned());
            heading = Some(name);
        }
        let place = panicked(text).or_else(|| {
            let place = text.strip_prefix("note: test did not panic as expected at ")?;
            Some((heading?, place))
        });
        if let Some((name, place)) = place {
            let file = place.split(':').next().unwrap_or(place);
            failures.files.entry(name.to_owned()).or_default().insert(file.to_owned());
        }
    }
    failures
}

/// `test a::b - should panic ... FAILED`, or `FAIL [ 0.1s] (1/2) binary a::b` of nextest.
fn named(text: &str) -> Option<&str> {
    if let Some(rest) = text.strip_prefix("test ") {
        return rest.strip_suffix(" ... FAILED").and_then(|name| name.split(' ').next());
    }
    let failed = text.strip_prefix("FAIL [").or_else(|| text.strip_prefix("TIMEOUT ["))?;
    failed.split_whitespace().next_back()
}

/// `thread 'a::b' (123) panicked at src/a.rs:1:2:`
fn panicked(text: &str) -> Option<(&str, &str)> {
    let (name, rest) = text.strip_prefix("thread '")?.split_once('\'')?;
    let (_, place) = rest.split_once("panicked at ")?;
    Some((name, place))
}

pub(super) fn sureness(test: &BrokenTest, failures: &Failures) -> Sureness {
    let inner = inner_name(test);
    let fitting = failures.names.iter().filter(|printed| has_path(printed, &inner));
    let one = fitting.map(|printed| match failures.files.get(printed.as_str()) {
        Some(files) if files.iter().any(|file| same_file(file, &test.file)) => Sureness::Yes,
        // A panic inside the product still fails the test of this whole path.
        Some(_) | None if is_whole(printed, test, &inner) => Sureness::ByNameOnly(1),
        Some(_) | None => Sureness::No,
    });
    one.max().unwrap_or(Sureness::No)
}

fn inner_name(test: &BrokenTest) -> String {
    let parts: Vec<String> = test.name.iter().map(ToString::to_string).collect();
    parts.join("::")
}

/// Whether the names are in the path one after the other; the cases of a table follow them.
fn has_path(printed: &str, inner: &str) -> bool {
    let (printed, inner) = (format!("::{printed}::"), format!("::{inner}::"));
    printed.contains(&inner)
}

/// Whether it is the path by the place of the file. A file of tests may be a module of any other.
fn is_whole(printed: &str, test: &BrokenTest, inner: &str) -> bool {
    let Some(modules) = modules_of(&test.file) else { return true };
    let whole = modules.iter().map(String::as_str).chain([inner]).collect::<Vec<_>>().join("::");
    printed == whole || printed.starts_with(&format!("{whole}::"))
}

/// `a`, `b` of `crates/x/src/a/b.rs`.
fn modules_of(file: &str) -> Option<Vec<String>> {
    let names: Vec<&str> = file.strip_suffix(".rs")?.split('/').collect();
    let src = names.iter().rposition(|name| *name == "src")?;
    let mut modules: Vec<String> = names[src + 1..].iter().map(|name| (*name).to_owned()).collect();
    if modules.first().is_some_and(|name| name == "bin") {
        return None;
    }
    if modules.last().is_some_and(|name| matches!(name.as_str(), "mod" | "lib" | "main")) {
        modules.pop();
    }
    Some(modules)
}

pub(super) fn in_case(test: &BrokenTest, case: &FailedCase) -> Sureness {
    let inner = inner_name(test);
    let fits = has_path(&case.name, &inner) && is_whole(&case.name, test, &inner);
    if fits { Sureness::ByNameOnly(1) } else { Sureness::No }
}
