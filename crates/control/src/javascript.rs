//! JavaScript and TypeScript: calls such as `test(title, body)`, of node, jest, vitest,
//! mocha and Deno.

mod body;
mod call;
mod expected;
mod imports;
mod table;
mod title;
mod turned;

use std::collections::BTreeMap;

use tree_sitter::Node;

use crate::broken::{Edit, Obstacle, Plan, TestChange, TitlePart};
use crate::numbers::{Numbers, Pair};
use crate::syntax::{line, named_children};
use call::{Body, Call, CallKind};
use imports::Imports;

/// Kinds of nodes that begin a body of their own.
const FUNCTIONS: &[&str] = &[
    "arrow_function",
    "function_expression",
    "function_declaration",
    "generator_function",
    "generator_function_declaration",
    "method_definition",
    "class_declaration",
    "class",
];

pub(crate) fn break_tests(root: Node<'_>, source: &[u8], numbers: &mut Numbers) -> Vec<Plan> {
    changed(found(root, source), |function, plan| {
        let pair = numbers.pair();
        plan.change = TestChange::Fails { left: pair.left, right: pair.right };
        match body::failing_end(function, source, &error(pair)) {
            Some(edits) => plan.edits = edits,
            None => plan.give_up(Obstacle::AlwaysLeaves),
        }
    })
}

pub(crate) fn change_literals(root: Node<'_>, source: &[u8], numbers: &mut Numbers) -> Vec<Plan> {
    let file = TestFile::read(root, source);
    changed(found(root, source), |function, plan| {
        expected::changeable(function, &file).change_any(source, plan, numbers);
    })
}

/// What is read once for all assertions of a file.
struct TestFile<'s> {
    source: &'s [u8],
    of_ava: bool,
    /// To an old one all maps are equal.
    of_tape: bool,
    /// Whether a compiler reads it that may refuse it.
    is_typed: bool,
    imports: Imports,
}

impl<'s> TestFile<'s> {
    fn read(root: Node<'_>, source: &'s [u8]) -> Self {
        let all = String::from_utf8_lossy(source);
        let of_ava = all.contains("'ava'") || all.contains("\"ava\"");
        let of_tape = all.contains("tape'") || all.contains("tape\"");
        let is_typed = *root.language() != tree_sitter_javascript::LANGUAGE.into();
        Self { source, of_ava, of_tape, is_typed, imports: Imports::read(root, source) }
    }
}

/// Two tests may share a function: what breaks one breaks the other, and is done once.
fn changed(tests: Vec<Test<'_>>, mut change: impl FnMut(Node<'_>, &mut Plan)) -> Vec<Plan> {
    let mut done: BTreeMap<usize, (TestChange, Vec<Edit>)> = BTreeMap::new();
    let mut plans = Vec::new();
    for test in tests {
        let mut plan = test.plan(TestChange::Unchanged(Obstacle::NoLiteral));
        match test.function {
            Err(obstacle) => plan.give_up(obstacle),
            Ok(function) => match done.get(&function.id()) {
                Some((change, edits)) => (plan.change, plan.edits) = (change.clone(), edits.clone()),
                None => {
                    change(function, &mut plan);
                    done.insert(function.id(), (plan.change.clone(), plan.edits.clone()));
                }
            },
        }
        plans.push(plan);
    }
    plans
}

/// Comparing two different numbers is an error in TypeScript: it is thrown, or handed on, at once.
fn error(pair: Pair) -> String {
    let Pair { left, right } = pair;
    pair.choose([
        format!("new Error(\"expected {left} to equal {right}\")"),
        format!("new Error('expected {left} but got {right}')"),
        format!("new TypeError(`{left} is not {right}`)"),
        format!("new RangeError(\"got {left}, want {right}\")"),
    ])
}

struct Test<'t> {
    name: Vec<TitlePart>,
    line: usize,
    function: Result<Node<'t>, Obstacle>,
}

impl Test<'_> {
    fn plan(&self, change: TestChange) -> Plan {
        Plan { name: self.name.clone(), line: self.line, change, edits: Vec::<Edit>::new() }
    }
}

fn found<'t>(root: Node<'t>, source: &[u8]) -> Vec<Test<'t>> {
    let mut walk = Walk { root, source, tests: Vec::new() };
    walk.inside(root, &Place { titles: Vec::new(), obstacle: None });
    walk.tests
}

struct Walk<'t, 's> {
    root: Node<'t>,
    source: &'s [u8],
    tests: Vec<Test<'t>>,
}

struct Place {
    titles: Vec<TitlePart>,
    /// What holds for everything in the suite.
    obstacle: Option<Obstacle>,
}

impl<'t> Walk<'t, '_> {
    fn inside(&mut self, node: Node<'t>, place: &Place) {
        for child in named_children(node) {
            match (child.kind() == "call_expression").then(|| Call::read(child, self.source)).flatten() {
                Some(call) => self.call(child, call, place),
                None => self.inside(child, place),
            }
        }
    }

    fn call(&mut self, node: Node<'t>, call: Call<'t>, place: &Place) {
        let mut titles = place.titles.clone();
        titles.push(call.title);
        let obstacle = place.obstacle.or(call.obstacle);
        if call.kind == CallKind::Test {
            let syntax = if node.has_error() { Err(Obstacle::Syntax) } else { Ok(()) };
            let body = match call.body {
                Body::Function(function) => Ok(function),
                Body::Named(name) => self.declared(&name).ok_or(Obstacle::BodyElsewhere),
                Body::Missing => Err(Obstacle::Skipped),
                Body::Unknown => Err(Obstacle::BodyElsewhere),
            };
            let function = obstacle.map_or(Ok(()), Err).and(syntax).and(body);
            self.tests.push(Test { name: titles.clone(), line: line(node), function });
        }
        let inside = Place { titles, obstacle };
        if let Some(arguments) = node.child_by_field_name("arguments") {
            self.inside(arguments, &inside);
        }
    }

    /// A function of the outermost level, by its name.
    fn declared(&self, name: &str) -> Option<Node<'t>> {
        let is_named = |node: Node<'t>| {
            let own = node.child_by_field_name("name");
            own.is_some_and(|own| crate::syntax::text(own, self.source) == name)
        };
        named_children(self.root).into_iter().find_map(|node| match node.kind() {
            "function_declaration" => is_named(node).then_some(node),
            "lexical_declaration" | "variable_declaration" => {
                let declarator = named_children(node).into_iter().find(|node| is_named(*node))?;
                declarator.child_by_field_name("value").filter(|value| FUNCTIONS.contains(&value.kind()))
            }
            _ => None,
        })
    }
}
