//! The title of a test, as far as the source says it.

use tree_sitter::Node;

use crate::broken::TitlePart;
use crate::syntax::{named_children, text};

/// `in_table`: the title has places for the values of a row.
pub(super) fn read(node: Node<'_>, source: &[u8], in_table: bool) -> TitlePart {
    let mut pieces = vec![String::new()];
    match node.kind() {
        "function_expression" => match node.child_by_field_name("name") {
            Some(name) => return TitlePart::exactly(text(name, source)),
            None => return TitlePart::unknown(),
        },
        // `Deno.test({ name: 'title', … })`.
        "object" => {
            let pairs = named_children(node).into_iter().filter(|member| member.kind() == "pair");
            let mut names = pairs.filter(|pair| {
                pair.child_by_field_name("key").is_some_and(|key| text(key, source) == "name")
            });
            return match names.next().and_then(|pair| pair.child_by_field_name("value")) {
                Some(value) => read(value, source, in_table),
                None => TitlePart::unknown(),
            };
        }
        _ => add(node, source, &mut pieces),
    }
    if in_table {
        pieces = pieces.iter().flat_map(|piece| without_places(piece)).collect();
    }
    TitlePart::in_pieces(pieces)
}

fn add(node: Node<'_>, source: &[u8], pieces: &mut Vec<String>) {
    match node.kind() {
        "string" | "template_string" => {
            for child in named_children(node) {
                match child.kind() {
                    "string_fragment" => append(pieces, &text(child, source)),
                    "escape_sequence" => match escaped(&text(child, source)) {
                        Some(meant) => append(pieces, meant),
                        None => pieces.push(String::new()),
                    },
                    _ => pieces.push(String::new()),
                }
            }
        }
        "binary_expression" => {
            for side in named_children(node) {
                add(side, source, pieces);
            }
        }
        "parenthesized_expression" => {
            for inside in named_children(node) {
                add(inside, source, pieces);
            }
        }
        _ => pieces.push(String::new()),
    }
}

fn append(pieces: &mut Vec<String>, more: &str) {
    match pieces.last_mut() {
        Some(last) => last.push_str(more),
        None => pieces.push(more.to_owned()),
    }
}

fn escaped(written: &str) -> Option<&'static str> {
    match written {
        "\\'" => Some("'"),
        "\\\"" => Some("\""),
        "\\`" => Some("`"),
        "\\\\" => Some("\\"),
        "\\$" => Some("$"),
        _ => None,
    }
}

/// Splits at `%s`, `%#` and `$name.of.column`.
fn without_places(piece: &str) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut rest = piece.chars().peekable();
    while let Some(letter) = rest.next() {
        match (letter, rest.peek().copied()) {
            ('%', Some('%')) => {
                rest.next();
                append(&mut pieces, "%");
            }
            ('%', Some(next)) if next.is_ascii_alphabetic() || next == '#' || next == '$' => {
                rest.next();
                pieces.push(String::new());
            }
            ('$', Some(next)) if next.is_alphanumeric() || next == '#' || next == '_' => {
                while rest.next_if(|next| next.is_alphanumeric() || "_#.".contains(*next)).is_some() {}
                pieces.push(String::new());
            }
            _ => append(&mut pieces, letter.encode_utf8(&mut [0; 4])),
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_fills_the_places_of_a_title() {
        assert_eq!(without_places("adds %i and $b.c to 100%%"), ["adds ", " and ", " to 100%"]);
    }
}
