//! An assertion of a test in the opposite sense.

use tree_sitter::Node;

use super::TestFile;
use super::expected::Value;
use crate::broken::Edit;
use crate::syntax::{named_children, text};
use crate::turned::{Turned, opposite};

/// Of `assert`, in node and chai.
const PAIRS: &[(&str, &str)] = &[("throws", "doesNotThrow"), ("match", "doesNotMatch")];
/// In TypeScript what is equal has another type behind it, and what was not equal would get one:
/// turned over, the file may not compile.
const EQUALITIES: &[(&str, &str)] = &[
    ("equal", "notEqual"),
    ("strictEqual", "notStrictEqual"),
    ("deepEqual", "notDeepEqual"),
    ("deepStrictEqual", "notDeepStrictEqual"),
];
/// They return a promise.
const PROMISED: &[(&str, &str)] = &[("rejects", "doesNotReject")];
/// Of `t`, in ava, tape and tap.
const OF_TEST_ARGUMENT: &[(&str, &str)] =
    &[("is", "not"), ("true", "false"), ("truthy", "falsy"), ("ok", "notOk")];
const THROWS_IN_AVA: &[(&str, &str)] = &[("throws", "notThrows")];
const THROWS_IN_TAPE: &[(&str, &str)] = &[("throws", "doesNotThrow")];

/// Of an expression of the outermost level.
pub(super) fn turned(node: Node<'_>, file: &TestFile<'_>, value: Value) -> Option<Turned> {
    if node.kind() == "await_expression" {
        return turned(node.named_child(0)?, file, Value::Returned);
    }
    let source = file.source;
    let function = node.child_by_field_name("function").filter(|_| node.kind() == "call_expression")?;
    if function.kind() == "identifier" {
        let name = text(function, source);
        let is_truth = file.imports.is_module(&name) || file.imports.function(&name) == Some("ok");
        return if is_truth { negated(node, file) } else { None };
    }
    let property = function.child_by_field_name("property")?;
    let object = function.child_by_field_name("object")?;
    let method = text(property, source);
    match &*text(object, source) {
        name if file.imports.is_module(name) && method == "ok" => negated(node, file),
        name if file.imports.is_module(name) => {
            let promised = opposite(PROMISED, &method).filter(|_| value == Value::Returned);
            let equality = opposite(EQUALITIES, &method).filter(|_| !file.is_typed);
            let other = opposite(PAIRS, &method).or(equality).or(promised)?;
            Some(Turned::renamed(node, property, other))
        }
        "t" => Some(Turned::renamed(node, property, of_test_argument(&method, file)?)),
        _ => expectation(node, object, property, source),
    }
    .filter(|_| value == Value::Returned || !waits(object, source))
}

/// The other assertion of `t`. A helper that hands ava's `t` on may not be known as ava, but
/// `notThrows` is in ava only.
fn of_test_argument(method: &str, file: &TestFile<'_>) -> Option<&'static str> {
    let in_ava = file.of_ava || method == "notThrows";
    opposite(OF_TEST_ARGUMENT, method)
        .or_else(|| opposite(if in_ava { THROWS_IN_AVA } else { THROWS_IN_TAPE }, method))
}

/// `assert(x)` and `assert.ok(x)`, where no type is known better for what holds behind it.
fn negated(call: Node<'_>, file: &TestFile<'_>) -> Option<Turned> {
    let arguments = named_children(call.child_by_field_name("arguments")?);
    let first = arguments.first().filter(|first| first.kind() != "spread_element" && !file.is_typed)?;
    Some(Turned::negated(call, first.byte_range(), "!("))
}

/// `expect(x).toBe(y)` and `expect(x).not.toBe(y)`.
fn expectation(call: Node<'_>, object: Node<'_>, property: Node<'_>, source: &[u8]) -> Option<Turned> {
    let method = text(property, source);
    let of_jest = method.strip_prefix("to").is_some_and(|rest| rest.starts_with(char::is_uppercase));
    let of_chai = matches!(&*method, "equal" | "eql" | "equals" | "eq" | "throw" | "include");
    if !(of_jest || of_chai) || method.contains("Snapshot") || !begins_with_expect(object, source) {
        return None;
    }
    let links: Vec<Node<'_>> = negations(object, source);
    match links.as_slice() {
        [] => Some(Turned::of(call, vec![Edit::insert(property.start_byte(), "not.")])),
        [only] => {
            let before = only.child_by_field_name("object")?;
            let edit = Edit { from: before.end_byte(), to: only.end_byte(), text: String::new() };
            Some(Turned::of(call, vec![edit]))
        }
        [_, _, ..] => None,
    }
}

/// The links of the chain that turn its sense.
fn negations<'t>(object: Node<'t>, source: &[u8]) -> Vec<Node<'t>> {
    let mut found = Vec::new();
    let mut link = Some(object);
    while let Some(node) = link.filter(|node| node.kind() == "member_expression") {
        if node.child_by_field_name("property").is_some_and(|name| text(name, source) == "not") {
            found.push(node);
        }
        link = node.child_by_field_name("object");
    }
    found
}

/// What stands between is to please the ear, or a promise's.
fn begins_with_expect(node: Node<'_>, source: &[u8]) -> bool {
    match node.kind() {
        "call_expression" => {
            let called = node.child_by_field_name("function");
            called.is_some_and(|called| text(called, source) == "expect")
        }
        "member_expression" => {
            let name = node.child_by_field_name("property").map(|name| text(name, source));
            let links = ["not", "to", "be", "been", "is", "that", "deep", "resolves", "rejects"];
            name.is_some_and(|name| links.contains(&&*name))
                && node.child_by_field_name("object").is_some_and(|inner| begins_with_expect(inner, source))
        }
        _ => false,
    }
}

/// Whether a promise says later whether it holds.
fn waits(object: Node<'_>, source: &[u8]) -> bool {
    let written = text(object, source);
    written.contains(".resolves") || written.contains(".rejects")
}
