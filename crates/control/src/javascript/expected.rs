//! The literal that an assertion expects, where the assertion is surely executed.

use std::borrow::Cow;

use tree_sitter::Node;

use super::turned::turned;
use super::{TestFile, body, table};
use crate::literal::{Changeable, Expected};
use crate::local::Locals;
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
const EQUALITIES: &[&str] = &[
    "equal",
    "strictEqual",
    "deepEqual",
    "deepStrictEqual",
    "is",
    "same",
    "strictSame",
    "assertEquals",
    "assertStrictEquals",
];
/// What they are given must be in x.
const CONTAINING: &[&str] = &["toContain", "include", "includes", "contain", "contains"];

/// Of each suitable assertion.
pub(super) fn changeable(function: Node<'_>, file: &TestFile<'_>) -> Changeable {
    let source = file.source;
    let mut found = Changeable::default();
    let Some(block) = function.child_by_field_name("body") else { return found };
    let mut reader = Reader { file, names: Locals::of(block, source) };
    for (name, values) in table::columns(function, source) {
        reader.names.pass(name, values);
    }
    if block.kind() != "statement_block" {
        found.add(reader.assertion(block, Value::Returned), turned(block, file, Value::Returned));
        return found;
    }
    for statement in named_children(block) {
        let value = match statement.kind() {
            "expression_statement" => Some(Value::Dropped),
            "return_statement" => Some(Value::Returned),
            _ => None,
        };
        if let (Some(value), Some(inside)) = (value, statement.named_child(0)) {
            found.add(reader.assertion(inside, value), turned(inside, file, value));
        }
        reader.declarations(statement);
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

struct Reader<'t, 'f> {
    file: &'f TestFile<'f>,
    names: Locals<'t>,
}

impl<'t> Reader<'t, '_> {
    /// `const expected = 3;` where no type says which values there are.
    fn declarations(&mut self, statement: Node<'t>) {
        if !matches!(statement.kind(), "lexical_declaration" | "variable_declaration") {
            return;
        }
        for declarator in named_children(statement) {
            if let (Some(name), Some(value), None) = (
                declarator.child_by_field_name("name").filter(|name| name.kind() == "identifier"),
                declarator.child_by_field_name("value"),
                declarator.child_by_field_name("type"),
            ) {
                self.names.assign(name, value, self.file.source);
            }
        }
    }

    fn assertion(&self, node: Node<'t>, value: Value) -> Option<Expected> {
        let source = self.file.source;
        if node.kind() == "await_expression" {
            return self.assertion(node.named_child(0)?, Value::Returned);
        }
        let function = node.child_by_field_name("function").filter(|_| node.kind() == "call_expression")?;
        let arguments = named_children(node.child_by_field_name("arguments")?);
        if let Some(name) = comparing(function, self.file) {
            let [left, right, ..] = arguments.as_slice() else { return None };
            return match &*name {
                "include" => Expected::found_in(*right, source),
                name if EQUALITIES.contains(&name) => self.one_side(*left, *right),
                _ => None,
            };
        }
        if function.kind() != "member_expression" {
            return None;
        }
        let method = text(function.child_by_field_name("property")?, source);
        let object = function.child_by_field_name("object")?;
        if method == "expect" {
            return answered(node, source, value);
        }
        let [expected] = arguments.as_slice() else { return None };
        if !is_expectation(object, source, value) {
            return None;
        }
        match &*method {
            "toHaveLength" | "toHaveBeenCalledTimes" => self.side(*expected).map(Expected::counting),
            name if MATCHERS.contains(&name) => {
                self.side(*expected).or_else(|| Expected::with_gaps(*expected, source))
            }
            // What is deeply included may be one member.
            name if CONTAINING.contains(&name) => Expected::found_in(*expected, source),
            _ => None,
        }
    }

    /// Of two literals none is expected.
    fn one_side(&self, left: Node<'t>, right: Node<'t>) -> Option<Expected> {
        let (one, other) = (self.side(left), self.side(right));
        if one.is_some() || other.is_some() {
            return Expected::only(one, other);
        }
        let with_gaps = |side| Expected::with_gaps(side, self.file.source);
        Expected::only(with_gaps(left), with_gaps(right))
    }

    /// What of one side can change, where it is a literal or the name of one.
    fn side(&self, node: Node<'t>) -> Option<Expected> {
        let source = self.file.source;
        let read = |node: Node<'t>| {
            let is_read = !self.file.of_tape || node.kind() != "new_expression";
            is_read.then(|| Expected::of(node, source))?
        };
        match node.kind() {
            "identifier" => {
                let only_compares = |name: Node<'t>| only_compares(name, self.file);
                self.names.expected(node, source, &only_compares, &read)
            }
            _ => read(node),
        }
    }
}

/// The name of a function of `assert`, or of what a test is given, in its module.
fn comparing<'f>(function: Node<'_>, file: &'f TestFile<'f>) -> Option<Cow<'f, str>> {
    if function.kind() == "identifier" {
        return file.imports.function(&text(function, file.source)).map(Cow::Borrowed);
    }
    let object = text(function.child_by_field_name("object")?, file.source);
    let is_known = object == "t" || file.imports.is_module(&object);
    is_known.then(|| Some(text(function.child_by_field_name("property")?, file.source)))?
}

/// Whether a name is given to an assertion that compares, and to nothing else.
fn only_compares(name: Node<'_>, file: &TestFile<'_>) -> bool {
    let call = name.parent().filter(|list| list.kind() == "arguments").and_then(|list| list.parent());
    let Some(function) = call.and_then(|call| call.child_by_field_name("function")) else { return false };
    if let Some(own) = comparing(function, file) {
        return EQUALITIES.contains(&&*own);
    }
    let property = function.child_by_field_name("property").map(|property| text(property, file.source));
    property.is_some_and(|property| MATCHERS.contains(&&*property))
        && function
            .child_by_field_name("object")
            .is_some_and(|object| is_expectation(object, file.source, Value::Returned))
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

/// `expect(x)` or `x.should` with nothing after it that could turn its sense.
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
            if property == "should" {
                return true;
            }
            let fits = CHAIN.contains(&&*property) || property == "resolves" && value == Value::Returned;
            fits && is_expectation(object, source, value)
        }
        _ => false,
    }
}
