//! An assertion in the opposite sense. An honest product surely fails it; one that answered in
//! the assertion's place, or replaced it, may not.

use std::ops::Range;

use tree_sitter::Node;

use crate::broken::{Edit, Plan, TestChange};
use crate::syntax::line;

#[derive(Clone, Debug)]
pub(crate) struct Turned {
    range: Range<usize>,
    line: usize,
    edits: Vec<Edit>,
}

impl Turned {
    /// The edits are within the node, in their order.
    pub fn of(assertion: Node<'_>, edits: Vec<Edit>) -> Self {
        Self::at(assertion.byte_range(), line(assertion), edits)
    }

    /// The edits are within the range, in their order.
    pub fn at(range: Range<usize>, line: usize, edits: Vec<Edit>) -> Self {
        Self { range, line, edits }
    }

    /// Another name, or operator, in the place of the node.
    pub fn renamed(assertion: Node<'_>, node: Node<'_>, name: &str) -> Self {
        let edit = Edit { from: node.start_byte(), to: node.end_byte(), text: name.to_owned() };
        Self::of(assertion, vec![edit])
    }

    /// What must hold must not.
    pub fn negated(assertion: Node<'_>, range: Range<usize>, before: &str) -> Self {
        Self::of(assertion, vec![Edit::insert(range.start, before), Edit::insert(range.end, ")")])
    }

    pub fn put_into(self, plan: &mut Plan, source: &[u8]) {
        let mut after = String::new();
        let mut done = self.range.start;
        for edit in &self.edits {
            after += &String::from_utf8_lossy(&source[done..edit.from]);
            after += &edit.text;
            done = edit.to;
        }
        after += &String::from_utf8_lossy(&source[done..self.range.end]);
        let before = String::from_utf8_lossy(&source[self.range.clone()]).into_owned();
        plan.change = TestChange::Literal { before, after, line: self.line };
        plan.edits = self.edits;
    }
}

/// The other one of a pair.
pub(crate) fn opposite<'p>(pairs: &[(&'p str, &'p str)], name: &str) -> Option<&'p str> {
    pairs.iter().find_map(|(one, other)| match name {
        name if name == *one => Some(*other),
        name if name == *other => Some(*one),
        _ => None,
    })
}
