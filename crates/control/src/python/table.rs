//! The values that a table of pytest hands to the parameters of a test.

use std::collections::BTreeSet;

use tree_sitter::Node;

use super::parts_of;
use crate::syntax::{named_children, text};

/// Of `@pytest.mark.parametrize("n, expected", [(1, "I"), …])`: each name with its value in each row that is
/// surely run.
pub(super) fn columns<'t>(marks: &[Node<'t>], source: &[u8]) -> Vec<(String, Vec<Node<'t>>)> {
    marks.iter().filter_map(|mark| of_mark(*mark, source)).flatten().collect()
}

fn of_mark<'t>(mark: Node<'t>, source: &[u8]) -> Option<Vec<(String, Vec<Node<'t>>)>> {
    let call = mark.named_child(0).filter(|call| call.kind() == "call")?;
    let called = text(call.child_by_field_name("function")?, source);
    if called.rsplit('.').next() != Some("parametrize") {
        return None;
    }
    let arguments = named_children(call.child_by_field_name("arguments")?);
    let [names, rows, options @ ..] = arguments.as_slice() else { return None };
    // What is `indirect` goes to a fixture, which makes something of it.
    let is_plain = options.iter().all(|option| {
        let name = option.child_by_field_name("name").map(|name| text(name, source));
        name.is_some_and(|name| matches!(&*name, "ids" | "scope"))
    });
    let names = names_of(*names, source)?;
    if !is_plain || !matches!(rows.kind(), "list" | "tuple") {
        return None;
    }
    let rows: Vec<Vec<Node<'t>>> =
        named_children(*rows).into_iter().filter_map(|row| values_of(row, names.len(), source)).collect();
    let column = |(at, name): (usize, String)| (name, rows.iter().map(|row| row[at]).collect());
    Some(names.into_iter().enumerate().map(column).collect())
}

/// `"n, expected"`, `["n", "expected"]` or `("n", "expected")`.
fn names_of(node: Node<'_>, source: &[u8]) -> Option<Vec<String>> {
    let content = |node: Node<'_>| {
        let parts = named_children(node);
        let content = parts.iter().find(|part| part.kind() == "string_content");
        content.filter(|_| node.kind() == "string").map(|content| text(*content, source).into_owned())
    };
    let names: Vec<String> = match node.kind() {
        "string" => content(node)?.split(',').map(|name| name.trim().to_owned()).collect(),
        "list" | "tuple" => named_children(node).into_iter().map(content).collect::<Option<_>>()?,
        _ => return None,
    };
    Some(names).filter(|names| !names.is_empty())
}

/// One for each name. A row with a mark may be skipped, or be meant to fail.
fn values_of<'t>(row: Node<'t>, count: usize, source: &[u8]) -> Option<Vec<Node<'t>>> {
    let values = match row.kind() {
        "call" => {
            let called = text(row.child_by_field_name("function")?, source);
            let given = named_children(row.child_by_field_name("arguments")?);
            let named = |node: &Node<'_>| node.kind() == "keyword_argument";
            let id_only = |node: &Node<'_>| {
                node.child_by_field_name("name").is_some_and(|name| text(name, source) == "id")
            };
            let is_plain = matches!(&*called, "pytest.param" | "param")
                && given.iter().filter(|node| named(node)).all(id_only);
            is_plain.then(|| given.into_iter().filter(|node| !named(node)).collect())?
        }
        "tuple" | "list" if count > 1 => named_children(row),
        _ => vec![row],
    };
    (values.len() == count && values.iter().all(|value| value.kind() != "list_splat")).then_some(values)
}

/// Names that a fixture of the file asks for: what it makes of the value of a row may be anything.
pub(super) fn asked_for_by_fixtures(root: Node<'_>, source: &[u8]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut open = vec![root];
    while let Some(node) = open.pop() {
        let is_fixture = node.kind() == "decorated_definition"
            && parts_of(node, "decorator")
                .iter()
                .any(|mark| super::mark_of(*mark, source).contains("fixture"));
        if is_fixture
            && let Some(definition) = node.child_by_field_name("definition")
            && let Some(parameters) = definition.child_by_field_name("parameters")
        {
            names.extend(named_children(parameters).into_iter().map(|name| text(name, source).into_owned()));
        }
        open.extend(named_children(node).into_iter().filter(|child| {
            matches!(child.kind(), "decorated_definition" | "class_definition" | "block" | "if_statement")
        }));
    }
    names
}
