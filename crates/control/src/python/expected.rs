//! The literal that an assertion expects, where the assertion is surely executed.

use tree_sitter::Node;

use super::turned::turned;
use super::{FUNCTIONS, TestFile, leave};
use crate::literal::{Changeable, Expected};
use crate::syntax::{contains, named_children, text};

/// Calls that compare their first two arguments.
const EQUALITIES: &[&str] = &[
    "self.assertEqual",
    "self.assertEquals",
    "self.assertListEqual",
    "self.assertTupleEqual",
    "self.assertDictEqual",
    "self.assertSetEqual",
    "self.assertMultiLineEqual",
];

/// Managers known to let every exception out.
const TRANSPARENT: &[&str] = &["open", "patch", "subTest", "TemporaryDirectory", "NamedTemporaryFile"];

/// Of each suitable assertion.
pub(super) fn changeable(body: Node<'_>, file: &TestFile<'_>) -> Changeable {
    let source = file.source;
    let mut found = Changeable::default();
    for statement in named_children(body) {
        let inside = statement.named_child(0);
        let literal = match statement.kind() {
            "assert_statement" => inside.and_then(|node| compared(node, source)),
            "expression_statement" | "return_statement" => inside.and_then(|call| equality(call, source)),
            _ => None,
        };
        found.add(literal, turned(statement, file));
        if statement.kind() == "with_statement"
            && lets_out(statement, source)
            && let Some(body) = statement.child_by_field_name("body")
        {
            found.add_all(changeable(body, file));
        }
        // What comes after a way out may never be reached by a test that passes.
        if leave::leaves(statement, source).is_some() || has_way_out(statement, source) {
            break;
        }
    }
    found
}

fn has_way_out(statement: Node<'_>, source: &[u8]) -> bool {
    let leaves = |node: Node<'_>| {
        node.kind() == "return_statement"
            || node.kind() == "call" && {
                let function = node.child_by_field_name("function");
                let called = function.map(|function| text(function, source)).unwrap_or_default();
                called.ends_with("skip") || called.ends_with("skipTest") || called.ends_with("xfail")
            }
    };
    contains(statement, &leaves, FUNCTIONS)
}

fn lets_out(with: Node<'_>, source: &[u8]) -> bool {
    let Some(clause) = named_children(with).into_iter().find(|node| node.kind() == "with_clause") else {
        return false;
    };
    named_children(clause).into_iter().all(|item| {
        let written = text(item, source);
        let called = written.split('(').next().unwrap_or_default();
        TRANSPARENT.contains(&called.rsplit('.').next().unwrap_or_default())
            || called.ends_with("patch.object")
            || called.ends_with("patch.dict")
    })
}

/// One side of `==`, or of any comparison that is joined by `and`.
fn compared(expression: Node<'_>, source: &[u8]) -> Option<Expected> {
    match expression.kind() {
        "parenthesized_expression" => compared(expression.named_child(0)?, source),
        "boolean_operator" => {
            let operator = expression.child_by_field_name("operator")?;
            let (left, right) =
                (expression.child_by_field_name("left")?, expression.child_by_field_name("right")?);
            // The right side of an `and` is reached whenever the left one holds.
            (operator.kind() == "and").then(|| compared(right, source).or_else(|| compared(left, source)))?
        }
        "comparison_operator" => {
            let sides = named_children(expression);
            let mut cursor = expression.walk();
            let operators = expression.children_by_field_name("operators", &mut cursor);
            let operators: Vec<&str> = operators.map(|operator| operator.kind()).collect();
            let [left, right] = sides.as_slice() else { return None };
            let expected =
                || Expected::one_side(*left, *right, source).or_else(|| nearly(*left, *right, source));
            (operators == ["=="]).then(expected)?
        }
        _ => None,
    }
}

fn equality(call: Node<'_>, source: &[u8]) -> Option<Expected> {
    let function = call.child_by_field_name("function").filter(|_| call.kind() == "call")?;
    let arguments = named_children(call.child_by_field_name("arguments")?);
    let [left, right, ..] = arguments.as_slice() else { return None };
    EQUALITIES.contains(&&*text(function, source)).then(|| Expected::one_side(*left, *right, source))?
}

/// `approx(1.5)`, of the default tolerance: every other number that is drawn is outside of it.
fn nearly(left: Node<'_>, right: Node<'_>, source: &[u8]) -> Option<Expected> {
    let of = |side: Node<'_>| {
        let function = side.child_by_field_name("function").filter(|_| side.kind() == "call")?;
        let arguments = named_children(side.child_by_field_name("arguments")?);
        let [only] = arguments.as_slice() else { return None };
        let is_number = matches!(only.kind(), "integer" | "float");
        let is_approx = matches!(&*text(function, source), "approx" | "pytest.approx");
        (is_number && is_approx).then(|| Expected::of(*only, source))?
    };
    Expected::only(of(left), of(right))
}
