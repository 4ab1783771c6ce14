//! Python: functions and methods whose name begins with `test`, for pytest and unittest.

mod expected;
mod leave;
mod near;
mod table;
mod turned;

use std::collections::BTreeSet;

use tree_sitter::Node;

use crate::broken::{Edit, Obstacle, Plan, TestChange, TitlePart};
use crate::numbers::{Numbers, Pair};
use crate::syntax::{begins_line, indent_at, line, named_children, newline, text};
use leave::Leave;

/// Kinds of nodes that begin a body of their own.
const FUNCTIONS: &[&str] = &["function_definition", "lambda", "class_definition"];

pub(crate) fn break_tests(root: Node<'_>, source: &[u8], numbers: &mut Numbers) -> Vec<Plan> {
    let tests = found(root, source);
    tests.into_iter().map(|test| test.broken(source, numbers.pair())).collect()
}

pub(crate) fn change_literals(root: Node<'_>, source: &[u8], numbers: &mut Numbers) -> Vec<Plan> {
    let file = TestFile::read(root, source);
    let tests = found(root, source);
    tests.into_iter().map(|test| test.with_another_literal(&file, numbers)).collect()
}

/// What is read once for all assertions of a file.
struct TestFile<'s> {
    source: &'s [u8],
    /// Exceptions that it does not name.
    unexpected: Vec<&'static str>,
    /// The parameters of its fixtures.
    of_fixtures: BTreeSet<String>,
}

impl<'s> TestFile<'s> {
    fn read(root: Node<'_>, source: &'s [u8]) -> Self {
        let of_fixtures = table::asked_for_by_fixtures(root, source);
        Self { source, unexpected: turned::unexpected(source), of_fixtures }
    }
}

fn found<'t>(root: Node<'t>, source: &[u8]) -> Vec<Test<'t>> {
    let mut walk = Walk { source, tests: Vec::new() };
    let obstacle = marks_of_module(root, source);
    walk.statements(root, &Place { classes: Vec::new(), obstacle });
    walk.tests
}

struct Test<'t> {
    name: Vec<TitlePart>,
    line: usize,
    body: Node<'t>,
    marks: Vec<Node<'t>>,
    in_class: bool,
    obstacle: Option<Obstacle>,
}

struct Walk<'t, 's> {
    source: &'s [u8],
    tests: Vec<Test<'t>>,
}

struct Place {
    classes: Vec<TitlePart>,
    /// What holds for everything in the class or module.
    obstacle: Option<Obstacle>,
}

impl<'t> Walk<'t, '_> {
    fn statements(&mut self, block: Node<'t>, place: &Place) {
        for statement in named_children(block) {
            match statement.kind() {
                "function_definition" => self.function(statement, place, Vec::new()),
                "class_definition" => self.class(statement, place, None),
                "decorated_definition" => self.decorated(statement, place),
                "if_statement" | "try_statement" | "with_statement" | "else_clause" | "elif_clause"
                | "except_clause" | "finally_clause" | "block" | "for_statement" => {
                    self.statements(statement, place);
                }
                _ => {}
            }
        }
    }

    fn decorated(&mut self, node: Node<'t>, place: &Place) {
        let Some(definition) = node.child_by_field_name("definition") else { return };
        let marks = parts_of(node, "decorator");
        match definition.kind() {
            "function_definition" => self.function(definition, place, marks),
            "class_definition" => {
                let obstacle = marks.iter().find_map(|mark| obstacle_of(&mark_of(*mark, self.source)));
                self.class(definition, place, obstacle);
            }
            _ => {}
        }
    }

    fn class(&mut self, node: Node<'t>, place: &Place, obstacle: Option<Obstacle>) {
        let (Some(name), Some(body)) = (node.child_by_field_name("name"), node.child_by_field_name("body"))
        else {
            return;
        };
        let mut classes = place.classes.clone();
        let own = text(name, self.source);
        // No runner collects such a class itself: its tests run under the names of others.
        let is_inherited_only =
            !own.starts_with("Test") && node.child_by_field_name("superclasses").is_none();
        classes.push(if is_inherited_only { TitlePart::unknown() } else { TitlePart::exactly(own) });
        let inside = Place { classes, obstacle: place.obstacle.or(obstacle) };
        self.statements(body, &inside);
    }

    fn function(&mut self, node: Node<'t>, place: &Place, marks: Vec<Node<'t>>) {
        let (Some(name), Some(body)) = (node.child_by_field_name("name"), node.child_by_field_name("body"))
        else {
            return;
        };
        let own = text(name, self.source);
        let words: Vec<String> = marks.iter().map(|mark| mark_of(*mark, self.source)).collect();
        if !own.starts_with("test") || words.iter().any(|mark| mark == "fixture" || mark == "property") {
            return;
        }
        let mut path = place.classes.clone();
        path.push(TitlePart::exactly(own));
        let own_obstacle = words.iter().find_map(|mark| obstacle_of(mark));
        let syntax = node.has_error().then_some(Obstacle::Syntax);
        self.tests.push(Test {
            name: path,
            line: line(node),
            body,
            marks,
            in_class: !place.classes.is_empty(),
            obstacle: place.obstacle.or(own_obstacle).or(syntax),
        });
    }
}

fn parts_of<'t>(node: Node<'t>, kind: &str) -> Vec<Node<'t>> {
    named_children(node).into_iter().filter(|child| child.kind() == kind).collect()
}

/// The last name of a decorator: `skip` of `@pytest.mark.skip(reason="…")`.
fn mark_of(decorator: Node<'_>, source: &[u8]) -> String {
    let written = text(decorator, source);
    let called = written.trim_start_matches('@').split('(').next().unwrap_or_default().trim();
    called.rsplit('.').next().unwrap_or_default().trim().to_owned()
}

fn obstacle_of(mark: &str) -> Option<Obstacle> {
    match mark {
        "skip" => Some(Obstacle::Skipped),
        "xfail" | "expectedFailure" => Some(Obstacle::ExpectedToFail),
        _ => None,
    }
}

/// `pytestmark = pytest.mark.skip(…)`, alone or in a list.
fn marks_of_module(root: Node<'_>, source: &[u8]) -> Option<Obstacle> {
    let statements = named_children(root).into_iter().filter(|node| node.kind() == "expression_statement");
    let mut marked = statements.filter(|node| text(*node, source).starts_with("pytestmark"));
    marked.find_map(|node| {
        let written = text(node, source);
        let has = |mark: &str| {
            written.match_indices(mark).any(|(at, _)| !written[at + mark.len()..].starts_with("if"))
        };
        if has(".mark.skip") {
            Some(Obstacle::Skipped)
        } else {
            has(".mark.xfail").then_some(Obstacle::ExpectedToFail)
        }
    })
}

impl Test<'_> {
    fn plan(&self, change: TestChange) -> Plan {
        Plan { name: self.name.clone(), line: self.line, change, edits: Vec::new() }
    }

    fn broken(&self, source: &[u8], pair: Pair) -> Plan {
        if let Some(obstacle) = self.obstacle {
            return self.plan(TestChange::Unchanged(obstacle));
        }
        let own_assertion = self.in_class && text(self.body, source).contains("self.assertEqual(");
        let Pair { left, right } = pair;
        let statement = if own_assertion {
            format!("self.assertEqual({left}, {right})")
        } else {
            let (smaller, larger) = (pair.smaller(), pair.larger());
            pair.choose([
                format!("assert {left} == {right}"),
                format!("assert {smaller} >= {larger}"),
                format!("assert {larger} < {smaller}"),
            ])
        };
        let mut plan = self.plan(TestChange::Fails { left, right });
        match failing_end(self.body, source, &statement) {
            Some(edits) => plan.edits = edits,
            None => plan.give_up(Obstacle::AlwaysLeaves),
        }
        plan
    }

    fn with_another_literal(&self, file: &TestFile<'_>, numbers: &mut Numbers) -> Plan {
        let obstacle = self.obstacle.unwrap_or(Obstacle::NoLiteral);
        let mut plan = self.plan(TestChange::Unchanged(obstacle));
        if self.obstacle.is_none() {
            expected::changeable(self, file).change_any(file.source, &mut plan, numbers);
        }
        plan
    }
}

/// Puts the statement at the last place of the body that is reached.
fn failing_end(body: Node<'_>, source: &[u8], statement: &str) -> Option<Vec<Edit>> {
    let statements = named_children(body);
    let last = *statements.last()?;
    let first = *statements.first()?;
    let separator = if begins_line(source, first.start_byte()) {
        format!("{}{}", newline(source), indent_at(source, first.start_byte()))
    } else {
        "; ".to_owned()
    };
    let leaving = statements.iter().find_map(|node| leave::leaves(*node, source).map(|leave| (*node, leave)));
    let Some((leaving, leave)) = leaving else {
        return Some(vec![Edit::insert(last.end_byte(), format!("{separator}{statement}"))]);
    };
    match leave {
        Leave::Raises => None,
        Leave::Returns => match (leaving.kind(), named_children(leaving).first()) {
            ("return_statement", Some(value)) => {
                Some(keep_value(leaving, *value, source, &format!("{separator}{statement}{separator}")))
            }
            ("with_statement", _) => failing_end(leaving.child_by_field_name("body")?, source, statement),
            _ => Some(vec![Edit::insert(leaving.start_byte(), format!("{statement}{separator}"))]),
        },
    }
}

/// `return f()` becomes `outcome = f()`, the statement, `return outcome`: what the test
/// does in its last line is still done.
fn keep_value(leaving: Node<'_>, value: Node<'_>, source: &[u8], between: &str) -> Vec<Edit> {
    let whole = String::from_utf8_lossy(source);
    let names = ["outcome", "value", "answer", "outcome_value", "answer_value"];
    let name = names.into_iter().find(|name| !whole.contains(name)).unwrap_or("returned_value_here");
    vec![
        Edit { from: leaving.start_byte(), to: value.start_byte(), text: format!("{name} = ") },
        Edit::insert(leaving.end_byte(), format!("{between}return {name}")),
    ]
}
