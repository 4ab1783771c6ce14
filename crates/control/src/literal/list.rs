//! A collection with one item more, or one less.

use std::collections::BTreeSet;
use std::ops::Range;

use tree_sitter::Node;

use super::Draw;
use crate::broken::Edit;
use crate::numbers::Direction;
use crate::syntax::text;

/// On one line, so that the lines below stay where they are, and with two items or more.
#[derive(Clone, Debug)]
pub(super) struct List(Vec<Range<usize>>);

impl List {
    pub fn read(items: Vec<Range<usize>>, source: &[u8]) -> Option<Self> {
        let (first, last) = (items.first()?, items.last()?);
        let written = source.get(first.start..last.end)?;
        (items.len() > 1 && !written.contains(&b'\n')).then_some(Self(items))
    }

    pub fn range(&self) -> Range<usize> {
        self.0[0].start..self.0[self.0.len() - 1].end
    }

    pub fn change(&self, source: &[u8], draw: &mut Draw<'_>) -> Edit {
        let place = draw.place(self.0.len());
        let item = self.0[place].clone();
        match draw.aim.direction {
            Direction::Up => {
                let again = String::from_utf8_lossy(&source[item.clone()]).into_owned();
                if draw.aim.is_first {
                    Edit::insert(item.start, format!("{again}, "))
                } else {
                    Edit::insert(item.end, format!(", {again}"))
                }
            }
            Direction::Down => {
                let (from, to) = match self.0.get(place + 1) {
                    Some(next) => (item.start, next.start),
                    None => (self.0[place - 1].end, item.end),
                };
                Edit { from, to, text: String::new() }
            }
        }
    }
}

/// Not where a type says how long it is, nor where one item may be written twice.
pub(super) fn may_change_its_length(node: Node<'_>, children: &[Node<'_>]) -> bool {
    match node.kind() {
        "list" | "array" => true,
        // With one item less than two a tuple is written in another way.
        "tuple" => children.len() > 2,
        _ => false,
    }
}

/// Of a pair that is overwritten by a later one, or of one of two equal members, another value
/// changes nothing.
pub(super) fn has_distinct_items(node: Node<'_>, children: &[Node<'_>], source: &[u8]) -> bool {
    if !matches!(node.kind(), "set" | "dictionary" | "object") {
        return true;
    }
    let keys: Vec<Node<'_>> =
        children.iter().map(|child| child.child_by_field_name("key").unwrap_or(*child)).collect();
    are_distinct(&keys, source)
}

pub(super) fn are_distinct(nodes: &[Node<'_>], source: &[u8]) -> bool {
    let mut seen = BTreeSet::new();
    nodes.iter().all(|node| {
        let written = text(*node, source).trim_matches(['"', '\'']).to_owned();
        // What stands in for a prototype is not compared everywhere.
        written != "__proto__" && seen.insert(written)
    })
}
