//! Statements after which the next one is never reached.

use tree_sitter::Node;

use super::FUNCTIONS;
use crate::syntax::{contains, named_children, text};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leave {
    /// At least one way out is a return, so the statement itself is reached by a test that passes.
    Returns,
    Raises,
}

const RAISING_CALLS: &[&str] = &[
    "pytest.skip",
    "pytest.fail",
    "pytest.xfail",
    "self.skipTest",
    "self.fail",
    "sys.exit",
    "os._exit",
    "exit",
    "quit",
];

pub(super) fn leaves(statement: Node<'_>, source: &[u8]) -> Option<Leave> {
    match statement.kind() {
        "return_statement" => Some(Leave::Returns),
        "raise_statement" => Some(Leave::Raises),
        "expression_statement" => {
            let call = statement.named_child(0).filter(|node| node.kind() == "call")?;
            let function = text(call.child_by_field_name("function")?, source);
            RAISING_CALLS.contains(&&*function).then_some(Leave::Raises)
        }
        "if_statement" => branches(statement, source, "consequence"),
        "try_statement" => tried(statement, source),
        // What is raised inside may be swallowed, a return is not.
        "with_statement" => {
            let body = statement.child_by_field_name("body")?;
            block_leaves(body, source).filter(|leave| *leave == Leave::Returns)
        }
        "while_statement" => {
            let condition = text(statement.child_by_field_name("condition")?, source);
            let ends = contains(statement, &|node| node.kind() == "break_statement", FUNCTIONS);
            (matches!(&*condition, "True" | "1") && !ends).then_some(Leave::Returns)
        }
        _ => None,
    }
}

fn block_leaves(block: Node<'_>, source: &[u8]) -> Option<Leave> {
    named_children(block).into_iter().find_map(|statement| leaves(statement, source))
}

fn either(one: Leave, other: Leave) -> Leave {
    if one == Leave::Returns { one } else { other }
}

fn branches(statement: Node<'_>, source: &[u8], first: &str) -> Option<Leave> {
    let mut leave = block_leaves(statement.child_by_field_name(first)?, source)?;
    let mut has_else = false;
    for clause in named_children(statement) {
        let field = match clause.kind() {
            "elif_clause" => "consequence",
            "else_clause" => "body",
            _ => continue,
        };
        has_else |= clause.kind() == "else_clause";
        leave = either(leave, block_leaves(clause.child_by_field_name(field)?, source)?);
    }
    has_else.then_some(leave)
}

fn tried(statement: Node<'_>, source: &[u8]) -> Option<Leave> {
    let mut ends = block_leaves(statement.child_by_field_name("body")?, source);
    let mut handlers = Vec::new();
    for clause in named_children(statement) {
        let block = named_children(clause).into_iter().rfind(|node| node.kind() == "block");
        let leave = block.and_then(|block| block_leaves(block, source));
        match clause.kind() {
            "finally_clause" if leave.is_some() => return leave,
            "else_clause" => ends = ends.or(leave),
            "except_clause" | "except_group_clause" => handlers.push(leave),
            _ => {}
        }
    }
    handlers.into_iter().try_fold(ends?, |one, other| Some(either(one, other?)))
}
