//! Another value of the same type for a literal.
//!
//! Numbers become smaller and strings keep their length where they can: a type that holds
//! the one value then holds the other, so that the file still compiles.

use tree_sitter::Node;

use crate::broken::{Edit, Plan, TestChange};
use crate::numbers::Numbers;
use crate::syntax::{line, named_children, text};

/// A literal, and what it is to become.
#[derive(Clone, Debug)]
pub(crate) struct ChangedLiteral {
    edit: Edit,
    before: String,
    after: String,
    line: usize,
}

/// Any one of them: who knows which value is changed can be right there, and wrong everywhere else.
pub(crate) fn change_any(mut found: Vec<ChangedLiteral>, plan: &mut Plan, numbers: &mut Numbers) {
    if found.len() > 1 {
        let chosen = numbers.below(found.len() as u64);
        found.swap_remove(usize::try_from(chosen).unwrap_or(0)).put_into(plan, numbers);
    } else if let Some(only) = found.pop() {
        only.put_into(plan, numbers);
    }
}

impl ChangedLiteral {
    /// A whole number becomes any smaller one but the next, which the code may well return.
    fn put_into(mut self, plan: &mut Plan, numbers: &mut Numbers) {
        let digits: String = self.before.chars().take_while(char::is_ascii_digit).collect();
        let reduced = self.edit.text.parse::<u64>().ok().filter(|reduced| *reduced > 1);
        if let Some(reduced) = reduced.filter(|reduced| digits.parse() == Ok(reduced + 1)) {
            let chosen = numbers.below(reduced).to_string();
            self.after = [&chosen, &self.after[self.edit.text.len()..]].concat();
            self.edit.text = chosen;
        }
        plan.change = TestChange::Literal { before: self.before, after: self.after, line: self.line };
        plan.edits = vec![self.edit];
    }
}

/// For a literal, or a collection of nothing but literals; `None` where no value of it is
/// surely another one.
pub(crate) fn change(node: Node<'_>, source: &[u8]) -> Option<ChangedLiteral> {
    is_literal(node, source).then(|| change_last(node, source))?
}

/// The literal of the two sides of a comparison. Where both are literals the test is about nothing.
pub(crate) fn change_one_side(left: Node<'_>, right: Node<'_>, source: &[u8]) -> Option<ChangedLiteral> {
    match (change(left, source), change(right, source)) {
        (None, Some(changed)) | (Some(changed), None) => Some(changed),
        (None, None) | (Some(_), Some(_)) => None,
    }
}

fn change_last(node: Node<'_>, source: &[u8]) -> Option<ChangedLiteral> {
    match form(node, source) {
        Form::Number => number(node, source),
        Form::Text => string(node, source),
        Form::Character => character(node, source),
        Form::Truth => truth(node, source),
        // The value of a pair, and of a minus what follows it, is the last of its children.
        Form::Collection => {
            named_children(node).into_iter().rev().find_map(|child| change_last(child, source))
        }
        Form::Pair | Form::Wrapped => change_last(named_children(node).pop()?, source),
        Form::Fixed | Form::Other => None,
    }
}

fn is_literal(node: Node<'_>, source: &[u8]) -> bool {
    match form(node, source) {
        Form::Number | Form::Text | Form::Character | Form::Truth | Form::Fixed => true,
        Form::Collection | Form::Pair | Form::Wrapped => {
            named_children(node).into_iter().all(|child| is_literal(child, source))
        }
        Form::Other => false,
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Number,
    Text,
    Character,
    Truth,
    Collection,
    Pair,
    Wrapped,
    /// A literal that has no other value, or a name of a field.
    Fixed,
    Other,
}

/// The grammars agree on few names; none of them means two things.
fn form(node: Node<'_>, source: &[u8]) -> Form {
    match node.kind() {
        "integer" | "float" | "number" | "integer_literal" | "float_literal" | "int_literal" => Form::Number,
        "string"
        | "template_string"
        | "string_literal"
        | "raw_string_literal"
        | "interpreted_string_literal" => Form::Text,
        "char_literal" | "rune_literal" => Form::Character,
        "true" | "false" | "boolean_literal" => Form::Truth,
        "list"
        | "tuple"
        | "set"
        | "dictionary"
        | "array"
        | "object"
        | "array_expression"
        | "tuple_expression"
        | "concatenated_string" => Form::Collection,
        "pair" => Form::Pair,
        "parenthesized_expression" | "reference_expression" => Form::Wrapped,
        "unary_operator" | "unary_expression" if source.get(node.start_byte()) == Some(&b'-') => {
            Form::Wrapped
        }
        "none" | "null" | "undefined" | "nil" | "property_identifier" => Form::Fixed,
        _ => Form::Other,
    }
}

fn changed(node: Node<'_>, source: &[u8], edit: Edit) -> ChangedLiteral {
    let before = text(node, source).into_owned();
    let (from, to) = (edit.from - node.start_byte(), edit.to - node.start_byte());
    let after = match (before.get(..from), before.get(to..)) {
        (Some(head), Some(tail)) => [head, &edit.text, tail].concat(),
        // What is not UTF-8 was replaced, and offsets with it.
        (None | Some(_), None | Some(_)) => edit.text.clone(),
    };
    ChangedLiteral { edit, before, after, line: line(node) }
}

fn number(node: Node<'_>, source: &[u8]) -> Option<ChangedLiteral> {
    let written = text(node, source).into_owned();
    let digits = written.bytes().take_while(u8::is_ascii_digit).count();
    let (whole, rest) = written.split_at(digits);
    let plain = rest.is_empty() || suffix_of_rust(rest);
    let replaced = if plain && (whole == "0" || !whole.starts_with('0')) {
        let value: u64 = whole.parse().ok()?;
        if value == 0 { "1".to_owned() } else { (value - 1).to_string() }
    } else if rest.starts_with('.') && digits > 0 {
        let first = whole.as_bytes()[0];
        format!("{}{}", char::from(if first == b'9' { b'1' } else { first + 1 }), &whole[1..])
    } else {
        return None;
    };
    let from = node.start_byte();
    Some(changed(node, source, Edit { from, to: from + digits, text: replaced }))
}

fn suffix_of_rust(rest: &str) -> bool {
    let rest = rest.strip_prefix('_').unwrap_or(rest);
    let bits = rest.strip_prefix(['u', 'i', 'f']);
    bits.is_some_and(|bits| matches!(bits, "8" | "16" | "32" | "64" | "128" | "size"))
}

fn string(node: Node<'_>, source: &[u8]) -> Option<ChangedLiteral> {
    let children = named_children(node);
    if children.iter().any(|child| matches!(child.kind(), "interpolation" | "template_substitution")) {
        return None;
    }
    let fragments = children.iter().rev().filter(|child| {
        matches!(
            child.kind(),
            "string_content"
                | "string_fragment"
                | "interpreted_string_literal_content"
                | "raw_string_literal_content"
        )
    });
    for fragment in fragments {
        let bytes = source.get(fragment.byte_range())?;
        // Behind a backslash a letter may be part of an escape.
        let plain = bytes.iter().position(|byte| *byte == b'\\').unwrap_or(bytes.len());
        if let Some(at) = bytes[..plain].iter().rposition(u8::is_ascii_alphanumeric) {
            let from = fragment.start_byte() + at;
            let edit = Edit { from, to: from + 1, text: char::from(next_of_kind(bytes[at])).to_string() };
            return Some(changed(node, source, edit));
        }
    }
    let written = source.get(node.byte_range())?;
    let quoted = written.len() >= 2 && matches!(written[0], b'"' | b'\'' | b'`');
    let triple = written.len() >= 6 && written[..3] == [written[0]; 3];
    (quoted && !triple).then(|| changed(node, source, Edit::insert(node.end_byte() - 1, "x")))
}

fn next_of_kind(byte: u8) -> u8 {
    match byte {
        b'9' => b'0',
        b'z' => b'a',
        b'Z' => b'A',
        other => other + 1,
    }
}

fn character(node: Node<'_>, source: &[u8]) -> Option<ChangedLiteral> {
    let written = source.get(node.byte_range())?;
    let [.., b'\'', inside, b'\''] = written else { return None };
    let from = node.end_byte() - 2;
    let text = char::from(next_of_kind(*inside)).to_string();
    inside.is_ascii_alphanumeric().then(|| changed(node, source, Edit { from, to: from + 1, text }))
}

fn truth(node: Node<'_>, source: &[u8]) -> Option<ChangedLiteral> {
    let other = match &*text(node, source) {
        "True" => "False",
        "False" => "True",
        "true" => "false",
        "false" => "true",
        _ => return None,
    };
    let edit = Edit { from: node.start_byte(), to: node.end_byte(), text: other.to_owned() };
    Some(changed(node, source, edit))
}
