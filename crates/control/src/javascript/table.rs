//! The values that a table hands to the parameters of a test.

use tree_sitter::Node;

use crate::syntax::{named_children, text};

/// Types of parameters that any other literal of the kind fits.
const WIDE: &[&str] = &[": string", ": number", ": boolean"];

/// Of `test.each([[1, 'I'], …])('…', (n, expected) => …)` and `test.each([{ n: 1, expected: 'I' }, …])`: each
/// name with its value in each row.
pub(super) fn columns<'t>(function: Node<'t>, source: &[u8]) -> Vec<(String, Vec<Node<'t>>)> {
    let Some(rows) = rows(function, source) else { return Vec::new() };
    let parameters = function.child_by_field_name("parameters").map(named_children).unwrap_or_default();
    let parameters = parameters.into_iter().chain(function.child_by_field_name("parameter")).enumerate();
    parameters.flat_map(|(at, parameter)| of_parameter(parameter, at, &rows, source)).collect()
}

fn rows<'t>(function: Node<'t>, source: &[u8]) -> Option<Vec<Node<'t>>> {
    let call = function.parent()?.parent().filter(|call| call.kind() == "call_expression")?;
    let table = call.child_by_field_name("function").filter(|table| table.kind() == "call_expression")?;
    let each = text(table.child_by_field_name("function")?, source);
    let given = named_children(table.child_by_field_name("arguments")?);
    let [rows] = given.as_slice() else { return None };
    (each.ends_with(".each") && rows.kind() == "array").then(|| named_children(*rows))
}

fn of_parameter<'t>(
    parameter: Node<'t>,
    at: usize,
    rows: &[Node<'t>],
    source: &[u8],
) -> Vec<(String, Vec<Node<'t>>)> {
    let typed = parameter.child_by_field_name("type");
    if typed.is_some_and(|typed| !WIDE.contains(&&*text(typed, source))) {
        return Vec::new();
    }
    let pattern = parameter.child_by_field_name("pattern").unwrap_or(parameter);
    match pattern.kind() {
        "identifier" => {
            let values = rows.iter().filter_map(|row| match row.kind() {
                "array" => named_children(*row).get(at).copied().filter(|_| !has_spread(*row)),
                _ => Some(*row).filter(|_| at == 0),
            });
            vec![(text(pattern, source).into_owned(), values.collect())]
        }
        "object_pattern" if at == 0 => {
            let names = named_children(pattern).into_iter();
            let names = names.filter(|name| name.kind() == "shorthand_property_identifier_pattern");
            let names = names.map(|name| text(name, source).into_owned());
            names
                .map(|name| {
                    let values = rows.iter().filter_map(|row| member(*row, &name, source)).collect();
                    (name, values)
                })
                .collect()
        }
        _ => Vec::new(),
    }
}

fn has_spread(row: Node<'_>) -> bool {
    named_children(row).iter().any(|item| item.kind() == "spread_element")
}

/// The value of a key that is there once.
fn member<'t>(row: Node<'t>, name: &str, source: &[u8]) -> Option<Node<'t>> {
    let members = named_children(row);
    let is_named =
        |member: &&Node<'t>| member.child_by_field_name("key").is_some_and(|key| text(key, source) == name);
    let own: Vec<&Node<'t>> = members.iter().filter(is_named).collect();
    let [only] = own.as_slice() else { return None };
    (row.kind() == "object" && !has_spread(row)).then(|| only.child_by_field_name("value"))?
}
