//! The literal that a comparison expects, where the comparison is surely made.

use tree_sitter::Node;

use super::turned::turned;
use super::{FUNCTIONS, Scope, statements};
use crate::literal::{Changeable, Expected};
use crate::local::Locals;
use crate::syntax::{contains, named_children, text};

/// Of each suitable comparison.
pub(super) fn changeable<'t>(body: Node<'t>, scope: &Scope<'_>) -> Changeable {
    let source = scope.source;
    let all = statements(body);
    let mut found = Changeable::default();
    let mut names = Locals::of(body, source);
    for (at, statement) in all.iter().enumerate() {
        let changed = match statement.kind() {
            "if_statement" => checked(*statement, &all[..at], scope),
            "expression_statement" => statement.named_child(0).and_then(|call| asserted(call, &names, scope)),
            _ => None,
        };
        if let Some((name, value)) = given(*statement) {
            names.assign(name, value, source);
        }
        found.add(changed, turned(*statement, scope));
        if has_way_out(*statement, source) {
            break;
        }
    }
    found
}

/// A check that fails the test is no way out of one that passes.
fn has_way_out(statement: Node<'_>, source: &[u8]) -> bool {
    let leaves = |node: Node<'_>| match node.kind() {
        "return_statement" => true,
        "call_expression" => {
            let called = node.child_by_field_name("function").map(|called| text(called, source));
            called.is_some_and(|called| called.contains(".Skip"))
        }
        _ => false,
    };
    contains(statement, &leaves, FUNCTIONS)
}

/// `if got != 3 { t.Errorf(…) }`, or `!= want` where `want := 3` is used for nothing else.
fn checked(statement: Node<'_>, before: &[Node<'_>], scope: &Scope<'_>) -> Option<Expected> {
    let source = scope.source;
    let condition = statement.child_by_field_name("condition")?;
    let consequence = statement.child_by_field_name("consequence")?;
    let operator = condition.child_by_field_name("operator")?;
    let (left, right) = (condition.child_by_field_name("left")?, condition.child_by_field_name("right")?);
    let fails = statements(consequence).into_iter().any(|node| is_failure(node, scope));
    if operator.kind() != "!=" || !fails || statement.child_by_field_name("alternative").is_some() {
        return None;
    }
    Expected::one_side(left, right, source)
        .or_else(|| [right, left].into_iter().find_map(|side| declared(side, statement, before, source)))
}

/// Of the test itself: `log.Errorf` only prints, and `log.Fatal` ends all tests.
pub(super) fn is_failure(statement: Node<'_>, scope: &Scope<'_>) -> bool {
    let call = statement.named_child(0).filter(|node| node.kind() == "call_expression");
    let Some(called) = call.and_then(|call| call.child_by_field_name("function")) else { return false };
    let called = text(called, scope.source);
    let Some((receiver, method)) = called.rsplit_once('.') else { return false };
    let is_test = scope.testing.as_deref() == Some(receiver) || receiver.ends_with(".T()");
    is_test && matches!(method, "Error" | "Errorf" | "Fatal" | "Fatalf" | "Fail" | "FailNow")
}

fn declared(name: Node<'_>, check: Node<'_>, before: &[Node<'_>], source: &[u8]) -> Option<Expected> {
    let name = text(name, source).into_owned();
    let is_name = |node: Node<'_>| node.kind() == "identifier" && text(node, source) == name;
    let uses: Vec<&Node<'_>> = before.iter().filter(|node| contains(**node, &is_name, &[])).collect();
    let [declaration] = uses.as_slice() else { return None };
    let (left, right) = (declaration.child_by_field_name("left")?, declaration.child_by_field_name("right")?);
    let (names, values) = (named_children(left), named_children(right));
    let ([only], [value]) = (names.as_slice(), values.as_slice()) else { return None };
    let initial = check.child_by_field_name("initializer");
    let used_otherwise = initial.is_some_and(|node| contains(node, &is_name, &[]));
    let fits = declaration.kind() == "short_var_declaration" && is_name(*only) && !used_otherwise;
    // In a condition that names it on both sides a change makes no difference.
    let condition = check.child_by_field_name("condition")?;
    let mentions = named_children(condition).into_iter().filter(|side| contains(*side, &is_name, &[]));
    (fits && mentions.count() == 1).then(|| Expected::of(*value, source))?
}

/// `want := 3`
fn given(statement: Node<'_>) -> Option<(Node<'_>, Node<'_>)> {
    let left =
        statement.child_by_field_name("left").filter(|_| statement.kind() == "short_var_declaration")?;
    let (names, values) = (named_children(left), named_children(statement.child_by_field_name("right")?));
    let ([name], [value]) = (names.as_slice(), values.as_slice()) else { return None };
    Some((*name, *value))
}

/// `assert.Equal(t, 3, got)` and `require.Equal(…)` of testify.
fn asserted<'t>(call: Node<'t>, names: &Locals<'t>, scope: &Scope<'_>) -> Option<Expected> {
    let source = scope.source;
    let arguments = named_children(call.child_by_field_name("arguments")?);
    let [_, expected, actual, ..] = arguments.as_slice() else { return None };
    let side = |node: Node<'t>| match node.kind() {
        "identifier" => names.expected(node, source, &|name| only_compares(name, source), &|value| {
            Expected::of(value, source)
        }),
        _ => Expected::of(node, source),
    };
    is_equal(call, source).then(|| Expected::only(side(*expected), side(*actual)))?
}

fn is_equal(call: Node<'_>, source: &[u8]) -> bool {
    let called = call.child_by_field_name("function").map(|called| text(called, source));
    matches!(called.as_deref(), Some("assert.Equal" | "require.Equal"))
}

fn only_compares(name: Node<'_>, source: &[u8]) -> bool {
    let call = name.parent().filter(|list| list.kind() == "argument_list").and_then(|list| list.parent());
    call.is_some_and(|call| is_equal(call, source))
}
