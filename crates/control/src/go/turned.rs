//! A check of a test in the opposite sense.

use tree_sitter::Node;

use super::expected::is_failure;
use super::statements;
use crate::syntax::text;
use crate::turned::{Turned, opposite};

const OPERATORS: &[(&str, &str)] = &[("==", "!=")];
/// Of testify.
const PAIRS: &[(&str, &str)] = &[
    ("Equal", "NotEqual"),
    ("True", "False"),
    ("Nil", "NotNil"),
    ("Error", "NoError"),
    ("Contains", "NotContains"),
    ("Empty", "NotEmpty"),
    ("Panics", "NotPanics"),
    ("Zero", "NotZero"),
];

/// Of a statement of the outermost level.
pub(super) fn turned(statement: Node<'_>, source: &[u8]) -> Option<Turned> {
    match statement.kind() {
        "if_statement" => checked(statement, source),
        "expression_statement" => {
            let call = statement.named_child(0).filter(|node| node.kind() == "call_expression")?;
            let function =
                call.child_by_field_name("function").filter(|node| node.kind() == "selector_expression")?;
            let package = text(function.child_by_field_name("operand")?, source);
            let name = function.child_by_field_name("field")?;
            let other = opposite(PAIRS, &text(name, source))?;
            matches!(&*package, "assert" | "require").then(|| Turned::renamed(call, name, other))
        }
        _ => None,
    }
}

/// `if got != want { t.Error(…) }`: the failure is the first thing that is done.
fn checked(statement: Node<'_>, source: &[u8]) -> Option<Turned> {
    let condition = statement.child_by_field_name("condition")?;
    let consequence = statement.child_by_field_name("consequence")?;
    let fails = statements(consequence).first().is_some_and(|first| is_failure(*first, source));
    if !fails || statement.child_by_field_name("alternative").is_some() {
        return None;
    }
    let operator =
        condition.child_by_field_name("operator").filter(|_| condition.kind() == "binary_expression");
    let other = operator.and_then(|operator| Some((operator, opposite(OPERATORS, operator.kind())?)));
    Some(match other {
        Some((operator, other)) => Turned::renamed(condition, operator, other),
        None => Turned::negated(condition, condition.byte_range(), "!("),
    })
}
