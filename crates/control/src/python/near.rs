//! Numbers that are compared with a tolerance, far smaller than what another number differs by.

use tree_sitter::Node;

use crate::literal::Expected;
use crate::syntax::{named_children, text};

/// The least by which a changed number differs is a tenth, and the honest answer may be off by as much again.
const MOST: f64 = 0.04;
/// Of `approx`, of the expected number.
const RELATIVE: f64 = 1e-6;

/// `approx(1.5)`, `approx(1.5, abs=0.01)`.
pub(super) fn approx(side: Node<'_>, source: &[u8]) -> Option<Expected> {
    let function = side.child_by_field_name("function").filter(|_| side.kind() == "call")?;
    let arguments = named_children(side.child_by_field_name("arguments")?);
    let (expected, options) = arguments.split_first()?;
    if !matches!(&*text(function, source), "approx" | "pytest.approx") {
        return None;
    }
    let mut relative = RELATIVE;
    let mut absolute: f64 = 0.0;
    for option in options {
        let (name, value) = named(*option, source)?;
        match name.as_str() {
            "rel" => relative = value,
            "abs" => absolute = value,
            _ => return None,
        }
    }
    number(*expected, source, &|value| absolute.max(relative * value.abs()) <= MOST)
}

/// The first two arguments of `assertAlmostEqual`, with what says how near they must be.
pub(super) fn almost_equal(arguments: &[Node<'_>], source: &[u8]) -> Option<Expected> {
    let [left, right, options @ ..] = arguments else { return None };
    for (at, option) in options.iter().enumerate() {
        let given = match option.kind() {
            "keyword_argument" => named(*option, source),
            _ if at == 0 => plain(*option, source).map(|places| ("places".to_owned(), places)),
            _ => None,
        };
        let is_message =
            option.child_by_field_name("name").is_some_and(|name| text(name, source) == "msg") || at == 1;
        let is_near = given.is_some_and(|(name, value)| match name.as_str() {
            "places" => value >= 2.0,
            "delta" => value <= MOST,
            _ => false,
        });
        if !is_near && !is_message {
            return None;
        }
    }
    let read = |side| number(side, source, &|_| true);
    Expected::only(read(*left), read(*right))
}

fn named(option: Node<'_>, source: &[u8]) -> Option<(String, f64)> {
    let name = option.child_by_field_name("name").filter(|_| option.kind() == "keyword_argument")?;
    Some((text(name, source).into_owned(), plain(option.child_by_field_name("value")?, source)?))
}

fn plain(node: Node<'_>, source: &[u8]) -> Option<f64> {
    let is_number = matches!(node.kind(), "integer" | "float" | "unary_operator");
    is_number.then(|| text(node, source).parse().ok())?
}

/// Written out: of an exponent another number may be as near to nothing.
fn number(node: Node<'_>, source: &[u8], fits: &dyn Fn(f64) -> bool) -> Option<Expected> {
    let written = text(node, source);
    let value = plain(node, source).filter(|_| !written.contains(['e', 'E']))?;
    fits(value).then(|| Expected::of(node, source))?
}
