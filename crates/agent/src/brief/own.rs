//! Templates that the operator wrote. They know a few names and `if`, nothing else, so that whatever is wrong
//! with one is found before anything starts.

use std::collections::BTreeSet;

use windlass_core::nearest::nearest;

/// No template is longer.
pub const MAX_TEMPLATE_BYTES: usize = 8 * 1024;

/// What a template can name; the first ones are texts, the last ones are for `if` only.
pub const NAMES: [&str; 19] = [
    "name",
    "heading",
    "iteration",
    "role",
    "goal",
    "MAX_FILES_TO_READ",
    "MAX_LINES_TO_WRITE",
    "MAX_FILES_TO_MODIFY",
    "MODE",
    "ITERATION",
    "MAX_ITERATIONS",
    "LOOP_DIR",
    "PROJECT_ROOT",
    "CURRENT_STORY_ID",
    "PRE_GENERATOR_SHA",
    "reviewer",
    "carries_on",
    "one_step",
    "fixes",
];
const FLAGS: [&str; 4] = ["reviewer", "carries_on", "one_step", "fixes"];

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {what}")]
pub struct BadTemplate {
    /// Both from 1.
    pub line: usize,
    pub column: usize,
    pub what: String,
}

/// Whether a template can be used, whatever the brief.
pub fn check(text: &str) -> Result<(), BadTemplate> {
    let bad = |at: usize, what: String| {
        let before = &text[..at];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        BadTemplate { line, column, what }
    };
    if text.trim().is_empty() {
        return Err(bad(0, "it is empty".to_owned()));
    }
    if text.len() > MAX_TEMPLATE_BYTES {
        return Err(bad(0, format!("it is {} bytes long, the limit is {MAX_TEMPLATE_BYTES}", text.len())));
    }
    let mut at = 0;
    let mut opened = Vec::new();
    while let Some(open) = text[at..].find('{').map(|found| at + found) {
        let close = match text.as_bytes().get(open + 1) {
            Some(b'{') => "}}",
            Some(b'%') => "%}",
            Some(b'#') => "#}",
            Some(_) | None => {
                at = open + 1;
                continue;
            }
        };
        let inside = open + 2;
        let end = text[inside..].find(close).map(|found| inside + found);
        let end = end.ok_or_else(|| bad(open, format!("`{}` is not closed", &text[open..inside])))?;
        let body = text[inside..end].trim();
        match close {
            "}}" => placeholder(body),
            "%}" => condition(body),
            _ => Ok(()),
        }
        .map_err(|what| bad(open, what))?;
        match (close, body.split_whitespace().next()) {
            ("%}", Some("if")) => opened.push(open),
            ("%}", Some("endif")) => drop(opened.pop()),
            (_, _) => {}
        }
        at = end + close.len();
    }
    if let Some(open) = opened.pop() {
        return Err(bad(open, "this `if` has no `{% endif %}`".to_owned()));
    }
    // What is left: an `else` or an `and` where none can be.
    let compiled = super::TEMPLATES.template_from_named_str("template", text);
    compiled.map(drop).map_err(|error| BadTemplate {
        line: error.line().unwrap_or(1),
        column: 1,
        what: error.detail().map_or_else(|| error.to_string(), str::to_owned),
    })
}

fn placeholder(body: &str) -> Result<(), String> {
    if FLAGS.contains(&body) {
        return Err(format!("`{body}` is yes or no: write `{{% if {body} %}} … {{% endif %}}`"));
    }
    known(body)
}

fn condition(body: &str) -> Result<(), String> {
    let mut words = body.split_whitespace();
    match words.next() {
        Some("if" | "elif") => {
            let mut names: BTreeSet<&str> = words.collect();
            names.retain(|word| !["not", "and", "or"].contains(word));
            names.into_iter().try_for_each(known)
        }
        Some("else" | "endif") if words.next().is_none() => Ok(()),
        Some(_) | None => {
            Err(format!("`{{% {body} %}}` is not known here: there is `if`, `elif`, `else` and `endif`"))
        }
    }
}

fn known(name: &str) -> Result<(), String> {
    if NAMES.contains(&name) {
        return Ok(());
    }
    Err(match nearest(name, NAMES) {
        Some(meant) => format!("there is no placeholder `{name}`; did you mean `{meant}`?"),
        None => format!("there is no placeholder `{name}`"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> String {
        check(text).unwrap_err().to_string()
    }

    #[test]
    fn a_template_says_what_is_wrong_with_it_and_where() {
        assert_eq!(said("a\nbé {{ gaol }}"), "2:4: there is no placeholder `gaol`; did you mean `goal`?");
        assert_eq!(said("{{ nonce }}"), "1:1: there is no placeholder `nonce`");
        assert_eq!(said("{{ goal | upper }}"), "1:1: there is no placeholder `goal | upper`");
        assert_eq!(said("{{ goal.x }}"), "1:1: there is no placeholder `goal.x`; did you mean `goal`?");
        assert_eq!(
            said("{{ reviewer }}"),
            "1:1: `reviewer` is yes or no: write `{% if reviewer %} … {% endif %}`"
        );
        assert_eq!(said("x {% if tsk %}{% endif %}"), "1:3: there is no placeholder `tsk`");
        assert_eq!(
            said("{% include 'x' %}"),
            "1:1: `{% include 'x' %}` is not known here: there is `if`, `elif`, `else` and `endif`"
        );
        assert_eq!(said("\n{{ goal"), "2:1: `{{` is not closed");
        assert_eq!(said(" \n"), "1:1: it is empty");
        assert_eq!(said("a\n {% if goal %}\nb"), "2:2: this `if` has no `{% endif %}`");
        assert!(said("{% if goal and %}{% endif %}").starts_with("1:1: "));
        assert!(said("\n{% endif %}").starts_with("2:1: "));
        assert!(said("\n{% else %}").starts_with("2:1: "));
        assert!(said(&"x".repeat(MAX_TEMPLATE_BYTES + 1)).contains("the limit is"));
    }

    #[test]
    fn braces_that_open_nothing_are_text() {
        let text = "fn main() { println!(\"{}\", 1) } {# a remark #}{% if not goal or reviewer %}{{name}}{% endif %}";
        assert_eq!(check(text), Ok(()));
    }
}
