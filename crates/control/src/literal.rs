//! What an assertion expects, and another value of the same type for it.
//!
//! Which element, which letter, whether larger or smaller and by how much is drawn: an object
//! that is equal to everything with the same last element, or to everything larger, is found.
//! A number stays in the range of the type that it may have, so that the file still compiles.

mod letters;
mod list;
mod number;
mod part;

use std::ops::Range;

use tree_sitter::Node;

use crate::broken::{Edit, Plan, TestChange};
use crate::numbers::{Aim, Numbers};
use crate::syntax::{line, named_children, text};
use crate::turned::Turned;
use letters::Letters;
use list::List;
use number::Number;
use part::Part;

/// A literal, or a collection of nothing but literals.
#[derive(Clone, Debug)]
pub(crate) struct Expected {
    leaves: Vec<Leaf>,
    /// Whose number of items may change.
    lists: Vec<List>,
    line: usize,
    gaps: Gaps,
    chosen: Chosen,
}

/// Which of the literals become others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Chosen {
    One,
    All,
}

/// Whether something else than literals may stand in a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gaps {
    None,
    /// Another value elsewhere makes the whole another one, whatever is there.
    Anywhere,
}

/// A literal that has another value.
#[derive(Clone, Debug)]
struct Leaf {
    range: Range<usize>,
    line: usize,
    value: Value,
}

#[derive(Clone, Debug)]
enum Value {
    Number(Number),
    Letters(Letters),
    /// An empty text, or one of nothing but signs: where a letter fits in.
    NoLetters(usize),
    /// A text that is looked for in another.
    Part(Part),
    Truth(&'static str),
}

/// What of a test can be changed so that it surely fails.
#[derive(Debug, Default)]
pub(crate) struct Changeable {
    pub literals: Vec<Expected>,
    pub assertions: Vec<Turned>,
}

impl Changeable {
    pub fn add(&mut self, literal: Option<Expected>, assertion: Option<Turned>) {
        self.literals.extend(literal);
        self.assertions.extend(assertion);
    }

    /// Any one of them, and a literal where there is one: an answer that is equal to everything is
    /// never unequal, which is what an assertion that is turned over asks.
    /// Who knows which value is changed can be right there, and wrong everywhere else.
    pub fn change_any(mut self, source: &[u8], plan: &mut Plan, numbers: &mut Numbers) {
        let aim = numbers.aim(&format!("{:?}", plan.name));
        let is_turned = numbers.turns_assertions();
        let turned = numbers.index(self.assertions.len());
        let literal = numbers.index(self.literals.len());
        if !self.assertions.is_empty() && (is_turned || self.literals.is_empty()) {
            self.assertions.swap_remove(turned).put_into(plan, source);
        } else if !self.literals.is_empty() {
            self.literals.swap_remove(literal).put_into(plan, source, &mut Draw { aim, numbers });
        }
    }
}

/// What is left to chance for one test.
struct Draw<'n> {
    aim: Aim,
    numbers: &'n mut Numbers,
}

impl Draw<'_> {
    /// One of so many in a row, in the half that is aimed at, and every second time the outermost.
    fn place(&mut self, count: usize) -> usize {
        let first_half = count.div_ceil(2);
        let outermost = self.numbers.index(2) == 0;
        match (self.aim.is_first, outermost) {
            (true, true) => 0,
            (true, false) => self.numbers.index(first_half),
            (false, true) => count.saturating_sub(1),
            (false, false) => (first_half + self.numbers.index(count - first_half)).min(count - 1),
        }
    }

    /// Now and then.
    fn one_in(&mut self, times: usize) -> bool {
        self.numbers.index(times) == 0
    }

    /// From the first to the last of them.
    fn between(&mut self, first: u64, last: u64) -> u64 {
        first + self.numbers.below((last - first).saturating_add(1))
    }
}

impl Expected {
    /// `None` where no value of it is surely another one.
    pub fn of(node: Node<'_>, source: &[u8]) -> Option<Self> {
        Self::new(line(node), Gaps::None).reading(node, source, Sign::Plus)
    }

    /// What stands behind a minus.
    pub fn negative(node: Node<'_>, source: &[u8]) -> Option<Self> {
        Self::new(line(node), Gaps::None).reading(node, source, Sign::Minus)
    }

    /// The literals in a collection that has other items, too.
    pub fn with_gaps(node: Node<'_>, source: &[u8]) -> Option<Self> {
        let is_collection = matches!(form(node, source), Form::Collection | Form::Entries);
        is_collection.then(|| Self::new(line(node), Gaps::Anywhere).reading(node, source, Sign::Plus))?
    }

    fn new(line: usize, gaps: Gaps) -> Self {
        Self { leaves: Vec::new(), lists: Vec::new(), line, gaps, chosen: Chosen::One }
    }

    fn reading(mut self, node: Node<'_>, source: &[u8], sign: Sign) -> Option<Self> {
        let is_literal = self.read(node, source, sign);
        (is_literal && !self.leaves.is_empty()).then_some(self)
    }

    fn of_leaf(leaf: Leaf) -> Self {
        let line = leaf.line;
        Self { leaves: vec![leaf], ..Self::new(line, Gaps::None) }
    }

    /// A text that is no literal.
    pub fn of_letters(range: Range<usize>, source: &[u8]) -> Option<Self> {
        let line = source[..range.start].iter().filter(|byte| **byte == b'\n').count() + 1;
        let value = Value::Letters(Letters::of_text(range.clone(), source)?);
        Some(Self::of_leaf(Leaf { range, line, value }))
    }

    /// A text that is to be found in another: one that surely is not.
    pub fn found_in(node: Node<'_>, source: &[u8]) -> Option<Self> {
        let (range, line) = (node.byte_range(), line(node));
        let value = Value::Part(Part::read(node, source)?);
        Some(Self::of_leaf(Leaf { range, line, value }))
    }

    /// The expected one of the two sides of a comparison. Where both are literals the test is
    /// about nothing.
    pub fn one_side(left: Node<'_>, right: Node<'_>, source: &[u8]) -> Option<Self> {
        Self::only(Self::of(left, source), Self::of(right, source))
    }

    pub fn only(left: Option<Self>, right: Option<Self>) -> Option<Self> {
        match (left, right) {
            (None, Some(expected)) | (Some(expected), None) => Some(expected),
            (None, None) | (Some(_), Some(_)) => None,
        }
    }

    /// A collection of all of them.
    pub fn joined(all: Vec<Self>) -> Option<Self> {
        all.into_iter().reduce(|mut whole, next| {
            whole.leaves.extend(next.leaves);
            whole.lists.extend(next.lists);
            whole
        })
    }

    /// A collection that may have one more item, or one less.
    pub fn with_list(mut self, items: Vec<Range<usize>>, source: &[u8]) -> Self {
        self.lists.extend(List::read(items, source));
        self
    }

    /// Where a runner tells its failure, if not where it stands.
    pub fn told_at(mut self, line: usize) -> Self {
        self.line = line;
        for leaf in &mut self.leaves {
            leaf.line = line;
        }
        self
    }

    /// All literals at once: some of them may make no difference.
    pub fn together(mut self) -> Self {
        self.lists.clear();
        self.chosen = Chosen::All;
        self
    }

    /// A count: an assertion refuses one below zero, whatever was counted.
    pub fn counting(mut self) -> Self {
        for leaf in &mut self.leaves {
            if let Value::Number(number) = &mut leaf.value {
                number.stays_positive();
            }
        }
        self
    }

    /// Whether it is a literal. Adds what of it can change.
    fn read(&mut self, node: Node<'_>, source: &[u8], sign: Sign) -> bool {
        let children = named_children(node);
        let value = match form(node, source) {
            Form::Number => Number::read(node, source, sign).map(Value::Number),
            Form::Text => string(node, source),
            Form::Character => Letters::of_character(node, source).map(Value::Letters),
            Form::Truth => truth(node, source).map(Value::Truth),
            Form::Fixed => None,
            Form::Other => return self.gaps == Gaps::Anywhere,
            Form::Pair => return self.pair(&children, source),
            Form::Entries => return self.entries(node, source),
            Form::Wrapped => {
                return children.iter().all(|child| self.read(*child, source, sign));
            }
            Form::Negative => {
                return children.iter().all(|child| self.read(*child, source, Sign::Minus));
            }
            Form::Collection => return self.items(node, &children, source),
        };
        self.leaves.extend(value.map(|value| Leaf { range: node.byte_range(), line: line(node), value }));
        true
    }

    fn items(&mut self, node: Node<'_>, children: &[Node<'_>], source: &[u8]) -> bool {
        // As many as it says are no items.
        let is_counted = node.kind() == "array_expression" && node.child_by_field_name("length").is_some();
        if is_counted || !list::has_distinct_items(node, children, source) {
            return false;
        }
        if self.gaps == Gaps::Anywhere {
            // What is spread into it may have the same keys, and be equal to a member.
            let is_sure = |child: &Node<'_>| match node.kind() {
                "set" => form(*child, source) != Form::Other,
                "dictionary" | "object" => !matches!(child.kind(), "dictionary_splat" | "spread_element"),
                _ => true,
            };
            if !children.iter().all(is_sure) {
                return false;
            }
        } else if list::may_change_its_length(node, children) {
            let items = children.iter().map(Node::byte_range).collect();
            self.lists.extend(List::read(items, source));
        }
        children.iter().all(|child| self.read(*child, source, Sign::Plus))
    }

    /// Of `new Map([['a', 1]])` and `new Set(['a'])`, where one more of the same changes nothing.
    fn entries(&mut self, node: Node<'_>, source: &[u8]) -> bool {
        let name = node.child_by_field_name("constructor").map(|name| text(name, source));
        let given = node.child_by_field_name("arguments").map(named_children).unwrap_or_default();
        let [list] = given.as_slice() else { return false };
        let items = named_children(*list);
        let is_sure = |item: &Node<'_>| form(*item, source) != Form::Other;
        if list.kind() != "array" || !items.iter().all(is_sure) {
            return false;
        }
        if name.as_deref() == Some("Set") {
            return list::are_distinct(&items, source)
                && items.iter().all(|item| self.read(*item, source, Sign::Plus));
        }
        let entries: Vec<Vec<Node<'_>>> = items.iter().map(|entry| named_children(*entry)).collect();
        let keys: Vec<Node<'_>> = entries.iter().filter_map(|entry| entry.first().copied()).collect();
        let are_pairs =
            items.iter().all(|entry| entry.kind() == "array") && entries.iter().all(|entry| entry.len() == 2);
        are_pairs
            && keys.iter().all(is_sure)
            && list::are_distinct(&keys, source)
            && entries.iter().flatten().all(|part| self.read(*part, source, Sign::Plus))
    }

    /// With the key where its type cannot say which keys there are.
    fn pair(&mut self, children: &[Node<'_>], source: &[u8]) -> bool {
        let [key, value] = children else { return false };
        let mut of_key = Self::new(self.line, Gaps::None);
        if !of_key.read(*key, source, Sign::Plus) {
            return false;
        }
        if key.parent().and_then(|pair| pair.parent()).is_some_and(|whole| whole.kind() == "dictionary") {
            self.leaves.extend(of_key.leaves);
        }
        self.read(*value, source, Sign::Plus)
    }

    fn put_into(mut self, plan: &mut Plan, source: &[u8], draw: &mut Draw<'_>) {
        if self.chosen == Chosen::All {
            self.leaves.sort_by_key(|leaf| leaf.range.start);
            let edits: Vec<Edit> = self.leaves.iter().map(|leaf| leaf.change(source, draw)).collect();
            if let (Some(first), Some(last)) = (self.leaves.first(), self.leaves.last()) {
                Turned::at(first.range.start..last.range.end, self.line, edits).put_into(plan, source);
            }
            return;
        }
        let (range, line, edit) = if !self.lists.is_empty() && draw.one_in(4) {
            let list = &self.lists[draw.numbers.index(self.lists.len())];
            (list.range(), self.line, list.change(source, draw))
        } else {
            let Some(leaf) = self.leaves.get(draw.place(self.leaves.len())) else { return };
            (leaf.range.clone(), leaf.line, leaf.change(source, draw))
        };
        let before = String::from_utf8_lossy(&source[range.clone()]).into_owned();
        let (head, tail) = (&source[range.start..edit.from], &source[edit.to..range.end]);
        let after = [head, edit.text.as_bytes(), tail].concat();
        let after = String::from_utf8_lossy(&after).into_owned();
        plan.change = TestChange::Literal { before, after, line };
        plan.edits = vec![edit];
    }
}

impl Leaf {
    fn change(&self, source: &[u8], draw: &mut Draw<'_>) -> Edit {
        match &self.value {
            Value::Number(number) => number.change(source, draw),
            Value::Letters(letters) => letters.change(draw),
            Value::Part(part) => part.change(source, draw),
            Value::NoLetters(at) => Edit::insert(*at, letters::any_letter(draw)),
            Value::Truth(other) => {
                Edit { from: self.range.start, to: self.range.end, text: (*other).to_owned() }
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    Plus,
    Minus,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Number,
    Text,
    Character,
    Truth,
    Collection,
    /// A map or a set of JavaScript.
    Entries,
    Pair,
    Wrapped,
    /// Behind a minus.
    Negative,
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
        "new_expression" => {
            let name = node.child_by_field_name("constructor").map(|name| text(name, source));
            if matches!(name.as_deref(), Some("Map" | "Set")) { Form::Entries } else { Form::Other }
        }
        "pair" => Form::Pair,
        "parenthesized_expression" | "reference_expression" => Form::Wrapped,
        "unary_operator" | "unary_expression" if source.get(node.start_byte()) == Some(&b'-') => {
            Form::Negative
        }
        "none" | "null" | "undefined" | "nil" | "property_identifier" => Form::Fixed,
        _ => Form::Other,
    }
}

fn string(node: Node<'_>, source: &[u8]) -> Option<Value> {
    let children = named_children(node);
    if children.iter().any(|child| matches!(child.kind(), "interpolation" | "template_substitution")) {
        return None;
    }
    if let Some(letters) = Letters::of_string(node, source) {
        return Some(Value::Letters(letters));
    }
    let written = source.get(node.byte_range())?;
    let quoted = written.len() >= 2 && matches!(written[0], b'"' | b'\'' | b'`');
    let triple = written.len() >= 6 && written[..3] == [written[0]; 3];
    (quoted && !triple).then(|| Value::NoLetters(node.end_byte() - 1))
}

fn truth(node: Node<'_>, source: &[u8]) -> Option<&'static str> {
    match &*text(node, source) {
        "True" => Some("False"),
        "False" => Some("True"),
        "true" => Some("false"),
        "false" => Some("true"),
        _ => None,
    }
}
