//! An assertion of a test in the opposite sense.

use tree_sitter::Node;

use super::TestFile;
use super::expected::{arguments, whole};
use crate::syntax::{named_children, text};
use crate::turned::{Turned, opposite};

const PAIRS: &[(&str, &str)] = &[("assert_eq", "assert_ne")];

/// The compiler learns the type of their value from what takes it.
const UNTYPED: &[&str] = &["into()", "parse()", "default()", "sum()", "product()", "collect()"];

/// Those of the assertions in pairs that a file imports.
pub(super) fn imported(source: &[u8]) -> Vec<&'static str> {
    let all = String::from_utf8_lossy(source);
    let has_all = all.contains("pretty_assertions");
    let names = PAIRS.iter().flat_map(|(one, other)| [*one, *other]);
    names.filter(|name| has_all || all.contains(&format!("::{name};"))).collect()
}

/// Of an expression of the outermost level.
pub(super) fn turned(call: Node<'_>, file: &TestFile<'_>) -> Option<Turned> {
    let name = call.child_by_field_name("macro").filter(|_| call.kind() == "macro_invocation")?;
    let written = text(name, file.source);
    if written == "assert" {
        let tokens = named_children(call).into_iter().find(|node| node.kind() == "token_tree")?;
        return holds(call, tokens, file.source);
    }
    let other = opposite(PAIRS, &written)?;
    // An import that is used no more may be an error.
    (!file.imported.contains(&&*written)).then(|| Turned::renamed(call, name, other))
}

fn holds(call: Node<'_>, tokens: Node<'_>, source: &[u8]) -> Option<Turned> {
    let sides = arguments(tokens);
    let condition = sides.first()?;
    let range = whole(condition)?;
    let written = String::from_utf8_lossy(source.get(range.clone())?);
    // A comma between types, or between the parameters of a closure, ends no argument.
    let is_whole = sides.len() == 1 || !written.contains(['<', '|']);
    let is_typed = !UNTYPED.iter().any(|call| written.contains(call));
    (is_whole && is_typed).then(|| Turned::negated(call, range, "!("))
}
