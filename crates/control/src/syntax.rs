//! Reading a syntax tree.

use std::ops::ControlFlow;

use tree_sitter::{Node, ParseOptions, Parser, Tree};

use crate::{Language, Unparsed};

/// Deeper than people write, and shallower than a thread's stack: all walks are recursive.
const DEEPEST: usize = 1000;

/// The parser asks now and then whether it may go on. Well-formed text is far below one
/// question for each byte; text made to be hard is given up.
pub(crate) fn parse(language: Language, text: &[u8]) -> Result<Tree, Unparsed> {
    let mut parser = Parser::new();
    parser.set_language(&language.grammar()).map_err(|_| Unparsed)?;
    let mut left = 100_000 + text.len();
    let mut progress = |_: &tree_sitter::ParseState| {
        left = left.saturating_sub(1);
        if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let options = ParseOptions::new().progress_callback(&mut progress);
    let mut read = |at: usize, _| text.get(at..).unwrap_or_default();
    let tree = parser.parse_with_options(&mut read, None, Some(options)).ok_or(Unparsed)?;
    if is_too_deep(&tree) { Err(Unparsed) } else { Ok(tree) }
}

fn is_too_deep(tree: &Tree) -> bool {
    let mut cursor = tree.walk();
    loop {
        if cursor.depth() as usize > DEEPEST {
            return true;
        }
        if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return false;
            }
        }
    }
}

/// The bytes of a node; what is not UTF-8 is replaced, so that it equals nothing.
pub(crate) fn text<'s>(node: Node<'_>, source: &'s [u8]) -> std::borrow::Cow<'s, str> {
    String::from_utf8_lossy(source.get(node.byte_range()).unwrap_or_default())
}

/// Without comments.
pub(crate) fn named_children(node: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor).filter(|child| !child.is_extra()).collect()
}

pub(crate) fn line(node: Node<'_>) -> usize {
    node.start_position().row + 1
}

/// The white space before the first thing on the line at `at`.
pub(crate) fn indent_at(source: &[u8], at: usize) -> String {
    let begin = source[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
    let blank = source[begin..at].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    String::from_utf8_lossy(&source[begin..begin + blank]).into_owned()
}

/// Whether nothing but white space is before `at` on its line.
pub(crate) fn begins_line(source: &[u8], at: usize) -> bool {
    source[..at].iter().rev().take_while(|byte| **byte != b'\n').all(|byte| matches!(byte, b' ' | b'\t'))
}

pub(crate) fn newline(source: &[u8]) -> &'static str {
    let first = source.iter().position(|byte| *byte == b'\n');
    if first.is_some_and(|at| at > 0 && source[at - 1] == b'\r') { "\r\n" } else { "\n" }
}

/// Whether a node of one of these kinds is in the tree, not looking into nodes of the kinds
/// that begin another function.
pub(crate) fn contains(node: Node<'_>, wanted: &dyn Fn(Node<'_>) -> bool, functions: &[&str]) -> bool {
    let mut open = vec![node];
    while let Some(node) = open.pop() {
        if wanted(node) {
            return true;
        }
        let mut cursor = node.walk();
        open.extend(node.named_children(&mut cursor).filter(|child| !functions.contains(&child.kind())));
    }
    false
}
