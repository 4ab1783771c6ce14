//! The literal of an `assert_eq!` that is surely executed.

use std::ops::Range;

use tree_sitter::Node;

use super::turned::turned;
use super::{TestFile, constructed};
use crate::literal::{Changeable, Expected};
use crate::local::Locals;
use crate::syntax::{contains, named_children, text};

/// What makes a text of its own of a literal.
pub(super) const OWNING: &[&str] = &["to_string", "to_owned", "into"];

/// Of each suitable assertion.
pub(super) fn changeable<'t>(block: Node<'t>, file: &TestFile<'_>) -> Changeable {
    let mut found = Changeable::default();
    let body = text(block, file.source).into_owned();
    let mut reader = Reader { source: file.source, body, names: Locals::of(block, file.source) };
    let mut may_be_left_out = false;
    for statement in named_children(block) {
        if statement.kind() == "attribute_item" {
            may_be_left_out |= super::name_of(&text(statement, file.source)).starts_with("cfg");
            continue;
        }
        let call = super::inner(statement);
        if !std::mem::take(&mut may_be_left_out) {
            found.add(reader.compared(call), turned(call, file));
            reader.declaration(statement);
        }
        let leaves = |node: Node<'_>| node.kind() == "return_expression";
        if contains(statement, &leaves, &["closure_expression", "async_block", "function_item"]) {
            break;
        }
    }
    found
}

struct Reader<'t, 's> {
    source: &'s [u8],
    body: String,
    names: Locals<'t>,
}

impl<'t> Reader<'t, '_> {
    /// `let expected = 3;`
    fn declaration(&mut self, statement: Node<'t>) {
        if let (Some(name), Some(value)) = (
            statement.child_by_field_name("pattern").filter(|name| name.kind() == "identifier"),
            statement.child_by_field_name("value").filter(|_| statement.kind() == "let_declaration"),
        ) {
            self.names.assign(name, value, self.source);
        }
    }

    fn compared(&self, call: Node<'t>) -> Option<Expected> {
        let name = call.child_by_field_name("macro").filter(|_| call.kind() == "macro_invocation")?;
        let tokens = named_children(call).into_iter().find(|node| node.kind() == "token_tree")?;
        let sides = arguments(tokens);
        let [left, right, ..] = sides.as_slice() else { return None };
        if text(name, self.source).rsplit("::").next() != Some("assert_eq") {
            return None;
        }
        let (one, other) = (self.side(left), self.side(right));
        if one.is_some() || other.is_some() {
            return Expected::only(one, other);
        }
        let built = |side: &[Node<'t>]| {
            constructed::of_tokens(side, self.source)
                .or_else(|| self.named(side, &|value| constructed::of_value(value, self.source)))
        };
        Expected::only(built(left), built(right))
    }

    fn side(&self, tokens: &[Node<'t>]) -> Option<Expected> {
        side(tokens, self.source).or_else(|| self.named(tokens, &|value| declared(value, self.source)))
    }

    /// The value of `expected` or `&expected`.
    fn named(&self, tokens: &[Node<'t>], read: &dyn Fn(Node<'t>) -> Option<Expected>) -> Option<Expected> {
        let name = match tokens {
            [name] => name,
            [reference, name] if reference.kind() == "&" => name,
            _ => return None,
        };
        if name.kind() != "identifier" {
            return None;
        }
        let only_compares = |node: Node<'t>| only_compares(node, self.source);
        let expected = self.names.expected(*name, self.source, &only_compares, read)?;
        // In a text that is written with it it has no token of its own.
        let written = text(*name, self.source);
        let forms = [format!("{{{written}}}"), format!("{{{written}:")];
        (!forms.iter().any(|form| self.body.contains(form))).then_some(expected)
    }
}

/// Whether a name is one side of an `assert_eq!`, or in its message.
fn only_compares(name: Node<'_>, source: &[u8]) -> bool {
    let Some(group) = name.parent().filter(|group| group.kind() == "token_tree") else { return false };
    let call = group.parent().and_then(|call| call.child_by_field_name("macro"));
    if call.is_none_or(|call| text(call, source).rsplit("::").next() != Some("assert_eq")) {
        return false;
    }
    arguments(group).iter().any(|side| match side.as_slice() {
        [only] => only.id() == name.id(),
        [reference, only] => reference.kind() == "&" && only.id() == name.id(),
        _ => false,
    })
}

/// What is given to a name, in the syntax of expressions.
fn declared(value: Node<'_>, source: &[u8]) -> Option<Expected> {
    match value.kind() {
        "macro_invocation" => {
            let mut cursor = value.walk();
            let tokens: Vec<Node<'_>> = value.children(&mut cursor).collect();
            side(&tokens, source)
        }
        _ => Expected::of(value, source),
    }
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
pub(super) fn side(tokens: &[Node<'_>], source: &[u8]) -> Option<Expected> {
    let kinds: Vec<&str> = tokens.iter().map(Node::kind).collect();
    match (kinds.as_slice(), tokens) {
        (["token_tree"], [group]) => group_of_literals(*group, source),
        ([_], [only]) => Expected::of(*only, source),
        (["string_literal", ".", "identifier", "token_tree"], [only, _, method, none])
            if OWNING.contains(&&*text(*method, source)) && arguments(*none).is_empty() =>
        {
            Expected::of(*only, source)
        }
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
