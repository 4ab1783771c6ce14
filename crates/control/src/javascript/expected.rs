//! The literal that an assertion expects, where the assertion is surely executed.

use tree_sitter::Node;

use super::turned::turned;
use super::{TestFile, body};
use crate::literal::{Changeable, Expected};
use crate::syntax::{named_children, text};

/// Of `expect(x)`: what they are given must equal x, or count something of it.
const MATCHERS: &[&str] = &[
    "toBe",
    "toEqual",
    "toStrictEqual",
    "toHaveLength",
    "toHaveBeenCalledTimes",
    "equal",
    "equals",
    "eql",
    "eq",
];
/// What chai lets stand between `expect(x)` and its matcher, to please the ear or to go deeper.
const CHAIN: &[&str] = &["to", "be", "been", "is", "that", "deep"];
const EQUALITIES: &[&str] =
    &["equal", "strictEqual", "deepEqual", "deepStrictEqual", "is", "same", "strictSame"];

/// Of each suitable assertion.
pub(super) fn changeable(function: Node<'_>, file: &TestFile<'_>) -> Changeable {
    let source = file.source;
    let mut found = Changeable::default();
    let Some(block) = function.child_by_field_name("body") else { return found };
    if block.kind() != "statement_block" {
        found.add(assertion(block, source, Value::Returned), turned(block, file, Value::Returned));
        return found;
    }
    for statement in named_children(block) {
        let value = match statement.kind() {
            "expression_statement" => Some(Value::Dropped),
            "return_statement" => Some(Value::Returned),
            _ => None,
        };
        if let (Some(value), Some(inside)) = (value, statement.named_child(0)) {
            found.add(assertion(inside, source, value), turned(inside, file, value));
        }
        if body::has_way_out(statement, source) {
            break;
        }
    }
    found
}

/// What becomes of a promise that an assertion returns.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Value {
    Returned,
    Dropped,
}

fn assertion(node: Node<'_>, source: &[u8], value: Value) -> Option<Expected> {
    if node.kind() == "await_expression" {
        return assertion(node.named_child(0)?, source, Value::Returned);
    }
    let function = node.child_by_field_name("function").filter(|_| node.kind() == "call_expression")?;
    let arguments = named_children(node.child_by_field_name("arguments")?);
    if function.kind() != "member_expression" {
        return None;
    }
    let method = text(function.child_by_field_name("property")?, source);
    let object = function.child_by_field_name("object")?;
    if object.kind() == "identifier" {
        let compares = matches!(&*text(object, source), "assert" | "t") && EQUALITIES.contains(&&*method);
        let [left, right, ..] = arguments.as_slice() else { return None };
        return compares.then(|| Expected::one_side(*left, *right, source))?;
    }
    if method == "expect" {
        return answered(node, source, value);
    }
    let [expected] = arguments.as_slice() else { return None };
    let fits = MATCHERS.contains(&&*method) && is_expectation(object, source, value);
    let found = Expected::of(*expected, source).filter(|_| fits)?;
    let counts = matches!(&*method, "toHaveLength" | "toHaveBeenCalledTimes");
    Some(if counts { found.counting() } else { found })
}

/// `request(app).get('/').expect(200, done)` of supertest: the status, where the end of the
/// test waits for the answer.
fn answered(call: Node<'_>, source: &[u8], value: Value) -> Option<Expected> {
    let arguments = named_children(call.child_by_field_name("arguments")?);
    let waits = value == Value::Returned
        || arguments.last().is_some_and(|last| body::ENDS.contains(&&*text(*last, source)));
    let mut link = call;
    while let Some(function) = link.child_by_field_name("function").filter(|_| waits) {
        if function.kind() != "member_expression" {
            return None;
        }
        let is_expectation = text(function.child_by_field_name("property")?, source) == "expect";
        let given = named_children(link.child_by_field_name("arguments")?);
        let status = given.first().filter(|first| is_expectation && first.kind() == "number");
        if let Some(changed) = status.and_then(|status| Expected::of(*status, source)) {
            return Some(changed);
        }
        link = function.child_by_field_name("object")?;
    }
    None
}

/// `expect(x)` with nothing after it that could turn its sense.
fn is_expectation(node: Node<'_>, source: &[u8], value: Value) -> bool {
    match node.kind() {
        "call_expression" => {
            let called = node.child_by_field_name("function");
            called.is_some_and(|called| text(called, source) == "expect")
        }
        "member_expression" => {
            let (Some(object), Some(property)) =
                (node.child_by_field_name("object"), node.child_by_field_name("property"))
            else {
                return false;
            };
            let property = text(property, source);
            let fits = CHAIN.contains(&&*property) || property == "resolves" && value == Value::Returned;
            fits && is_expectation(object, source, value)
        }
        _ => false,
    }
}
