//! node's own runner (spec, TAP, dot), jest, vitest and mocha.

mod indented;

use super::places::same_file;
use super::{FailedCase, Sureness, add_up};
use crate::{BrokenTest, TitlePart};

/// Between the titles of a failure whose parts are known.
const PART: &str = "\u{1f}";

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Failure {
    /// The titles from the outermost.
    path: String,
    between: &'static str,
    file: Option<String>,
    extent: Extent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    /// Every title above it is printed.
    Whole,
    /// Only its own.
    LastTitle,
}

pub(super) fn read(lines: &[String]) -> Vec<Failure> {
    let mut failures = indented::tap(lines);
    failures.extend(indented::spec(lines));
    failures.extend(indented::mocha(lines));
    failures.extend(jest(lines));
    failures.extend(vitest(lines));
    failures.extend(dot(lines));
    failures
}

/// `● outer › inner › title` below `FAIL path`.
fn jest(lines: &[String]) -> Vec<Failure> {
    let mut failures = Vec::new();
    let mut file = None;
    for line in lines {
        if let Some(path) = line.trim_start().strip_prefix("FAIL ") {
            let path = path.trim_start();
            // With the time behind it, and the name of a project before it.
            let path = path.split(" (").next().unwrap_or(path);
            file = path.split_whitespace().next_back().map(str::to_owned);
        }
        if let Some(titles) = line.strip_prefix("  ● ") {
            failures.push(Failure {
                path: titles.trim_end().to_owned(),
                between: " › ",
                file: file.clone(),
                extent: Extent::Whole,
            });
        }
    }
    failures
}

/// `FAIL  path > outer > title`.
fn vitest(lines: &[String]) -> Vec<Failure> {
    let marked = lines.iter().filter_map(|line| line.trim_start().strip_prefix("FAIL "));
    let failure = |rest: &str| {
        let (file, titles) = rest.split_once(" > ")?;
        let file = file.split_whitespace().next_back()?.to_owned();
        Some(Failure {
            path: titles.trim_end().to_owned(),
            between: " > ",
            file: Some(file),
            extent: Extent::Whole,
        })
    };
    marked.filter_map(failure).collect()
}

/// `✖ title (1.2ms)` below `Failed tests:`.
fn dot(lines: &[String]) -> Vec<Failure> {
    let below = lines.iter().skip_while(|line| line.as_str() != "Failed tests:");
    below
        .filter_map(|line| line.strip_prefix("✖ "))
        .map(|title| Failure {
            path: indented::without_time(title).to_owned(),
            between: PART,
            file: None,
            extent: Extent::LastTitle,
        })
        .collect()
}

pub(super) fn sureness(test: &BrokenTest, failures: &[Failure]) -> Sureness {
    if !test.name.last().is_some_and(TitlePart::is_known) {
        return Sureness::No;
    }
    add_up(failures.iter().map(|failure| {
        let names = match failure.extent {
            Extent::Whole => test.name.as_slice(),
            Extent::LastTitle => &test.name[test.name.len() - 1..],
        };
        let file = failure.file.as_ref().map(|file| same_file(file, &test.file));
        match (fits(names, &failure.path, failure.between), file) {
            (true, Some(true)) => Sureness::Yes,
            (true, None) => Sureness::ByNameOnly(1),
            (true, Some(false)) | (false, _) => Sureness::No,
        }
    }))
}

/// Whether the printed titles end with those of the test.
fn fits(names: &[TitlePart], printed: &str, between: &str) -> bool {
    let pattern = TitlePart::joined(names, between);
    let ends = printed.match_indices(between).map(|(at, _)| &printed[at + between.len()..]);
    std::iter::once(printed).chain(ends).any(|end| pattern.matches(end))
}

/// Reporters differ in how they join titles, and in whether they do.
pub(super) fn in_case(test: &BrokenTest, case: &FailedCase) -> Sureness {
    if !test.name.last().is_some_and(TitlePart::is_known) {
        return Sureness::No;
    }
    let whole = [" > ", " › ", " "].iter().any(|between| fits(&test.name, &case.name, between));
    let last = fits(&test.name[test.name.len() - 1..], &case.name, PART);
    let has_file = case.class.contains('/') || case.class.contains(".test.") || case.class.contains(".spec.");
    match (whole || last, has_file) {
        (true, true) if same_file(&case.class, &test.file) => Sureness::Yes,
        (true, false) => Sureness::ByNameOnly(1),
        (true, true) | (false, _) => Sureness::No,
    }
}
