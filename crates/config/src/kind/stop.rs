//! `[stop]`: the check of a step, and the list of stop checks.

use std::collections::BTreeMap;
use std::ops::Range;

use toml::de::{DeTable, DeValue};
use windlass_core::nearest::nearest;
use windlass_core::policy::{CheckPolicy, GatePolicy};
use windlass_core::stop::{MAX_PATTERN_BYTES, StopCheck, StopCondition, StopPolicy};

use super::checks::bad_name;
use super::text::{inside, text};
use super::{Setter, TomlValue, ValueKind, quoted, replace_all, wrong_type};
use crate::problem::TextProblem;

/// The command of a step; it has the gate's timeout, which has been set before.
pub struct StepCheck;

impl ValueKind for StepCheck {
    type Target = GatePolicy;

    fn read(&self, key: &str, value: &TomlValue<'_>) -> Result<Setter<GatePolicy>, Vec<TextProblem>> {
        let run = text(key, value).map_err(|problem| vec![problem])?;
        Ok(Box::new(move |gate| {
            let wanted = !run.trim().is_empty();
            gate.step = wanted.then(|| Box::new(CheckPolicy::of_step(&run, gate.timeout)));
        }))
    }

    fn takes(&self) -> String {
        "text".to_owned()
    }

    fn show(&self, gate: &GatePolicy) -> String {
        quoted(gate.step.as_ref().map_or("", |step| &step.run))
    }
}

/// The list of stop checks.
pub struct StopChecks;

impl ValueKind for StopChecks {
    type Target = StopPolicy;

    fn read(&self, _: &str, value: &TomlValue<'_>) -> Result<Setter<StopPolicy>, Vec<TextProblem>> {
        replace_all(read(value).map(|checks| StopPolicy { checks }))
    }

    fn takes(&self) -> String {
        "list of tables".to_owned()
    }

    fn show(&self, policy: &StopPolicy) -> String {
        format!("[{}]", policy.checks.iter().map(show).collect::<Vec<_>>().join(", "))
    }
}

/// What a stop check may ask for: exactly one of these.
const CONDITIONS: [&str; 5] = ["run", "exists", "contains", "matches", "json"];

fn show(check: &StopCheck) -> String {
    let condition = match &check.condition {
        StopCondition::Run { run } => format!("run = {}", quoted(run)),
        StopCondition::Exists { path } => format!("exists = {}", quoted(path)),
        StopCondition::Contains { file, text } => {
            format!("contains = {{ file = {}, text = {} }}", quoted(file), quoted(text))
        }
        StopCondition::Matches { file, pattern } => {
            format!("matches = {{ file = {}, pattern = {} }}", quoted(file), quoted(pattern))
        }
        StopCondition::Json { file, path, equals } => {
            let json = serde_json::from_str::<serde_json::Value>(equals).ok();
            let value = json.and_then(|json| toml::Value::try_from(json).ok());
            let value = value.map_or_else(|| quoted(equals), |value| value.to_string());
            format!("json = {{ file = {}, path = {}, equals = {value} }}", quoted(file), quoted(path))
        }
    };
    format!("{{ name = {}, {condition} }}", quoted(&check.name))
}

fn read(value: &TomlValue<'_>) -> Result<Vec<StopCheck>, Vec<TextProblem>> {
    let Some(array) = value.get_ref().as_array() else {
        let help = "write `[[stop.check]]`, with two brackets".to_owned();
        return Err(vec![TextProblem { help, ..wrong_type("stop.check", "a list of tables", value) }]);
    };
    let mut checks: Vec<StopCheck> = Vec::new();
    let mut problems = Vec::new();
    let mut seen: BTreeMap<String, String> = BTreeMap::new();
    for item in array.iter() {
        let Some(table) = item.get_ref().as_table() else {
            problems.push(wrong_type("stop.check", "a list of tables", item));
            continue;
        };
        match read_one(table, item) {
            Ok(check) => {
                if seen.insert(check.name.to_lowercase(), check.name.clone()).is_some() {
                    problems.push(TextProblem {
                        span: table.get("name").map_or(item.span(), |name| name.span()),
                        message: format!("two stop checks are named {}", quoted(&check.name)),
                        help: "give each stop check a name of its own".to_owned(),
                    });
                }
                checks.push(check);
            }
            Err(found) => problems.extend(found),
        }
    }
    if problems.is_empty() { Ok(checks) } else { Err(problems) }
}

fn read_one(table: &DeTable<'_>, whole: &TomlValue<'_>) -> Result<StopCheck, Vec<TextProblem>> {
    let mut name = String::new();
    let mut conditions = Vec::new();
    let mut problems = Vec::new();
    for (written, value) in table.iter() {
        let key = written.get_ref().as_ref();
        let path = format!("stop.check.{key}");
        if key == "name" {
            match text(&path, value) {
                Ok(said) => name = said,
                Err(problem) => problems.push(problem),
            }
        } else if CONDITIONS.contains(&key) {
            match condition(key, &path, value) {
                Ok(condition) => conditions.push((condition, written.span())),
                Err(found) => problems.extend(found),
            }
        } else {
            problems.push(unknown("stop.check", key, written.span(), &ALL_KEYS));
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let span = table.get("name").map_or(whole.span(), |value| value.span());
    if let Some(message) = bad_name(&name) {
        let help = "name it with letters, digits, `-`, `_`, `.`, `:`, `+` or blanks, at most 64, letter or digit first";
        return Err(vec![TextProblem { span, message, help: help.to_owned() }]);
    }
    let help = format!("give it exactly one of {}", CONDITIONS.map(|key| format!("`{key}`")).join(", "));
    match (conditions.pop(), conditions.pop()) {
        (Some((condition, _)), None) => Ok(StopCheck { name, condition }),
        (Some(_), Some((_, span))) => {
            let message = format!("the stop check {} has two conditions", quoted(&name));
            Err(vec![TextProblem { span, message, help }])
        }
        (None, _) => {
            let message = format!("the stop check {} has no condition", quoted(&name));
            Err(vec![TextProblem { span, message, help }])
        }
    }
}

const ALL_KEYS: [&str; 6] = ["name", "run", "exists", "contains", "matches", "json"];

fn condition(key: &str, path: &str, value: &TomlValue<'_>) -> Result<StopCondition, Vec<TextProblem>> {
    match key {
        "run" => {
            let run = filled(path, value)?;
            Ok(StopCondition::Run { run })
        }
        "exists" => Ok(StopCondition::Exists { path: file(path, value)? }),
        "contains" => {
            let parts = Parts::of(path, value, &["file", "text"])?;
            let text = filled(&format!("{path}.text"), parts.get("text")?)?;
            Ok(StopCondition::Contains { file: parts.file()?, text })
        }
        "matches" => {
            let parts = Parts::of(path, value, &["file", "pattern"])?;
            let pattern = pattern(&format!("{path}.pattern"), parts.get("pattern")?)?;
            Ok(StopCondition::Matches { file: parts.file()?, pattern })
        }
        _ => {
            let parts = Parts::of(path, value, &["file", "path", "equals"])?;
            let inner = filled(&format!("{path}.path"), parts.get("path")?)?;
            let equals = parts.get("equals")?;
            let equals = json(&format!("{path}.equals"), equals).map_err(|problem| vec![problem])?;
            Ok(StopCondition::Json { file: parts.file()?, path: inner, equals: equals.to_string() })
        }
    }
}

/// A condition of several parts, each of which it must have.
struct Parts<'a, 'v> {
    path: &'a str,
    whole: &'a TomlValue<'v>,
    table: &'a DeTable<'v>,
    keys: &'a [&'static str],
}

impl<'a, 'v> Parts<'a, 'v> {
    fn of(
        path: &'a str,
        whole: &'a TomlValue<'v>,
        keys: &'a [&'static str],
    ) -> Result<Self, Vec<TextProblem>> {
        let Some(table) = whole.get_ref().as_table() else {
            let help = example(keys);
            return Err(vec![TextProblem { help, ..wrong_type(path, "a table", whole) }]);
        };
        let unknown_key = |key: &str| !keys.contains(&key);
        match table.iter().find(|(written, _)| unknown_key(written.get_ref())) {
            Some((written, _)) => Err(vec![unknown(path, written.get_ref(), written.span(), keys)]),
            None => Ok(Self { path, whole, table, keys }),
        }
    }

    fn get(&self, key: &str) -> Result<&'a TomlValue<'v>, Vec<TextProblem>> {
        self.table.get(key).ok_or_else(|| {
            vec![TextProblem {
                span: self.whole.span(),
                message: format!("`{}` has no `{key}`", self.path),
                help: example(self.keys),
            }]
        })
    }

    fn file(&self) -> Result<String, Vec<TextProblem>> {
        file(&format!("{}.file", self.path), self.get("file")?)
    }
}

fn example(keys: &[&str]) -> String {
    let shown = |key: &&str| match *key {
        "file" => "file = \"state.json\"".to_owned(),
        "text" => "text = \"done\"".to_owned(),
        "pattern" => "pattern = '(?m)^1$'".to_owned(),
        "path" => "path = \"jobs.left\"".to_owned(),
        key => format!("{key} = 0"),
    };
    format!("write it like {{ {} }}", keys.iter().map(shown).collect::<Vec<_>>().join(", "))
}

fn filled(key: &str, value: &TomlValue<'_>) -> Result<String, Vec<TextProblem>> {
    let said = text(key, value).map_err(|problem| vec![problem])?;
    if said.trim().is_empty() {
        let message = format!("`{key}` is empty");
        return Err(vec![TextProblem {
            span: value.span(),
            message,
            help: "write what is meant".to_owned(),
        }]);
    }
    Ok(said)
}

fn file(key: &str, value: &TomlValue<'_>) -> Result<String, Vec<TextProblem>> {
    let said = text(key, value).map_err(|problem| vec![problem])?;
    inside(said.trim_end_matches('/')).map_err(|why| {
        let help = "write a path from the root of the repository".to_owned();
        vec![TextProblem { span: value.span(), message: format!("in `{key}`, {why}"), help }]
    })
}

fn pattern(key: &str, value: &TomlValue<'_>) -> Result<String, Vec<TextProblem>> {
    let said = filled(key, value)?;
    let built = regex::bytes::RegexBuilder::new(&said).size_limit(MAX_PATTERN_BYTES).build();
    built.map(|_| said).map_err(|error| {
        let last = error.to_string();
        let why = last.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
        let help = "it is a regular expression of the Rust crate regex; `(?m)` lets ^ and $ match at lines";
        vec![TextProblem {
            span: value.span(),
            message: format!("`{key}` is not a pattern: {why}"),
            help: help.to_owned(),
        }]
    })
}

fn json(key: &str, value: &TomlValue<'_>) -> Result<serde_json::Value, TextProblem> {
    let wrong = || TextProblem {
        help: "write a text, a number, true, false, a list or a table".to_owned(),
        ..wrong_type(key, "a value of JSON", value)
    };
    Ok(match value.get_ref() {
        DeValue::String(text) => text.as_ref().into(),
        DeValue::Boolean(flag) => (*flag).into(),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map(serde_json::Value::from)
            .map_err(|_| wrong())?,
        DeValue::Float(number) => {
            let number = number.as_str().parse::<f64>().ok().and_then(serde_json::Number::from_f64);
            number.map(serde_json::Value::Number).ok_or_else(wrong)?
        }
        DeValue::Array(items) => {
            items.iter().map(|item| json(key, item)).collect::<Result<Vec<_>, _>>()?.into()
        }
        DeValue::Table(table) => {
            let entry = |(name, value): (&toml::Spanned<toml::de::DeString<'_>>, &TomlValue<'_>)| {
                Ok((name.get_ref().to_string(), json(key, value)?))
            };
            let entries = table.iter().map(entry).collect::<Result<serde_json::Map<_, _>, TextProblem>>()?;
            serde_json::Value::Object(entries)
        }
        DeValue::Datetime(_) => return Err(wrong()),
    })
}

fn unknown(table: &str, key: &str, span: Range<usize>, keys: &[&'static str]) -> TextProblem {
    let help = match nearest(key, keys.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("it has: {}", keys.join(", ")),
    };
    TextProblem { span, message: format!("unknown key `{table}.{key}`"), help }
}

#[cfg(test)]
mod tests;
