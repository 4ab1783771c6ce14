//! The literal of an `assert_eq!` that is surely executed.

use tree_sitter::Node;

use crate::literal::{self, ChangedLiteral};
use crate::syntax::{contains, named_children, text};

/// One of each suitable assertion.
pub(super) fn literals(block: Node<'_>, source: &[u8]) -> Vec<ChangedLiteral> {
    let mut found = Vec::new();
    for statement in named_children(block) {
        found.extend(compared(super::inner(statement), source));
        let leaves = |node: Node<'_>| node.kind() == "return_expression";
        if contains(statement, &leaves, &["closure_expression", "async_block", "function_item"]) {
            break;
        }
    }
    found
}

fn compared(call: Node<'_>, source: &[u8]) -> Option<ChangedLiteral> {
    let name = call.child_by_field_name("macro").filter(|_| call.kind() == "macro_invocation")?;
    let name = text(name, source);
    let tokens = named_children(call).into_iter().find(|node| node.kind() == "token_tree")?;
    let sides = arguments(tokens);
    let [left, right, ..] = sides.as_slice() else { return None };
    if name.rsplit("::").next() != Some("assert_eq") {
        return None;
    }
    match (side(left, source), side(right, source)) {
        (None, Some(changed)) | (Some(changed), None) => Some(changed),
        (None, None) | (Some(_), Some(_)) => None,
    }
}

/// The tokens between the commas of a group.
fn arguments(tokens: Node<'_>) -> Vec<Vec<Node<'_>>> {
    let mut cursor = tokens.walk();
    let mut inside: Vec<Node<'_>> = tokens.children(&mut cursor).filter(|node| !node.is_extra()).collect();
    if inside.len() < 2 {
        return Vec::new();
    }
    inside.pop();
    inside.remove(0);
    inside.split(|node| node.kind() == ",").map(<[_]>::to_vec).filter(|side| !side.is_empty()).collect()
}

/// `3`, `-3`, `&"a"`, `[1, 2]`, `vec![1, 2]`, `Some(3)`.
fn side(tokens: &[Node<'_>], source: &[u8]) -> Option<ChangedLiteral> {
    let kinds: Vec<&str> = tokens.iter().map(Node::kind).collect();
    match (kinds.as_slice(), tokens) {
        (["token_tree"], [group]) => group_of_literals(*group, source),
        ([_], [only]) => literal::change(*only, source),
        (["-", "integer_literal" | "float_literal"], [_, only]) => literal::change(*only, source),
        (["&", ..], [_, rest @ ..]) if !rest.is_empty() => side(rest, source),
        (["identifier", "!", "token_tree"], [name, _, group]) if text(*name, source) == "vec" => {
            group_of_literals(*group, source)
        }
        (["identifier", "token_tree"], [name, group])
            if matches!(&*text(*name, source), "Some" | "Ok" | "Err") =>
        {
            let inside = arguments(*group);
            let [only] = inside.as_slice() else { return None };
            side(only, source)
        }
        _ => None,
    }
}

fn group_of_literals(group: Node<'_>, source: &[u8]) -> Option<ChangedLiteral> {
    let changed: Option<Vec<ChangedLiteral>> =
        arguments(group).iter().map(|tokens| side(tokens, source)).collect();
    changed?.pop()
}
