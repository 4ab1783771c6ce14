//! An assertion of a test in the opposite sense.

use tree_sitter::Node;

use super::TestFile;
use crate::broken::Edit;
use crate::syntax::{named_children, text};
use crate::turned::{Turned, opposite};

const PAIRS: &[(&str, &str)] = &[
    ("assertTrue", "assertFalse"),
    ("assertEqual", "assertNotEqual"),
    ("assertAlmostEqual", "assertNotAlmostEqual"),
    ("assertIs", "assertIsNot"),
    ("assertIsNone", "assertIsNotNone"),
    ("assertIn", "assertNotIn"),
    ("assertIsInstance", "assertNotIsInstance"),
    ("assertRegex", "assertNotRegex"),
    ("assertGreater", "assertLessEqual"),
    ("assertLess", "assertGreaterEqual"),
];

const RAISING: &[&str] = &["pytest.raises", "raises", "self.assertRaises", "self.assertRaisesRegex"];

/// Nobody expects them, and no class of another library is one of them.
const UNEXPECTED: &[&str] = &[
    "BufferError",
    "UnicodeTranslateError",
    "FloatingPointError",
    "StopAsyncIteration",
    "BytesWarning",
    "ImportWarning",
    "UnicodeWarning",
];

/// Parts of the names of exceptions that skip the test or end the whole run where nothing takes
/// them, in small letters. `SystemExit` does neither: pytest and unittest report it as a failure.
const NO_FAILURES: &[&str] = &["skip", "xfail", "keyboardinterrupt", "exit.exception"];

/// Those that a file does not name.
pub(super) fn unexpected(source: &[u8]) -> Vec<&'static str> {
    let whole = String::from_utf8_lossy(source);
    UNEXPECTED.iter().copied().filter(|name| !whole.contains(name)).collect()
}

/// Of a statement of the outermost level.
pub(super) fn turned(statement: Node<'_>, file: &TestFile<'_>) -> Option<Turned> {
    match statement.kind() {
        "assert_statement" => {
            Some(Turned::negated(statement, statement.named_child(0)?.byte_range(), "not ("))
        }
        "expression_statement" => called(statement.named_child(0)?, file),
        "with_statement" => {
            let clause = named_children(statement).into_iter().find(|node| node.kind() == "with_clause")?;
            let items = named_children(clause);
            let [item] = items.as_slice() else { return None };
            let value = item.child_by_field_name("value")?;
            let call = if value.kind() == "as_pattern" { value.named_child(0)? } else { value };
            raising(call, file)
        }
        _ => None,
    }
}

fn called(call: Node<'_>, file: &TestFile<'_>) -> Option<Turned> {
    let function = call.child_by_field_name("function").filter(|_| call.kind() == "call")?;
    let name = text(function, file.source);
    if name == "self.assertCountEqual" {
        return one_more(call);
    }
    let other = name.strip_prefix("self.").and_then(|method| opposite(PAIRS, method));
    match other {
        Some(other) => Some(Turned::renamed(call, function.child_by_field_name("attribute")?, other)),
        None => raising(call, file),
    }
}

/// Where the order is free nothing is opposite: one item more is expected.
fn one_more(call: Node<'_>) -> Option<Turned> {
    let arguments = named_children(call.child_by_field_name("arguments")?);
    let expected = arguments
        .get(1)
        .filter(|node| !node.kind().ends_with("_splat") && node.kind() != "keyword_argument")?;
    let (before, after) = ("[*(", "), None]");
    let edits = vec![Edit::insert(expected.start_byte(), before), Edit::insert(expected.end_byte(), after)];
    Some(Turned::of(call, edits))
}

/// Another exception is expected than the one that is raised.
fn raising(call: Node<'_>, file: &TestFile<'_>) -> Option<Turned> {
    let function = call.child_by_field_name("function").filter(|_| call.kind() == "call")?;
    let arguments = named_children(call.child_by_field_name("arguments")?);
    let expected = arguments.first().filter(|_| RAISING.contains(&&*text(function, file.source)))?;
    let is_name = matches!(expected.kind(), "identifier" | "attribute" | "tuple");
    if !is_name || may_be_no_failure(&text(*expected, file.source)) {
        return None;
    }
    let at = call.start_byte().checked_rem(file.unexpected.len())?;
    let unexpected = file.unexpected.get(at)?;
    Some(Turned::renamed(call, *expected, unexpected))
}

/// Whether one of the exceptions would not turn the test red. A `BaseException` may be any of them.
fn may_be_no_failure(expected: &str) -> bool {
    let small = expected.to_ascii_lowercase();
    let mut names = expected.split(|c: char| !c.is_alphanumeric() && c != '_');
    NO_FAILURES.iter().any(|part| small.contains(part))
        || names.any(|name| matches!(name, "BaseException" | "Exit"))
}
