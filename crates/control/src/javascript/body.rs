//! Where in a function a statement is reached last.

use tree_sitter::Node;

use super::FUNCTIONS;
use crate::broken::Edit;
use crate::syntax::{contains, indent_at, named_children, newline, text};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leave {
    Returns,
    Throws,
}

/// Names by which a test is given the function that ends it.
pub(super) const ENDS: &[&str] = &["done", "cb", "callback", "next", "end"];

/// Lets the function throw the error at the last place that is reached, or end the test with it.
pub(super) fn failing_end(function: Node<'_>, source: &[u8], error: &str) -> Option<Vec<Edit>> {
    let body = function.child_by_field_name("body")?;
    let statement = format!("throw {error};");
    if let Some(end) = end_with(function, source, error) {
        return Some(at_begin(body, &end));
    }
    if body.kind() != "statement_block" {
        return Some(if may_chain(function, source) {
            chained(body, &statement)
        } else {
            let end = format!("; {statement} }}");
            vec![Edit::insert(body.start_byte(), "{ "), Edit::insert(body.end_byte(), end)]
        });
    }
    let statements = named_children(body);
    let (Some(first), Some(last)) = (statements.first(), statements.last()) else {
        return Some(vec![Edit::insert(body.start_byte() + 1, format!(" {statement} "))]);
    };
    let between = format!("{}{}", newline(source), indent_at(source, first.start_byte()));
    let before = |node: Node<'_>| vec![Edit::insert(node.start_byte(), format!("{statement}{between}"))];
    let leaving = statements.iter().find_map(|node| leaves(*node, source).map(|leave| (*node, leave)));
    match leaving {
        None if ends_test(*last, function, source) => Some(before(*last)),
        None => Some(vec![Edit::insert(last.end_byte(), format!("{between}{statement}"))]),
        Some((_, Leave::Throws)) => None,
        Some((leaving, Leave::Returns)) => match (leaving.kind(), named_children(leaving).first()) {
            ("return_statement", Some(value)) if may_chain(function, source) => {
                Some(chained(*value, &statement))
            }
            _ => Some(before(leaving)),
        },
    }
}

/// `done = done.bind(null, error)`: what a test throws after it called `done` is lost, so
/// `done` itself ends it with the error.
fn end_with(function: Node<'_>, source: &[u8], error: &str) -> Option<String> {
    let list = function.child_by_field_name("parameters").map(named_children).unwrap_or_default();
    let node = list.into_iter().chain(function.child_by_field_name("parameter")).last()?;
    let name = parameter_name(node, source);
    // Types of jest give `done` a member that `bind` does not keep.
    let cast = if node.kind() == "required_parameter" { format!(" as typeof {name}") } else { String::new() };
    ENDS.contains(&name.as_str()).then(|| format!("{name} = {name}.bind(null, {error}){cast};"))
}

fn at_begin(body: Node<'_>, statement: &str) -> Vec<Edit> {
    if body.kind() == "statement_block" {
        return vec![Edit::insert(body.start_byte() + 1, format!(" {statement} "))];
    }
    vec![Edit::insert(body.start_byte(), format!("{{ {statement} ")), Edit::insert(body.end_byte(), "; }")]
}

/// The value is still computed, and awaited where it is a promise; then it throws.
fn chained(value: Node<'_>, statement: &str) -> Vec<Edit> {
    let (open, close) = if value.kind() == "sequence_expression" { ("((", "))") } else { ("(", ")") };
    vec![
        Edit::insert(value.start_byte(), format!("Promise.resolve{open}")),
        Edit::insert(value.end_byte(), format!("{close}.then(() => {{ {statement} }})")),
    ]
}

/// Whether the function may return a promise by its form and its declared type.
fn may_chain(function: Node<'_>, source: &[u8]) -> bool {
    let typed = function.child_by_field_name("return_type");
    let typed = typed.is_some_and(|returned| !text(returned, source).contains("Promise"));
    let generates = function.kind().starts_with("generator");
    !typed && !generates
}

fn parameters(function: Node<'_>, source: &[u8]) -> Vec<String> {
    let single = function.child_by_field_name("parameter");
    let list = function.child_by_field_name("parameters").map(named_children).unwrap_or_default();
    list.into_iter().chain(single).map(|node| parameter_name(node, source)).collect()
}

fn parameter_name(node: Node<'_>, source: &[u8]) -> String {
    text(node.child_by_field_name("pattern").unwrap_or(node), source).into_owned()
}

/// `t.end()` and the like: nothing after it belongs to the test.
fn ends_test(statement: Node<'_>, function: Node<'_>, source: &[u8]) -> bool {
    let call = statement.named_child(0).filter(|node| node.kind() == "call_expression");
    let Some(called) = call.and_then(|call| call.child_by_field_name("function")) else { return false };
    let parameters = parameters(function, source);
    let called = text(called, source);
    let mut names = called.split('.');
    let given = names.next().is_some_and(|name| parameters.iter().any(|parameter| parameter == name));
    given && names.next().is_none_or(|method| matches!(method, "end" | "done" | "pass"))
}

fn leaves(statement: Node<'_>, source: &[u8]) -> Option<Leave> {
    match statement.kind() {
        "return_statement" => Some(Leave::Returns),
        "throw_statement" => Some(Leave::Throws),
        "statement_block" => named_children(statement).into_iter().find_map(|node| leaves(node, source)),
        "expression_statement" => {
            let call = statement.named_child(0).filter(|node| node.kind() == "call_expression")?;
            let called = text(call.child_by_field_name("function")?, source);
            let never = matches!(&*called, "this.skip" | "t.skip" | "ctx.skip" | "process.exit");
            never.then_some(Leave::Throws)
        }
        "if_statement" => {
            let one = leaves(statement.child_by_field_name("consequence")?, source)?;
            let other = statement.child_by_field_name("alternative")?.named_child(0)?;
            Some(either(one, leaves(other, source)?))
        }
        "try_statement" => {
            if let Some(end) = inner_block(statement, "finalizer").and_then(|node| leaves(node, source)) {
                return Some(end);
            }
            let ends = leaves(statement.child_by_field_name("body")?, source)?;
            match inner_block(statement, "handler") {
                Some(handler) => Some(either(ends, leaves(handler, source)?)),
                None => Some(ends),
            }
        }
        "while_statement" => {
            let condition = text(statement.child_by_field_name("condition")?, source);
            let ends = contains(statement, &|node| node.kind() == "break_statement", FUNCTIONS);
            (matches!(&*condition, "(true)" | "(1)") && !ends).then_some(Leave::Returns)
        }
        _ => None,
    }
}

fn inner_block<'t>(statement: Node<'t>, field: &str) -> Option<Node<'t>> {
    statement.child_by_field_name(field)?.child_by_field_name("body")
}

fn either(one: Leave, other: Leave) -> Leave {
    if one == Leave::Returns { one } else { other }
}

/// Whether the statement has a way out of the function, or skips the test.
pub(super) fn has_way_out(statement: Node<'_>, source: &[u8]) -> bool {
    let leaves = |node: Node<'_>| match node.kind() {
        "return_statement" => true,
        "call_expression" => {
            let called = node.child_by_field_name("function");
            called.is_some_and(|called| text(called, source).ends_with(".skip"))
        }
        _ => false,
    };
    contains(statement, &leaves, FUNCTIONS)
}
