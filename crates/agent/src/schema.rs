//! The JSON schema of a report, for programs that hold their model to one.
//!
//! Written for the strictest reader there is: every property is required, no other is allowed, and what may be
//! absent is a type or null. The nonce is a plain string: its value stands in the brief alone, for a schema is
//! handed over where other programs can read it.

use serde_json::{Map, Value, json};
use windlass_core::policy::Role;

pub fn of(role: Role) -> Value {
    match role {
        Role::Reviewer => review(),
        Role::Author | Role::Finisher => claim(),
        Role::Planner => plan(),
    }
}

fn claim() -> Value {
    let check = object([
        ("command", text("A command that was run to see whether the work holds.")),
        ("exit", or_null("integer", "Its exit code.")),
    ]);
    let part = object([("title", text("The part in one line.")), ("text", text("What is to be done."))]);
    let amendment = object([
        ("action", one_of(&["add", "edit", "drop", "split"])),
        ("task", text("The id of the task. Empty for a new one.")),
        ("title", text("The title of the task, in one line.")),
        ("text", text("What is to be done.")),
        ("depends_on", texts("Ids of tasks that must be done first.")),
        ("parts", list(part)),
        ("why", text("Why the plan needs it.")),
    ]);
    object([
        ("nonce", text("The nonce of the brief's first line.")),
        ("status", one_of(&["complete", "continue", "blocked"])),
        ("summary", text("What was done, in a few sentences.")),
        ("blockers", texts("What keeps the task from being done. Empty if nothing does.")),
        ("next", texts("What is left to do.")),
        ("plan", texts("The steps that were followed.")),
        ("checks", list(check)),
        ("amendments", list(amendment)),
    ])
}

fn review() -> Value {
    let criterion = object([
        ("text", text("The criterion, as the task has it.")),
        ("met", one_of(&["yes", "no", "unknown"])),
        ("where", or_null("string", "File and line that show it.")),
    ]);
    let finding = object([
        ("file", text("Relative to the repository. Empty for the whole.")),
        ("line", or_null("integer", "From 1.")),
        ("severity", one_of(&["bug", "warning"])),
        ("description", text("What is wrong.")),
        ("scenario", or_null("string", "Input and wrong result.")),
    ]);
    object([
        ("nonce", text("The nonce of the brief's first line.")),
        ("verdict", one_of(&["accept", "reject"])),
        ("summary", text("Why, in a few sentences.")),
        ("criteria", list(criterion)),
        ("findings", list(finding)),
        ("resolved", texts("The ids of earlier findings that no longer hold.")),
        ("pending", texts("What the author is to do next. Empty with an accept.")),
        ("blocker", or_null("string", "What keeps the change from being accepted. Null with an accept.")),
    ])
}

fn plan() -> Value {
    let task = object([
        ("id", text("A short name: a number, then words of a-z, 0-9 and hyphens, as in 002-parse-dates.")),
        ("title", text("What is done, in one line.")),
        ("text", text("What is to be done, in Markdown. It is all that the author of the task is told.")),
        ("depends_on", texts("The ids of tasks that must be done before.")),
        ("acceptance", texts("Criteria, each of which can be answered with yes or no.")),
        ("allow", texts("Globs of protected files that the task must change. Usually empty.")),
        ("checks", texts("The names of checks that judge the task. Empty: all of them.")),
        ("mode", or_null("string", "implement, explore or fix. Null is implement.")),
    ]);
    let check = object([
        ("name", text("A short name.")),
        ("run", text("One shell command that exits with 0 if all is well.")),
    ]);
    object([
        ("nonce", text("The nonce of the brief's first line.")),
        ("title", text("What the plan is for, in one line.")),
        ("spec", text("The specification, in Markdown.")),
        ("plan", text("How the tasks lead there, and why in this order, in Markdown.")),
        ("tasks", list(task)),
        ("checks", list(check)),
        (
            "drop",
            texts("The ids of tasks of the plan so far that are to go. Empty unless a plan is revised."),
        ),
        ("protect", texts("Globs of further tests and settings that no task may change. Usually empty.")),
    ])
}

fn object<const N: usize>(properties: [(&str, Value); N]) -> Value {
    let required: Vec<&str> = properties.iter().map(|(name, _)| *name).collect();
    let properties: Map<String, Value> =
        properties.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

fn text(what: &str) -> Value {
    json!({"type": "string", "description": what})
}

fn or_null(kind: &str, what: &str) -> Value {
    json!({"type": [kind, "null"], "description": what})
}

fn one_of(words: &[&str]) -> Value {
    json!({"type": "string", "enum": words})
}

fn texts(what: &str) -> Value {
    json!({"type": "array", "items": {"type": "string"}, "description": what})
}

fn list(items: Value) -> Value {
    json!({"type": "array", "items": items})
}

#[cfg(test)]
mod tests {
    use windlass_core::id::Nonce;
    use windlass_core::input::Report;
    use windlass_core::verdict::{NoVerdict, Verdict};

    use super::*;
    use crate::report::parse_value;

    /// A value of the schema: the first word of each choice, null where it may be.
    fn sample(schema: &Value) -> Value {
        let kind = &schema["type"];
        match kind.as_str().or(kind[1].as_str()) {
            Some("object") => {
                let properties = schema["properties"].as_object().unwrap();
                properties
                    .iter()
                    .map(|(name, schema)| (name.clone(), sample(schema)))
                    .collect::<Map<_, _>>()
                    .into()
            }
            Some("array") => json!([sample(&schema["items"])]),
            Some("string") => schema["enum"][0].as_str().unwrap_or("words").into(),
            _ => Value::Null,
        }
    }

    fn strict(schema: &Value) {
        if schema["type"] == "object" {
            let properties = schema["properties"].as_object().unwrap();
            let names: Vec<&String> = properties.keys().collect();
            let mut required: Vec<&str> =
                schema["required"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
            required.sort_unstable();
            assert_eq!(names, required);
            assert_eq!(schema["additionalProperties"], false);
            properties.values().for_each(strict);
        }
        if schema["type"] == "array" {
            strict(&schema["items"]);
        }
    }

    #[test]
    fn every_property_is_required_and_no_other_allowed() {
        Role::ALL.into_iter().for_each(|role| strict(&of(role)));
    }

    #[test]
    fn a_value_of_the_schema_is_a_report_with_the_right_nonce_only() {
        let nonce = Nonce::new("n-1");
        for role in Role::ALL {
            let mut said = sample(&of(role));
            let wrong = parse_value(&said, role, &nonce).report;
            said["nonce"] = "n-1".into();
            let right = parse_value(&said, role, &nonce).report;
            match role {
                Role::Reviewer => {
                    assert_eq!(wrong, Report::Review(Err(NoVerdict::WrongNonce)));
                    assert!(matches!(right, Report::Review(Ok(review)) if review.verdict == Verdict::Accept));
                }
                Role::Author | Role::Finisher => {
                    assert_eq!(wrong, Report::None);
                    assert!(matches!(right, Report::Author(_)), "{right:?}");
                }
                Role::Planner => {
                    assert_eq!((wrong, right), (Report::None, Report::None));
                    assert_eq!(parse_value(&said, role, &nonce).answer, Some(said));
                }
            }
        }
    }
}
