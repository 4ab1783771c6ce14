//! Rust: functions with an attribute that makes a test of them, also inside a macro such
//! as `proptest!`.

mod constructed;
mod expected;
mod in_macro;
mod turned;

use tree_sitter::Node;

use crate::broken::{Edit, Obstacle, Plan, TestChange, TitlePart};
use crate::literal::Changeable;
use crate::numbers::{Numbers, Pair};
use crate::syntax::{indent_at, line, named_children, newline, text};

/// The last part of an attribute's path.
const ATTRIBUTES: &[&str] = &["test", "rstest", "test_case", "quickcheck", "wasm_bindgen_test", "gtest"];

/// Macros after which nothing is reached.
const DIVERGING: &[&str] = &["panic", "unreachable", "todo", "unimplemented"];

pub(crate) fn break_tests(root: Node<'_>, source: &[u8], numbers: &mut Numbers) -> Vec<Plan> {
    let tests = found(root, source);
    tests.into_iter().map(|test| test.broken(source, numbers.pair())).collect()
}

pub(crate) fn change_literals(root: Node<'_>, source: &[u8], numbers: &mut Numbers) -> Vec<Plan> {
    let file = TestFile::read(source);
    let tests = found(root, source);
    tests.into_iter().map(|test| test.with_another_literal(&file, numbers)).collect()
}

/// What is read once for all assertions of a file.
struct TestFile<'s> {
    source: &'s [u8],
    /// The assertions that it imports.
    imported: Vec<&'static str>,
}

impl<'s> TestFile<'s> {
    fn read(source: &'s [u8]) -> Self {
        Self { source, imported: turned::imported(source) }
    }
}

struct Test<'t> {
    name: Vec<TitlePart>,
    line: usize,
    body: Body<'t>,
    obstacle: Option<Obstacle>,
    must_panic: bool,
}

enum Body<'t> {
    Block {
        block: Node<'t>,
        returns: bool,
    },
    /// The tokens of a function inside a macro.
    Tokens(Node<'t>),
}

fn found<'t>(root: Node<'t>, source: &[u8]) -> Vec<Test<'t>> {
    let mut tests = Vec::new();
    items(root, source, &[], &mut tests);
    tests
}

fn items<'t>(list: Node<'t>, source: &[u8], modules: &[TitlePart], tests: &mut Vec<Test<'t>>) {
    let mut attributes: Vec<String> = Vec::new();
    for item in named_children(list) {
        match item.kind() {
            "attribute_item" => {
                attributes.push(text(item, source).into_owned());
                continue;
            }
            "mod_item" => {
                let (name, body) = (item.child_by_field_name("name"), item.child_by_field_name("body"));
                if let (Some(name), Some(body)) = (name, body) {
                    let path = [modules, &[TitlePart::exactly(text(name, source))]].concat();
                    items(body, source, &path, tests);
                }
            }
            "function_item" if is_test(&attributes) => {
                tests.extend(function(item, source, modules, &attributes));
            }
            // A macro call at this level is a statement where it ends in a semicolon.
            "macro_invocation" | "expression_statement" => {
                let call = if item.kind() == "macro_invocation" { Some(item) } else { item.named_child(0) };
                if let Some(call) = call.filter(|call| call.kind() == "macro_invocation") {
                    in_macro::tests(call, source, modules, tests);
                }
            }
            _ => {}
        }
        attributes.clear();
    }
}

fn function<'t>(
    item: Node<'t>,
    source: &[u8],
    modules: &[TitlePart],
    attributes: &[String],
) -> Option<Test<'t>> {
    let name = item.child_by_field_name("name")?;
    let block = item.child_by_field_name("body")?;
    let returned = item.child_by_field_name("return_type");
    let returns = returned.is_some_and(|returned| returned.kind() != "unit_type");
    let syntax = item.has_error().then_some(Obstacle::Syntax);
    Some(Test {
        name: [modules, &[TitlePart::exactly(text(name, source))]].concat(),
        line: line(item),
        body: Body::Block { block, returns },
        obstacle: obstacle_of(attributes).or(syntax),
        must_panic: attributes.iter().any(|attribute| name_of(attribute) == "should_panic"),
    })
}

/// `test` of `#[tokio::test(flavor = "…")]`.
fn name_of(attribute: &str) -> &str {
    let inside = attribute.trim_start_matches(['#', '[', ' ']);
    let path = inside.split(['(', ']', '=', ' ']).next().unwrap_or_default();
    path.rsplit("::").next().unwrap_or_default().trim()
}

fn is_test(attributes: &[String]) -> bool {
    attributes.iter().any(|attribute| ATTRIBUTES.contains(&name_of(attribute)))
}

fn obstacle_of(attributes: &[String]) -> Option<Obstacle> {
    attributes.iter().find_map(|attribute| match name_of(attribute) {
        "ignore" => Some(Obstacle::Skipped),
        "test_case" if attribute.contains("panics") => Some(Obstacle::ExpectedToFail),
        _ => None,
    })
}

impl Test<'_> {
    fn plan(&self, change: TestChange) -> Plan {
        Plan { name: self.name.clone(), line: self.line, change, edits: Vec::new() }
    }

    fn broken(&self, source: &[u8], pair: Pair) -> Plan {
        let Pair { left, right } = pair;
        let statement = pair.choose([
            format!("assert_eq!({left}, {right});"),
            format!("assert!({} > {});", pair.smaller(), pair.larger()),
        ]);
        let mut plan = self.plan(TestChange::Fails { left, right });
        let edits = match (&self.body, self.obstacle) {
            (Body::Block { .. } | Body::Tokens(_), Some(obstacle)) => Err(obstacle),
            (Body::Block { block, .. }, None) if self.must_panic => {
                plan.change = TestChange::ReturnsEarly { left, right };
                let leave = format!("if {left} != {right} {{ return; }}");
                Ok(vec![Edit::insert(begin_of(*block), format!(" {leave} "))])
            }
            (Body::Block { block, returns: false }, None) => at_end(*block, source, &statement),
            (Body::Block { block, returns: true }, None) => before_value(*block, source, &statement),
            (Body::Tokens(tokens), None) if !self.must_panic => in_macro::at_end(*tokens, source, &statement),
            (Body::Tokens(_), None) => Err(Obstacle::UnknownForm),
        };
        match edits {
            Ok(edits) => plan.edits = edits,
            Err(obstacle) => plan.give_up(obstacle),
        }
        plan
    }

    fn with_another_literal(&self, file: &TestFile<'_>, numbers: &mut Numbers) -> Plan {
        let obstacle = self.obstacle.unwrap_or(Obstacle::NoLiteral);
        let mut plan = self.plan(TestChange::Unchanged(obstacle));
        let found = match &self.body {
            Body::Block { block, .. } if self.obstacle.is_none() && !self.must_panic => {
                expected::changeable(*block, file)
            }
            Body::Block { .. } | Body::Tokens(_) => Changeable::default(),
        };
        found.change_any(file.source, &mut plan, numbers);
        plan
    }
}

/// Behind the brace and the attributes of the body itself.
fn begin_of(block: Node<'_>) -> usize {
    let attributes = named_children(block).into_iter();
    let last = attributes.take_while(|node| node.kind() == "inner_attribute_item").last();
    last.map_or(block.start_byte() + 1, |node| node.end_byte())
}

fn separator(block: Node<'_>, source: &[u8]) -> String {
    let first = named_children(block).first().map_or(block.start_byte(), Node::start_byte);
    format!("{}{}", newline(source), indent_at(source, first))
}

/// A body without a value: behind its last statement, which may lack its semicolon.
fn at_end(block: Node<'_>, source: &[u8], statement: &str) -> Result<Vec<Edit>, Obstacle> {
    let between = separator(block, source);
    let statements = named_children(block);
    let Some(last) = statements.last() else {
        return Ok(vec![Edit::insert(block.end_byte() - 1, format!(" {statement} "))]);
    };
    if let Some(leaving) = statements.iter().find(|node| leaves(**node, source)) {
        return if is_return(*leaving) {
            Ok(vec![Edit::insert(leaving.start_byte(), format!("{statement}{between}"))])
        } else {
            Err(Obstacle::AlwaysLeaves)
        };
    }
    let end = if is_statement(*last, source) { "" } else { ";" };
    Ok(vec![Edit::insert(last.end_byte(), format!("{end}{between}{statement}"))])
}

/// A body with a value: the value is computed, then the statement fails.
fn before_value(block: Node<'_>, source: &[u8], statement: &str) -> Result<Vec<Edit>, Obstacle> {
    let between = separator(block, source);
    let statements = named_children(block);
    let Some(value) = statements.last() else { return Err(Obstacle::UnknownForm) };
    let before = |node: &Node<'_>| Ok(vec![Edit::insert(node.start_byte(), format!("{statement}{between}"))]);
    if let Some(leaving) = statements.iter().find(|node| leaves(**node, source)) {
        return if is_return(*leaving) { before(leaving) } else { Err(Obstacle::AlwaysLeaves) };
    }
    let written = text(*value, source);
    if written.ends_with(';') || value.kind().ends_with("_item") || value.kind() == "let_declaration" {
        return Err(Obstacle::UnknownForm);
    }
    if written == "Ok(())" {
        return before(value);
    }
    Ok(vec![
        Edit::insert(value.start_byte(), "let outcome = "),
        Edit::insert(value.end_byte(), format!(";{between}{statement}{between}outcome")),
    ])
}

fn is_statement(node: Node<'_>, source: &[u8]) -> bool {
    let declares = node.kind().ends_with("_item") || node.kind().ends_with("_declaration");
    declares
        || matches!(node.kind(), "expression_statement" | "empty_statement" | "macro_definition")
        || text(node, source).ends_with(';')
}

fn is_return(node: Node<'_>) -> bool {
    inner(node).kind() == "return_expression"
}

fn inner(node: Node<'_>) -> Node<'_> {
    if node.kind() == "expression_statement" { node.named_child(0).unwrap_or(node) } else { node }
}

/// Of the outermost level only: an `if` with two returns is a value of the body.
fn leaves(node: Node<'_>, source: &[u8]) -> bool {
    let node = inner(node);
    match node.kind() {
        "return_expression" => true,
        "macro_invocation" => {
            let name = node.child_by_field_name("macro");
            name.is_some_and(|name| DIVERGING.contains(&&*text(name, source)))
        }
        "loop_expression" => {
            let ends = |node: Node<'_>| node.kind() == "break_expression";
            !crate::syntax::contains(node, &ends, &["closure_expression", "function_item"])
        }
        _ => false,
    }
}
