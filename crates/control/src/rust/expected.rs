//! The literal of an `assert_eq!` that is surely executed.

use std::ops::Range;

use tree_sitter::Node;

use super::TestFile;
use super::turned::turned;
use crate::literal::{Changeable, Expected};
use crate::syntax::{contains, named_children, text};

/// Of each suitable assertion.
pub(super) fn changeable(block: Node<'_>, file: &TestFile<'_>) -> Changeable {
    let mut found = Changeable::default();
    let mut may_be_left_out = false;
    for statement in named_children(block) {
        if statement.kind() == "attribute_item" {
            may_be_left_out |= super::name_of(&text(statement, file.source)).starts_with("cfg");
            continue;
        }
        let call = super::inner(statement);
        if !std::mem::take(&mut may_be_left_out) {
            found.add(compared(call, file.source), turned(call, file));
        }
        let leaves = |node: Node<'_>| node.kind() == "return_expression";
        if contains(statement, &leaves, &["closure_expression", "async_block", "function_item"]) {
            break;
        }
    }
    found
}

fn compared(call: Node<'_>, source: &[u8]) -> Option<Expected> {
    let name = call.child_by_field_name("macro").filter(|_| call.kind() == "macro_invocation")?;
    let name = text(name, source);
    let tokens = named_children(call).into_iter().find(|node| node.kind() == "token_tree")?;
    let sides = arguments(tokens);
    let [left, right, ..] = sides.as_slice() else { return None };
    if name.rsplit("::").next() != Some("assert_eq") {
        return None;
    }
    Expected::only(side(left, source), side(right, source))
}

/// The tokens between the commas of a group.
pub(super) fn arguments(tokens: Node<'_>) -> Vec<Vec<Node<'_>>> {
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
fn side(tokens: &[Node<'_>], source: &[u8]) -> Option<Expected> {
    let kinds: Vec<&str> = tokens.iter().map(Node::kind).collect();
    match (kinds.as_slice(), tokens) {
        (["token_tree"], [group]) => group_of_literals(*group, source),
        ([_], [only]) => Expected::of(*only, source),
        (["-", "integer_literal" | "float_literal"], [_, only]) => Expected::negative(*only, source),
        (["&", ..], [_, rest @ ..]) if !rest.is_empty() => side(rest, source),
        (["identifier", "!", "token_tree"], [name, _, group]) if text(*name, source) == "vec" => {
            let items = arguments(*group).iter().filter_map(|item| whole(item)).collect();
            group_of_literals(*group, source).map(|group| group.with_list(items, source))
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

pub(super) fn whole(tokens: &[Node<'_>]) -> Option<Range<usize>> {
    Some(tokens.first()?.start_byte()..tokens.last()?.end_byte())
}

fn group_of_literals(group: Node<'_>, source: &[u8]) -> Option<Expected> {
    let all: Option<Vec<Expected>> = arguments(group).iter().map(|tokens| side(tokens, source)).collect();
    Expected::joined(all?)
}
