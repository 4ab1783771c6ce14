//! Names that stand for a literal: what a test gives them once, and only compares.

use std::collections::BTreeMap;

use tree_sitter::Node;

use crate::literal::Expected;
use crate::syntax::{line, text};

/// All that is named in the body of a test, and what was seen to be given to a name.
pub(crate) struct Locals<'t> {
    mentions: BTreeMap<String, Vec<Node<'t>>>,
    values: BTreeMap<String, Given<'t>>,
}

enum Given<'t> {
    /// By a statement, which names it first.
    Assigned(Node<'t>),
    /// From outside, any of these.
    Passed(Vec<Node<'t>>),
}

impl<'t> Locals<'t> {
    pub fn of(body: Node<'t>, source: &[u8]) -> Self {
        let mut mentions: BTreeMap<String, Vec<Node<'t>>> = BTreeMap::new();
        let mut open = vec![body];
        while let Some(node) = open.pop() {
            if matches!(node.kind(), "identifier" | "shorthand_property_identifier") {
                mentions.entry(text(node, source).into_owned()).or_default().push(node);
            }
            let mut cursor = node.walk();
            open.extend(node.named_children(&mut cursor));
        }
        for all in mentions.values_mut() {
            all.sort_by_key(Node::start_byte);
        }
        Self { mentions, values: BTreeMap::new() }
    }

    /// Call it once the statement was surely executed.
    pub fn assign(&mut self, name: Node<'t>, value: Node<'t>, source: &[u8]) {
        let name = text(name, source).into_owned();
        self.values.entry(name).or_insert(Given::Assigned(value));
    }

    pub fn pass(&mut self, name: String, values: Vec<Node<'t>>) {
        self.values.insert(name, Given::Passed(values));
    }

    /// The literal that stands for the name, where everything that names it only compares it: whatever is made
    /// of the literal reaches nothing but assertions then.
    pub fn expected(
        &self,
        name: Node<'_>,
        source: &[u8],
        only_compares: &dyn Fn(Node<'t>) -> bool,
        read: &dyn Fn(Node<'t>) -> Option<Expected>,
    ) -> Option<Expected> {
        let written = text(name, source);
        let mentions = self.mentions.get(&*written)?;
        let (values, uses) = match self.values.get(&*written)? {
            Given::Assigned(value) => {
                let (first, uses) = mentions.split_first()?;
                let is_given_there = first.end_byte() <= value.start_byte()
                    && uses.iter().all(|node| node.start_byte() >= value.end_byte());
                (is_given_there.then(|| vec![*value])?, uses)
            }
            Given::Passed(values) => (values.clone(), mentions.as_slice()),
        };
        // Many assertions of one name would be looked through again for each of them.
        if uses.len() > MOST_USES || !uses.iter().all(|node| only_compares(*node)) {
            return None;
        }
        let all = values.into_iter().filter_map(read).collect();
        Some(Expected::joined(all)?.told_at(line(name)))
    }
}

const MOST_USES: usize = 20;
