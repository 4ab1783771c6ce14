//! Which calls declare a test or a suite, and what they say of it.

use tree_sitter::Node;

use super::{FUNCTIONS, title};
use crate::broken::{Obstacle, TitlePart};
use crate::syntax::{named_children, text};

/// A call that declares a test or a suite.
pub(super) struct Call<'t> {
    pub kind: CallKind,
    pub title: TitlePart,
    pub obstacle: Option<Obstacle>,
    pub body: Body<'t>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallKind {
    Suite,
    Test,
}

pub(super) enum Body<'t> {
    Function(Node<'t>),
    /// A function that is declared in another place.
    Named(String),
    Missing,
    Unknown,
}

const SUITES: &[&str] = &["describe", "suite", "context", "fdescribe", "xdescribe", "xcontext"];
const TESTS: &[&str] = &["test", "it", "specify", "fit", "xit", "xtest", "xspecify"];
const MODIFIERS: &[&str] = &[
    "only",
    "skip",
    "todo",
    "concurrent",
    "sequential",
    "serial",
    "parallel",
    "shuffle",
    "each",
    "for",
    "failing",
    "fails",
    "fail",
    "fixme",
    "runIf",
    "skipIf",
];

impl<'t> Call<'t> {
    pub fn read(call: Node<'t>, source: &[u8]) -> Option<Self> {
        let callee = Callee::read(call.child_by_field_name("function")?, source)?;
        let kind = callee.kind()?;
        let arguments = named_children(call.child_by_field_name("arguments")?);
        let first = *arguments.first()?;
        let body = body_of(&arguments, source);
        let bare = callee.names.len() == 1 || callee.names.iter().any(|name| name == "each");
        match body {
            Body::Function(_) | Body::Named(_) => {}
            // `/x/.test(text)` and the like; a test that is yet to be written has a title.
            Body::Missing | Body::Unknown if !(bare || callee.is_todo()) || !is_text(first) => return None,
            Body::Missing | Body::Unknown => {}
        }
        let obstacle = callee.obstacle().or_else(|| option_obstacle(&arguments, source));
        Some(Self { kind, title: title::read(first, source, callee.is_table), obstacle, body })
    }
}

/// `test.concurrent.each(table)` has the names test, concurrent and each.
struct Callee {
    names: Vec<String>,
    is_table: bool,
}

impl Callee {
    fn read(node: Node<'_>, source: &[u8]) -> Option<Self> {
        match node.kind() {
            "identifier" | "this" => {
                Some(Self { names: vec![text(node, source).into_owned()], is_table: false })
            }
            "member_expression" => {
                let mut callee = Self::read(node.child_by_field_name("object")?, source)?;
                let property = text(node.child_by_field_name("property")?, source);
                callee.names.push(property.into_owned());
                Some(callee)
            }
            "call_expression" => {
                let callee = Self::read(node.child_by_field_name("function")?, source)?;
                let last = callee.names.last()?;
                let is_table = matches!(last.as_str(), "each" | "for");
                let fits = is_table || matches!(last.as_str(), "skipIf" | "runIf");
                fits.then_some(Self { is_table, ..callee })
            }
            _ => None,
        }
    }

    fn kind(&self) -> Option<CallKind> {
        let at = self.names.iter().rposition(|name| !MODIFIERS.contains(&name.as_str()))?;
        let name = self.names[at].as_str();
        if SUITES.contains(&name) {
            Some(CallKind::Suite)
        } else {
            TESTS.contains(&name).then_some(CallKind::Test)
        }
    }

    fn is_todo(&self) -> bool {
        self.names.iter().any(|name| name == "todo" || name == "skip")
    }

    fn obstacle(&self) -> Option<Obstacle> {
        self.names.iter().find_map(|name| match name.as_str() {
            "skip" | "todo" | "fixme" | "xit" | "xtest" | "xspecify" | "xdescribe" | "xcontext" => {
                Some(Obstacle::Skipped)
            }
            "failing" | "fails" | "fail" => Some(Obstacle::ExpectedToFail),
            _ => None,
        })
    }
}

fn is_text(node: Node<'_>) -> bool {
    matches!(node.kind(), "string" | "template_string" | "binary_expression")
}

/// `{ skip: true }`, `{ todo: 'why' }`.
fn option_obstacle(arguments: &[Node<'_>], source: &[u8]) -> Option<Obstacle> {
    let options = arguments.iter().filter(|node| node.kind() == "object");
    let mut pairs = options.flat_map(|node| named_children(*node)).filter(|node| node.kind() == "pair");
    pairs.find_map(|pair| {
        let (key, value) = (pair.child_by_field_name("key")?, pair.child_by_field_name("value")?);
        let set = matches!(value.kind(), "true" | "string" | "template_string");
        match (&*text(key, source), set) {
            ("skip" | "todo" | "ignore", true) => Some(Obstacle::Skipped),
            ("fails", true) => Some(Obstacle::ExpectedToFail),
            _ => None,
        }
    })
}

fn body_of<'t>(arguments: &[Node<'t>], source: &[u8]) -> Body<'t> {
    let is_function = |node: &Node<'_>| FUNCTIONS.contains(&node.kind());
    if let Some(function) = arguments.iter().find(|node| is_function(node)) {
        return Body::Function(*function);
    }
    for argument in arguments {
        let inside = match argument.kind() {
            // The function is wrapped: `fakeAsync(() => {…})`.
            "call_expression" => argument.child_by_field_name("arguments").map(named_children),
            // `Deno.test({ name, fn() {…} })`.
            "object" => Some(members_named_fn(*argument, source)),
            _ => None,
        };
        if let Some(function) = inside.unwrap_or_default().into_iter().find(is_function) {
            return Body::Function(function);
        }
    }
    match arguments {
        [_] => Body::Missing,
        [.., last] if last.kind() == "identifier" => Body::Named(text(*last, source).into_owned()),
        _ => Body::Unknown,
    }
}

fn members_named_fn<'t>(object: Node<'t>, source: &[u8]) -> Vec<Node<'t>> {
    let named = |node: Node<'_>| text(node, source) == "fn";
    let members = named_children(object).into_iter();
    members
        .filter_map(|member| match member.kind() {
            "method_definition" => {
                member.child_by_field_name("name").filter(|name| named(*name)).map(|_| member)
            }
            "pair" => {
                let key = member.child_by_field_name("key").filter(|key| named(*key));
                key.and_then(|_| member.child_by_field_name("value"))
            }
            _ => None,
        })
        .collect()
}
