//! A check of a test in the opposite sense.

use tree_sitter::Node;

use super::expected::is_failure;
use super::{Scope, statements};
use crate::syntax::{named_children, text};
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

/// The names that a file gives them. Other packages named `assert` have other assertions.
pub(super) fn packages_of_testify(root: Node<'_>, source: &[u8]) -> Vec<String> {
    let declarations = named_children(root).into_iter().filter(|node| node.kind() == "import_declaration");
    let specs = declarations.flat_map(named_children).flat_map(|node| match node.kind() {
        "import_spec_list" => named_children(node),
        _ => vec![node],
    });
    specs.filter_map(|spec| package_of_testify(spec, source)).collect()
}

fn package_of_testify(spec: Node<'_>, source: &[u8]) -> Option<String> {
    let path = text(spec.child_by_field_name("path")?, source);
    let path = path.trim_matches(['"', '`']);
    let own = path.rsplit('/').next().filter(|own| matches!(*own, "assert" | "require"))?;
    let given = spec.child_by_field_name("name").map(|name| text(name, source).into_owned());
    path.contains("stretchr/testify").then(|| given.unwrap_or_else(|| own.to_owned()))
}

/// Of a statement of the outermost level.
pub(super) fn turned(statement: Node<'_>, scope: &Scope<'_>) -> Option<Turned> {
    let source = scope.source;
    match statement.kind() {
        "if_statement" => checked(statement, scope),
        "expression_statement" => {
            let call = statement.named_child(0).filter(|node| node.kind() == "call_expression")?;
            let function =
                call.child_by_field_name("function").filter(|node| node.kind() == "selector_expression")?;
            let package = text(function.child_by_field_name("operand")?, source);
            let name = function.child_by_field_name("field")?;
            let other = opposite(PAIRS, &text(name, source))?;
            scope.testify.iter().any(|own| *own == package).then(|| Turned::renamed(call, name, other))
        }
        _ => None,
    }
}

/// `if got != want { t.Error(…) }`: the failure is the first thing that is done.
fn checked(statement: Node<'_>, scope: &Scope<'_>) -> Option<Turned> {
    let condition = statement.child_by_field_name("condition")?;
    let consequence = statement.child_by_field_name("consequence")?;
    let fails = statements(consequence).first().is_some_and(|first| is_failure(*first, scope));
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
