//! Tests among the tokens of a macro call: `proptest! { #[test] fn … }`.

use tree_sitter::Node;

use super::{Body, Test, is_test, obstacle_of};
use crate::broken::{Edit, Obstacle, TitlePart};
use crate::syntax::{line, named_children, text};

/// Adds the tests of a macro call.
pub(super) fn tests<'t>(call: Node<'t>, source: &[u8], modules: &[TitlePart], into: &mut Vec<Test<'t>>) {
    for tokens in named_children(call).into_iter().filter(|node| node.kind() == "token_tree") {
        scan(tokens, source, modules, into);
    }
}

fn scan<'t>(tokens: Node<'t>, source: &[u8], modules: &[TitlePart], into: &mut Vec<Test<'t>>) {
    let mut cursor = tokens.walk();
    let children: Vec<Node<'t>> = tokens.children(&mut cursor).collect();
    let mut attributes: Vec<String> = Vec::new();
    let mut at = 0;
    while at < children.len() {
        let (node, next) = (children[at], children.get(at + 1));
        match (node.kind(), next) {
            ("#", Some(list)) if list.kind() == "token_tree" => {
                attributes.push(format!("#{}", text(*list, source)));
                at += 1;
            }
            ("fn", Some(name)) => {
                // The body is the next group in braces.
                let body = children[at..].iter().position(|node| is_braced(*node, source));
                if is_test(&attributes) {
                    into.extend(body.map(|body| Test {
                        name: [modules, &[TitlePart::exactly(text(*name, source))]].concat(),
                        line: line(node),
                        body: Body::Tokens(children[at + body]),
                        obstacle: obstacle_of(&attributes),
                        must_panic: attributes.iter().any(|mark| mark.contains("should_panic")),
                    }));
                }
                attributes.clear();
                at += body.unwrap_or_default();
            }
            ("token_tree", _) => scan(node, source, modules, into),
            _ => {}
        }
        at += 1;
    }
}

fn is_braced(node: Node<'_>, source: &[u8]) -> bool {
    node.kind() == "token_tree" && source.get(node.start_byte()) == Some(&b'{')
}

/// Tokens have no statements: only a body that surely has no value takes one more.
pub(super) fn at_end(tokens: Node<'_>, source: &[u8], statement: &str) -> Result<Vec<Edit>, Obstacle> {
    let inside = tokens.start_byte() + 1..tokens.end_byte().saturating_sub(1);
    let written = String::from_utf8_lossy(source.get(inside).unwrap_or_default());
    let written = written.trim_end();
    let has_value = !(written.trim().is_empty() || written.ends_with(';') || written.ends_with('}'));
    if has_value || written.contains("return") {
        return Err(Obstacle::UnknownForm);
    }
    Ok(vec![Edit::insert(tokens.end_byte() - 1, format!(" {statement} "))])
}
