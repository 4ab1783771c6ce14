//! pytest and unittest.

use super::places::same_file;
use super::{FailedCase, Sureness, add_up};
use crate::BrokenTest;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Failure {
    /// `Class.method` or `function`; what stands in brackets behind it is left out.
    name: String,
    place: Place,
}

#[derive(Debug, PartialEq, Eq)]
enum Place {
    File(String),
    /// With dots, as far as the class.
    Module(String),
    Unknown,
}

pub(super) fn read(lines: &[String]) -> Vec<Failure> {
    let mut failures: Vec<Failure> =
        lines.iter().filter_map(|line| node_id(line).or_else(|| unittest(line))).collect();
    // A heading does not say its file: only where there is no summary.
    if failures.is_empty() {
        failures = lines.iter().filter_map(|line| heading(line)).collect();
    }
    failures
}

/// `FAILED tests/test_a.py::TestX::test_y[1] - assert …`, also with the word behind it.
fn node_id(line: &str) -> Option<Failure> {
    let separator = line.find(".py::")?;
    let begin = line[..separator].rfind(char::is_whitespace).map_or(0, |space| space + 1);
    let (before, id) = line.split_at(begin);
    let names = &id[separator - begin + ".py::".len()..];
    let end = names.find(|c: char| c == '[' || c.is_whitespace()).unwrap_or(names.len());
    let (name, mut behind) = names.split_at(end);
    if behind.starts_with('[') {
        // Values may have brackets and spaces in them.
        behind = behind.rfind(']').map_or("", |close| &behind[close + 1..]);
        behind = if behind.is_empty() { &names[end..] } else { behind };
    }
    let red = |word: &str| matches!(word, "FAILED" | "ERROR") || word.starts_with("SUBFAIL");
    let verbose = names[end..].split_whitespace().any(|word| matches!(word, "FAILED" | "ERROR"));
    let told = before.split_whitespace().any(red)
        || behind.split_whitespace().next().is_some_and(red)
        || before.trim().is_empty() && verbose && line.trim_end().ends_with("%]");
    told.then(|| Failure {
        name: name.replace("::", "."),
        place: Place::File(id[..separator - begin + ".py".len()].to_owned()),
    })
}

/// `FAIL: test_x (tests.test_a.Class.test_x) (i=1)`; before 3.11 without the method.
fn unittest(line: &str) -> Option<Failure> {
    let rest = line.strip_prefix("FAIL: ").or_else(|| line.strip_prefix("ERROR: "))?;
    let (method, rest) = rest.split_once(" (")?;
    let (dotted, _) = rest.split_once(')')?;
    let class = dotted.strip_suffix(method).and_then(|class| class.strip_suffix('.')).unwrap_or(dotted);
    let full = format!("{class}.{method}");
    Some(match full.strip_prefix("__main__.") {
        Some(name) => Failure { name: name.to_owned(), place: Place::Unknown },
        None => Failure { name: full.clone(), place: Place::Module(full) },
    })
}

/// `______ TestX.test_y[1] ______`
fn heading(line: &str) -> Option<Failure> {
    let inside = line.strip_prefix("__")?.trim_matches('_').trim();
    let inside = inside.strip_prefix("ERROR at setup of ").unwrap_or(inside);
    let name = inside.split(['[', ' ']).next().filter(|name| !name.is_empty())?;
    line.ends_with("__").then(|| Failure { name: name.to_owned(), place: Place::Unknown })
}

pub(super) fn sureness(test: &BrokenTest, failures: &[Failure]) -> Sureness {
    if is_inherited(test) {
        let same = failures.iter().filter(|failure| has_method(&failure.name, test));
        return add_up(same.map(|_| Sureness::ByNameOnly(1)));
    }
    let name = name_of(test);
    add_up(failures.iter().map(|failure| match &failure.place {
        Place::File(file) if failure.name == name && same_file(file, &test.file) => Sureness::Yes,
        Place::Module(full) if is_dotted(full, test, &name) => Sureness::Yes,
        Place::Unknown if failure.name == name => Sureness::ByNameOnly(1),
        Place::File(_) | Place::Module(_) | Place::Unknown => Sureness::No,
    }))
}

/// Whether it runs only as the test of another class, perhaps in another file.
fn is_inherited(test: &BrokenTest) -> bool {
    test.name.iter().any(|part| !part.is_known())
}

fn has_method(printed: &str, test: &BrokenTest) -> bool {
    let method = printed.rsplit_once('.').map(|(_, method)| method);
    test.name.last().is_some_and(|name| method.is_some_and(|method| name.matches(method)))
}

fn name_of(test: &BrokenTest) -> String {
    let parts: Vec<String> = test.name.iter().map(ToString::to_string).collect();
    parts.join(".")
}

/// Whether a name with dots is that of the test, whichever directory its module begins at.
fn is_dotted(full: &str, test: &BrokenTest, name: &str) -> bool {
    let module = test.file.strip_suffix(".py").unwrap_or(&test.file).replace('/', ".");
    let whole = format!("{module}.{name}");
    let ends = |long: &str, short: &str| {
        long.strip_suffix(short).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    let has_module = full.matches('.').count() > name.matches('.').count();
    has_module && (ends(full, &whole) || ends(&whole, full))
}

pub(super) fn in_case(test: &BrokenTest, case: &FailedCase) -> Sureness {
    let own = case.name.split('[').next().unwrap_or_default().trim();
    let full = format!("{}.{own}", case.class);
    if is_inherited(test) {
        return if has_method(&full, test) { Sureness::ByNameOnly(1) } else { Sureness::No };
    }
    if is_dotted(&full, test, &name_of(test)) { Sureness::Yes } else { Sureness::No }
}
