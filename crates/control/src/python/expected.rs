//! The literal that an assertion expects, where the assertion is surely executed.

use tree_sitter::Node;

use super::turned::turned;
use super::{FUNCTIONS, Test, TestFile, leave, near, table};
use crate::literal::{Changeable, Expected};
use crate::local::Locals;
use crate::syntax::{contains, named_children, text};

/// Calls that compare their first two arguments.
const EQUALITIES: &[&str] = &[
    "self.assertEqual",
    "self.assertEquals",
    "self.assertListEqual",
    "self.assertTupleEqual",
    "self.assertDictEqual",
    "self.assertSetEqual",
    "self.assertSequenceEqual",
    "self.assertMultiLineEqual",
    "self.assertCountEqual",
    "self.assertIs",
];

/// Managers known to let every exception out.
const TRANSPARENT: &[&str] = &["open", "patch", "subTest", "TemporaryDirectory", "NamedTemporaryFile"];

/// Of each suitable assertion.
pub(super) fn changeable(test: &Test<'_>, file: &TestFile<'_>) -> Changeable {
    let mut names = Locals::of(test.body, file.source);
    for (name, values) in table::columns(&test.marks, file.source) {
        if !file.of_fixtures.contains(&name) {
            names.pass(name, values);
        }
    }
    let mut found = Changeable::default();
    Reader { file, names }.statements(test.body, &mut found);
    found
}

struct Reader<'t, 'f> {
    file: &'f TestFile<'f>,
    names: Locals<'t>,
}

impl<'t> Reader<'t, '_> {
    fn statements(&mut self, body: Node<'t>, found: &mut Changeable) {
        let source = self.file.source;
        for statement in named_children(body) {
            let inside = statement.named_child(0);
            let literal = match statement.kind() {
                "assert_statement" => inside.and_then(|node| self.compared(node)),
                "expression_statement" | "return_statement" => inside.and_then(|call| self.called(call)),
                _ => None,
            };
            found.add(literal, turned(statement, self.file));
            if let Some((name, value)) = inside.and_then(assigned) {
                self.names.assign(name, value, source);
            }
            if statement.kind() == "with_statement"
                && lets_out(statement, source)
                && let Some(body) = statement.child_by_field_name("body")
            {
                self.statements(body, found);
            }
            // What comes after a way out may never be reached by a test that passes.
            if leave::leaves(statement, source).is_some() || has_way_out(statement, source) {
                break;
            }
        }
    }

    /// One side of `==`, or of any comparison that is joined by `and`.
    fn compared(&self, expression: Node<'t>) -> Option<Expected> {
        match expression.kind() {
            "parenthesized_expression" => self.compared(expression.named_child(0)?),
            "boolean_operator" => {
                let operator = expression.child_by_field_name("operator")?;
                let (left, right) =
                    (expression.child_by_field_name("left")?, expression.child_by_field_name("right")?);
                // The right side of an `and` is reached whenever the left one holds.
                (operator.kind() == "and").then(|| self.compared(right).or_else(|| self.compared(left)))?
            }
            "comparison_operator" => {
                let sides = named_children(expression);
                let [left, right] = sides.as_slice() else { return None };
                let is_truth = |side: &Node<'_>| matches!(side.kind(), "true" | "false");
                match operator(expression)? {
                    "==" => self.one_side(*left, *right),
                    "is" if is_truth(right) => self.one_side(*left, *right),
                    "in" => self.absent(*left, *right),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn called(&self, call: Node<'t>) -> Option<Expected> {
        let function = call.child_by_field_name("function").filter(|_| call.kind() == "call")?;
        let arguments = named_children(call.child_by_field_name("arguments")?);
        let [left, right, ..] = arguments.as_slice() else { return None };
        match &*text(function, self.file.source) {
            "self.assertIn" => self.absent(*left, *right),
            "self.assertAlmostEqual" => near::almost_equal(&arguments, self.file.source),
            "self.assertCountEqual" => self.counted(*left, *right),
            name if EQUALITIES.contains(&name) => self.one_side(*left, *right),
            _ => None,
        }
    }

    fn one_side(&self, left: Node<'t>, right: Node<'t>) -> Option<Expected> {
        let (one, other) = (self.side(left, &|_| true), self.side(right, &|_| true));
        if one.is_some() || other.is_some() {
            return Expected::only(one, other);
        }
        let with_gaps = |side| Expected::with_gaps(side, self.file.source);
        Expected::only(with_gaps(left), with_gaps(right))
    }

    /// What of one side can change, where it is a literal that fits or the name of one.
    fn side(&self, node: Node<'t>, fits: &dyn Fn(Node<'t>) -> bool) -> Option<Expected> {
        let source = self.file.source;
        let read = |node: Node<'t>| {
            let literal = || Expected::of(node, source).or_else(|| near::approx(node, source));
            fits(node).then(literal)?
        };
        match node.kind() {
            "identifier" => self.names.expected(node, source, &|other| only_compares(other, source), &read),
            _ => read(node),
        }
    }

    /// Of a dictionary only the keys are counted.
    fn counted(&self, left: Node<'t>, right: Node<'t>) -> Option<Expected> {
        let fits = |node: Node<'t>| node.kind() != "dictionary";
        Expected::only(self.side(left, &fits), self.side(right, &fits))
    }

    /// `"404" in text`: something that is not in it.
    fn absent(&self, part: Node<'t>, whole: Node<'t>) -> Option<Expected> {
        let source = self.file.source;
        let is_literal = Expected::of(whole, source).is_some();
        (!is_literal).then(|| Expected::found_in(part, source))?
    }
}

/// `expected = 3`, with or without a type.
fn assigned(node: Node<'_>) -> Option<(Node<'_>, Node<'_>)> {
    let name = node.child_by_field_name("left").filter(|_| node.kind() == "assignment")?;
    let value = node.child_by_field_name("right")?;
    (name.kind() == "identifier").then_some((name, value))
}

/// The only operator of a comparison.
fn operator<'t>(comparison: Node<'t>) -> Option<&'t str> {
    let mut cursor = comparison.walk();
    let operators = comparison.children_by_field_name("operators", &mut cursor);
    let operators: Vec<&'t str> = operators.map(|operator| operator.kind()).collect();
    let [only] = operators.as_slice() else { return None };
    Some(only)
}

/// Whether a name stands on a side of an assertion that compares, or in its message.
fn only_compares(name: Node<'_>, source: &[u8]) -> bool {
    let is_side = name.parent().is_some_and(|parent| match parent.kind() {
        "comparison_operator" => operator(parent) == Some("=="),
        "argument_list" => parent.parent().is_some_and(|call| {
            let function = call.child_by_field_name("function");
            function.is_some_and(|function| EQUALITIES.contains(&&*text(function, source)))
        }),
        _ => false,
    });
    let mut inner = name;
    while let Some(outer) = inner.parent() {
        match outer.kind() {
            "assert_statement" => {
                return is_side || outer.named_child(0).is_some_and(|condition| condition.id() != inner.id());
            }
            "expression_statement" => return is_side && inner.kind() == "call",
            kind if kind.ends_with("_statement") || FUNCTIONS.contains(&kind) => return false,
            _ => inner = outer,
        }
    }
    false
}

fn has_way_out(statement: Node<'_>, source: &[u8]) -> bool {
    let leaves = |node: Node<'_>| {
        node.kind() == "return_statement"
            || node.kind() == "call" && {
                let function = node.child_by_field_name("function");
                let called = function.map(|function| text(function, source)).unwrap_or_default();
                called.ends_with("skip") || called.ends_with("skipTest") || called.ends_with("xfail")
            }
    };
    contains(statement, &leaves, FUNCTIONS)
}

fn lets_out(with: Node<'_>, source: &[u8]) -> bool {
    let Some(clause) = named_children(with).into_iter().find(|node| node.kind() == "with_clause") else {
        return false;
    };
    named_children(clause).into_iter().all(|item| {
        let written = text(item, source);
        let called = written.split('(').next().unwrap_or_default();
        TRANSPARENT.contains(&called.rsplit('.').next().unwrap_or_default())
            || called.ends_with("patch.object")
            || called.ends_with("patch.dict")
    })
}
