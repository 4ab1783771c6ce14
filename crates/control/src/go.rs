//! Go: `func TestX(t *testing.T)`, and the methods of a testify suite.

mod expected;
mod turned;

use tree_sitter::Node;

use crate::broken::{Edit, Obstacle, Plan, TestChange, TitlePart};
use crate::literal::{Changeable, Expected};
use crate::numbers::{Numbers, Pair};
use crate::syntax::{contains, indent_at, line, named_children, newline, text};

const FUNCTIONS: &[&str] = &["func_literal"];

pub(crate) fn break_tests(root: Node<'_>, source: &[u8], numbers: &mut Numbers) -> Vec<Plan> {
    let tests = found(root, source);
    tests.into_iter().map(|test| test.broken(source, numbers)).collect()
}

pub(crate) fn change_literals(root: Node<'_>, source: &[u8], numbers: &mut Numbers) -> Vec<Plan> {
    let testify = turned::packages_of_testify(root, source);
    let tests = found(root, source);
    let changed = |test: Test<'_>| {
        let scope = Scope { source, testify: &testify, testing: test.testing(source) };
        test.with_another_literal(&scope, numbers)
    };
    tests.into_iter().map(changed).collect()
}

/// What a test can name.
struct Scope<'s> {
    source: &'s [u8],
    /// The names that the file gives the packages of assertions of testify.
    testify: &'s [String],
    /// The parameter by which it fails.
    testing: Option<String>,
}

struct Test<'t> {
    name: String,
    line: usize,
    body: Node<'t>,
    form: Form<'t>,
    obstacle: Option<Obstacle>,
}

enum Form<'t> {
    Function(Node<'t>),
    /// Its testing object is not at hand; the suite turns a panic into a failure.
    SuiteMethod,
    /// Compared with what it prints: what it should print is in a comment.
    Example,
    /// Fuzz tests, and examples that are never run.
    Unknown,
}

fn found<'t>(root: Node<'t>, source: &[u8]) -> Vec<Test<'t>> {
    let suites = String::from_utf8_lossy(source).contains("testify/suite");
    let declarations = named_children(root).into_iter();
    declarations
        .filter_map(|node| {
            let name = text(node.child_by_field_name("name")?, source).into_owned();
            let parameters = named_children(node.child_by_field_name("parameters")?);
            let form = match (node.kind(), parameters.as_slice()) {
                ("function_declaration", [parameter]) if is_named_test(&name, "Test") => {
                    is_testing(*parameter, source, "T").then_some(Form::Function(*parameter))?
                }
                ("function_declaration", [parameter]) if is_named_test(&name, "Fuzz") => {
                    is_testing(*parameter, source, "F").then_some(Form::Unknown)?
                }
                ("function_declaration", []) if is_named_test(&name, "Example") => {
                    let has_output = output(node.child_by_field_name("body")?, source).is_some();
                    if has_output { Form::Example } else { Form::Unknown }
                }
                ("method_declaration", []) if suites && is_named_test(&name, "Test") => Form::SuiteMethod,
                _ => return None,
            };
            let body = node.child_by_field_name("body")?;
            let unknown = matches!(form, Form::Unknown).then_some(Obstacle::UnknownForm);
            let obstacle = unknown.or_else(|| node.has_error().then_some(Obstacle::Syntax));
            Some(Test { name, line: line(node), body, form, obstacle })
        })
        .collect()
}

/// What stands behind `// Output:` at the end of an example.
fn output(body: Node<'_>, source: &[u8]) -> Option<Expected> {
    let last = statements(body).last().map_or(body.start_byte(), Node::end_byte);
    let behind = source.get(last..body.end_byte() - 1)?;
    let written = behind.to_ascii_lowercase();
    let mut lines = written.split(|byte| *byte == b'\n').scan(last, |begin, line| {
        let at = *begin;
        *begin += line.len() + 1;
        Some((at, line))
    });
    let (begin, line) = lines.find(|(_, line)| {
        let inside = line.trim_ascii_start().strip_prefix(b"//").unwrap_or_default().trim_ascii_start();
        inside.starts_with(b"output:") || inside.starts_with(b"unordered output:")
    })?;
    let colon = line.iter().position(|byte| *byte == b':')?;
    Expected::of_letters(begin + colon + 1..body.end_byte() - 1, source)
}

/// As `go test` reads it: `TestX` and `Test_x`, not `Testify`.
fn is_named_test(name: &str, prefix: &str) -> bool {
    name.strip_prefix(prefix).is_some_and(|rest| !rest.starts_with(char::is_lowercase))
}

fn is_testing(parameter: Node<'_>, source: &[u8], name: &str) -> bool {
    let written = parameter.child_by_field_name("type");
    written.is_some_and(|node| text(node, source).strip_prefix("*testing.") == Some(name))
}

impl Test<'_> {
    fn plan(&self, change: TestChange) -> Plan {
        let name = vec![TitlePart::exactly(self.name.clone())];
        Plan { name, line: self.line, change, edits: Vec::new() }
    }

    fn testing(&self, source: &[u8]) -> Option<String> {
        match self.form {
            Form::Function(parameter) => written_name(parameter, source),
            Form::SuiteMethod | Form::Example | Form::Unknown => None,
        }
    }

    fn broken(&self, source: &[u8], numbers: &mut Numbers) -> Plan {
        let pair = numbers.pair();
        if matches!(self.form, Form::Example) {
            return self.changed(printed(self.body, source), source, numbers);
        }
        let Pair { left, right } = pair;
        let mut plan = self.plan(TestChange::Fails { left, right });
        if let Some(obstacle) = self.obstacle {
            plan.give_up(obstacle);
            return plan;
        }
        let (statement, naming) = match self.form {
            Form::Function(parameter) => {
                let (name, naming) = name_of(parameter, self.body, source);
                if self.may_miss_its_end(source) {
                    let early = format!(" {name}.Errorf(\"%d != %d\", {left}, {right}); ");
                    plan.edits = naming.into_iter().collect();
                    plan.edits.push(Edit::insert(self.body.start_byte() + 1, early));
                    return plan;
                }
                let statement = pair.choose([
                    format!("{name}.Fatalf(\"got %d, want %d\", {left}, {right})"),
                    format!("{name}.Errorf(\"%d != %d\", {left}, {right})"),
                    format!("{name}.Fatal(\"unexpected value\", {left}, {right})"),
                ]);
                (statement, naming)
            }
            Form::SuiteMethod | Form::Example | Form::Unknown => {
                (format!("panic(\"got {left}, want {right}\")"), None)
            }
        };
        match failing_end(self.body, source, &statement) {
            Some(edit) => plan.edits = naming.into_iter().chain([edit]).collect(),
            None => plan.give_up(Obstacle::AlwaysLeaves),
        }
        plan
    }

    /// A test that must panic, or that may return before its last statement. A failure that is
    /// reported at its beginning lets the rest run, and lasts.
    fn may_miss_its_end(&self, source: &[u8]) -> bool {
        let returns = |node: &Node<'_>| {
            contains(*node, &|inner| inner.kind() == "return_statement", FUNCTIONS)
                && leaves(*node, source).is_none()
        };
        text(self.body, source).contains("recover()") || statements(self.body).iter().any(returns)
    }

    fn with_another_literal(&self, scope: &Scope<'_>, numbers: &mut Numbers) -> Plan {
        let found = match self.form {
            Form::Example => printed(self.body, scope.source),
            Form::Function(_) | Form::SuiteMethod | Form::Unknown => expected::changeable(self.body, scope),
        };
        self.changed(found, scope.source, numbers)
    }

    fn changed(&self, found: Changeable, source: &[u8], numbers: &mut Numbers) -> Plan {
        let obstacle = self.obstacle.unwrap_or(Obstacle::NoLiteral);
        let mut plan = self.plan(TestChange::Unchanged(obstacle));
        if self.obstacle.is_none() {
            found.change_any(source, &mut plan, numbers);
        }
        plan
    }
}

/// What an example should print.
fn printed(body: Node<'_>, source: &[u8]) -> Changeable {
    let mut found = Changeable::default();
    found.add(output(body, source), None);
    found
}

/// The parameter's name, and the edit that gives it one.
fn name_of(parameter: Node<'_>, body: Node<'_>, source: &[u8]) -> (String, Option<Edit>) {
    if let Some(name) = written_name(parameter, source) {
        return (name, None);
    }
    let written = parameter.child_by_field_name("name");
    let inside = text(body, source);
    let is_used =
        |name: &&str| inside.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == *name);
    let name = ["t", "tt", "tb", "tst"].into_iter().find(|name| !is_used(name)).unwrap_or("testingT");
    let edit = match written {
        Some(blank) => Edit { from: blank.start_byte(), to: blank.end_byte(), text: name.to_owned() },
        None => Edit::insert(parameter.start_byte(), format!("{name} ")),
    };
    (name.to_owned(), Some(edit))
}

/// `None` where nothing can be called by it.
fn written_name(parameter: Node<'_>, source: &[u8]) -> Option<String> {
    let name = text(parameter.child_by_field_name("name")?, source).into_owned();
    (name != "_").then_some(name)
}

fn statements(block: Node<'_>) -> Vec<Node<'_>> {
    let inside = named_children(block);
    match inside.as_slice() {
        [list] if list.kind() == "statement_list" => named_children(*list),
        _ => inside,
    }
}

fn failing_end(body: Node<'_>, source: &[u8], statement: &str) -> Option<Edit> {
    let statements = statements(body);
    let (Some(first), Some(last)) = (statements.first(), statements.last()) else {
        return Some(Edit::insert(body.start_byte() + 1, format!(" {statement} ")));
    };
    let between = format!("{}{}", newline(source), indent_at(source, first.start_byte()));
    match statements.iter().find_map(|node| leaves(*node, source).map(|leave| (*node, leave))) {
        None => Some(Edit::insert(last.end_byte(), format!("{between}{statement}"))),
        Some((leaving, Leave::Returns)) => {
            Some(Edit::insert(leaving.start_byte(), format!("{statement}{between}")))
        }
        Some((_, Leave::Ends)) => None,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leave {
    Returns,
    /// By a failure, a skip or not at all.
    Ends,
}

fn leaves(statement: Node<'_>, source: &[u8]) -> Option<Leave> {
    match statement.kind() {
        "return_statement" => Some(Leave::Returns),
        "block" => statements(statement).into_iter().find_map(|node| leaves(node, source)),
        "expression_statement" => {
            let call = statement.named_child(0).filter(|node| node.kind() == "call_expression")?;
            let called = text(call.child_by_field_name("function")?, source);
            let method = called.rsplit('.').next().unwrap_or_default();
            let ends = matches!(method, "Skip" | "Skipf" | "SkipNow" | "Fatal" | "Fatalf" | "FailNow");
            (ends || matches!(&*called, "panic" | "os.Exit")).then_some(Leave::Ends)
        }
        "if_statement" => {
            let one = leaves(statement.child_by_field_name("consequence")?, source)?;
            let other = leaves(statement.child_by_field_name("alternative")?, source)?;
            Some(if one == Leave::Returns { one } else { other })
        }
        "for_statement" => {
            let endless = named_children(statement).len() == 1;
            let breaks = contains(statement, &|node| node.kind() == "break_statement", FUNCTIONS);
            (endless && !breaks).then_some(Leave::Returns)
        }
        _ => None,
    }
}
