//! The literals that a value is made of: `Expr::Num(7)`, `Point { x: 1, y: 2 }`.
//!
//! Whoever wrote the type says when two of its values are equal, and may leave something out: so
//! all of its literals become others at once.

use tree_sitter::Node;

use super::expected::{OWNING, arguments, side};
use crate::literal::Expected;
use crate::syntax::{named_children, text};

/// Functions that only wrap what they are given.
const WRAPPING: &[&str] = &["Box::new", "Rc::new", "Arc::new", "String::from", "PathBuf::from", "Path::new"];

/// A side of an assertion.
pub(super) fn of_tokens(tokens: &[Node<'_>], source: &[u8]) -> Option<Expected> {
    Some(Expected::joined(tokens_in(tokens, source)?)?.together())
}

/// `None` where it is no value that is built on the spot.
fn tokens_in(tokens: &[Node<'_>], source: &[u8]) -> Option<Vec<Expected>> {
    let (group, before) = tokens.split_last()?;
    let (first, _) = before.split_first()?;
    if first.kind() == "&" {
        return tokens_in(&tokens[1..], source);
    }
    if group.kind() != "token_tree" {
        return None;
    }
    let path = String::from_utf8_lossy(source.get(first.start_byte()..group.start_byte())?).replace(' ', "");
    let is_plain = before
        .iter()
        .all(|token| matches!(token.kind(), "identifier" | "::" | "!" | "self" | "crate" | "super"));
    let is_list = path == "vec!";
    let begins = source.get(group.start_byte())?;
    let is_built = matches!(begins, b'(' | b'{') && is_constructor(&path);
    if !is_plain || !(is_list || is_built) {
        return None;
    }
    let items = arguments(*group);
    // A count is no item.
    if is_list && items.iter().flatten().any(|token| token.kind() == ";") {
        return None;
    }
    let parts = items.iter().map(|item| match (begins, item.as_slice()) {
        (b'{', [name, colon, value @ ..]) if name.kind() == "identifier" && colon.kind() == ":" => value,
        (b'{', _) => &[],
        (_, item) => item,
    });
    Some(parts.flat_map(|part| part_of_tokens(part, source)).collect())
}

fn part_of_tokens(tokens: &[Node<'_>], source: &[u8]) -> Vec<Expected> {
    side(tokens, source)
        .map(|literal| vec![literal])
        .or_else(|| tokens_in(tokens, source))
        .unwrap_or_default()
}

/// What is given to a name.
pub(super) fn of_value(value: Node<'_>, source: &[u8]) -> Option<Expected> {
    Some(Expected::joined(value_in(value, source)?)?.together())
}

fn value_in(value: Node<'_>, source: &[u8]) -> Option<Vec<Expected>> {
    let part = |node: Node<'_>| {
        let literal = Expected::of(node, source);
        literal.map(|literal| vec![literal]).or_else(|| value_in(node, source)).unwrap_or_default()
    };
    match value.kind() {
        "reference_expression" => value_in(value.child_by_field_name("value")?, source),
        "macro_invocation" => {
            let mut cursor = value.walk();
            let tokens: Vec<Node<'_>> = value.children(&mut cursor).collect();
            tokens_in(&tokens, source)
        }
        "call_expression" => {
            let function = value.child_by_field_name("function")?;
            let arguments = named_children(value.child_by_field_name("arguments")?);
            if function.kind() == "field_expression" {
                let owns = OWNING.contains(&&*text(function.child_by_field_name("field")?, source));
                let literal =
                    function.child_by_field_name("value").filter(|node| node.kind() == "string_literal")?;
                return (owns && arguments.is_empty()).then(|| Some(vec![Expected::of(literal, source)?]))?;
            }
            let is_path = matches!(function.kind(), "identifier" | "scoped_identifier");
            (is_path && is_constructor(&text(function, source)))
                .then(|| arguments.into_iter().flat_map(part).collect())
        }
        "struct_expression" => {
            let fields = named_children(value.child_by_field_name("body")?).into_iter();
            Some(fields.filter_map(|field| field.child_by_field_name("value")).flat_map(part).collect())
        }
        _ => None,
    }
}

/// Of a tuple struct, a struct or a variant by its name, or a function that is known.
fn is_constructor(path: &str) -> bool {
    let last = path.rsplit("::").next().unwrap_or_default();
    let of_std = path.strip_prefix("std::").unwrap_or(path);
    let is_type = last.starts_with(|c: char| c.is_ascii_uppercase());
    let is_plain = path.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | ':'));
    let is_wrapper =
        WRAPPING.iter().any(|wrapping| of_std == *wrapping || of_std.ends_with(&format!("::{wrapping}")));
    is_plain && (is_type || is_wrapper)
}
