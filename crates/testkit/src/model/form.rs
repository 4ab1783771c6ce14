//! Values that fit a JSON schema. A model that is bound to a schema cannot answer otherwise, so the
//! script's report is brought into its form: unknown keys go where none are allowed, missing ones are empty.

use serde_json::{Map, Value, json};

/// A schema may name itself in its own middle; a value that is that deep is left as it is.
const DEPTH: usize = 32;

pub fn fit(value: &Value, schema: &Value) -> Value {
    Form { root: schema, depth: 0 }.fit(value, schema)
}

#[derive(Clone, Copy)]
struct Form<'a> {
    root: &'a Value,
    depth: usize,
}

impl<'a> Form<'a> {
    fn fit(self, value: &Value, schema: &'a Value) -> Value {
        let schema = self.resolved(schema);
        if self.depth > DEPTH {
            return value.clone();
        }
        let inner = Self { depth: self.depth + 1, ..self };
        if schema["properties"].is_object() {
            return inner.fit_object(value, schema);
        }
        match value {
            Value::Array(items) if schema["items"].is_object() => {
                items.iter().map(|item| inner.fit(item, &schema["items"])).collect()
            }
            Value::Null => inner.empty(schema),
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
                value.clone()
            }
        }
    }

    fn fit_object(self, value: &Value, schema: &'a Value) -> Value {
        let (Value::Object(_) | Value::Null, Some(properties)) = (value, schema["properties"].as_object())
        else {
            return value.clone();
        };
        let given = value.as_object().cloned().unwrap_or_default();
        let closed = schema["additionalProperties"] == json!(false);
        let mut fitted = Map::new();
        for (key, value) in given {
            match properties.get(&key) {
                Some(property) => fitted.insert(key, self.fit(&value, property)),
                None if closed => None,
                None => fitted.insert(key, value),
            };
        }
        for key in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if !fitted.contains_key(key) {
                let least =
                    properties.get(key).map_or(Value::Null, |property| self.fit(&Value::Null, property));
                fitted.insert(key.to_owned(), least);
            }
        }
        Value::Object(fitted)
    }

    /// The least value of a schema.
    fn empty(self, schema: &'a Value) -> Value {
        if let Some(first) = schema["enum"].as_array().and_then(|values| values.first()) {
            return first.clone();
        }
        let branches = ["anyOf", "oneOf"].iter().find_map(|key| schema[key].as_array());
        if let Some(branches) = branches {
            let null = branches.iter().any(|branch| kinds(branch).any(|kind| kind == "null"));
            let first = branches.first().filter(|_| !null);
            return first.map_or(Value::Null, |branch| self.fit(&Value::Null, branch));
        }
        let mut kinds: Vec<_> = kinds(schema).collect();
        kinds.sort_by_key(|kind| kind != "null");
        match kinds.first().map(String::as_str) {
            Some("string") => json!(""),
            Some("boolean") => json!(false),
            Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or_else(|| json!(0)),
            Some("array") => json!([]),
            Some("object") => json!({}),
            _ => Value::Null,
        }
    }

    /// What a `$ref` into the same schema points at.
    fn resolved(self, schema: &'a Value) -> &'a Value {
        let pointer = schema["$ref"].as_str().and_then(|place| place.strip_prefix('#'));
        pointer.and_then(|pointer| self.root.pointer(pointer)).unwrap_or(schema)
    }
}

/// The names of its types; Gemini's are in capitals.
fn kinds(schema: &Value) -> impl Iterator<Item = String> {
    let several = schema["type"].as_array().cloned().unwrap_or_else(|| vec![schema["type"].clone()]);
    several.into_iter().filter_map(|kind| Some(kind.as_str()?.to_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_brought_into_the_schemas_form() {
        let schema = json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["nonce", "status", "next", "blocker", "line", "maybe", "inner"],
            "properties": {
                "nonce": {"type": "string"},
                "status": {"enum": ["complete", "continue"]},
                "next": {"type": "array", "items": {"type": "string"}},
                "blocker": {"type": ["string", "null"]},
                "line": {"type": "INTEGER"},
                "maybe": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                "inner": {"type": "object", "properties": {"a": {"type": "boolean"}}, "required": ["a"]},
            },
        });
        assert_eq!(
            fit(&json!({"nonce": "n", "extra": 1}), &schema),
            json!({
                "nonce": "n", "status": "complete", "next": [], "blocker": null, "line": 0, "maybe": null,
                "inner": {"a": false},
            })
        );
    }

    #[test]
    fn references_are_followed_and_do_not_go_round_for_ever() {
        let schema = json!({
            "properties": {
                "findings": {"type": "array", "items": {"$ref": "#/$defs/Finding"}},
                "next": {"$ref": "#/$defs/Node"},
            },
            "required": ["findings", "next"],
            "$defs": {
                "Finding": {"properties": {"severity": {"$ref": "#/$defs/Severity"}}, "required": ["severity"]},
                "Severity": {"type": "string", "enum": ["bug", "warning"]},
                "Node": {"properties": {"next": {"$ref": "#/$defs/Node"}}, "required": ["next"]},
            },
        });
        let fitted = fit(&json!({"findings": [{}, {"severity": "warning"}]}), &schema);
        assert_eq!(fitted["findings"], json!([{"severity": "bug"}, {"severity": "warning"}]));
        assert!(fitted["next"]["next"].is_object());
    }

    #[test]
    fn what_fits_stays_and_open_schemas_take_all() {
        let schema = json!({"properties": {"list": {"items": {
            "properties": {"a": {"type": "string"}}, "additionalProperties": false,
        }}}});
        let given = json!({"list": [{"a": "x", "b": 1}], "other": [1, 2]});
        assert_eq!(fit(&given, &schema), json!({"list": [{"a": "x"}], "other": [1, 2]}));
        assert_eq!(fit(&json!("text"), &json!({"type": "string"})), json!("text"));
    }
}
