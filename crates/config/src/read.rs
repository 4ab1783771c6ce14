//! One layer's text, key by key, into settings that know where they were
//! written.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};
use windlass_core::policy::{AgentPolicy, Policy, Role};

use super::format::{KeyLookup, PolicyFormat};
use super::kind::{Setter, TomlValue, not_available, wrong_type};
use super::layer::{Layer, LayerKind};
use super::problem::{ConfigProblem, TextProblem};

/// What the layers read so far say; a later layer replaces an earlier one key
/// by key.
#[derive(Default)]
pub struct LayeredValues {
    pub policy: BTreeMap<&'static str, LayeredValue<Policy>>,
    /// `[agent]` under no role, `[role.<name>]` under its own.
    pub agents: BTreeMap<(Option<Role>, &'static str), LayeredValue<AgentPolicy>>,
}

pub struct LayeredValue<P> {
    pub change: Setter<P>,
    pub origin: ValueOrigin,
}

/// Where a value was written.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueOrigin {
    pub layer: Arc<Layer>,
    pub line: usize,
    pub column: usize,
    pub span: Range<usize>,
}

impl LayeredValues {
    /// Adds a layer, or says everything that is wrong with it.
    pub fn read(&mut self, format: &PolicyFormat, layer: &Arc<Layer>) -> Result<(), Vec<ConfigProblem>> {
        let mut reader = LayerReader { format, values: self, layer, offset: 0, problems: Vec::new() };
        match layer.kind {
            LayerKind::User | LayerKind::Project | LayerKind::PolicyFile => reader.file(),
            LayerKind::Set => reader.argument(),
        }
        let mut problems = reader.problems;
        problems.sort_by_key(|problem| problem.span.start);
        if problems.is_empty() {
            return Ok(());
        }
        Err(problems.into_iter().map(|problem| ConfigProblem::in_text(layer, problem)).collect())
    }
}

struct LayerReader<'a> {
    format: &'a PolicyFormat,
    values: &'a mut LayeredValues,
    layer: &'a Arc<Layer>,
    /// Where in the layer the text that spans count from begins.
    offset: usize,
    problems: Vec<TextProblem>,
}

impl LayerReader<'_> {
    fn file(&mut self) {
        match DeTable::parse(&self.layer.text) {
            Ok(table) => self.table("", table.get_ref()),
            Err(error) => self.syntax(&error),
        }
    }

    /// `key=value`: the value is TOML, but a bare word needs no quotes.
    fn argument(&mut self) {
        let text = self.layer.text.as_str();
        let Some((key, value)) = text.split_once('=') else {
            self.problems.push(TextProblem {
                span: 0..text.len(),
                message: "there is no `=` in it".to_owned(),
                help: "write --set key=value, such as --set loop.max_iterations=10".to_owned(),
            });
            return;
        };
        let name = key.trim();
        let start = key.len() - key.trim_start().len();
        let key_span = start..start + name.len();
        let bare = value.trim();
        self.offset = key.len() + 1 + (value.len() - value.trim_start().len());
        match DeValue::parse(bare) {
            Ok(value) => self.entry(name, key_span, &value),
            Err(error) if bare.starts_with(['[', '{', '"', '\'']) => self.syntax(&error),
            Err(_) => {
                let word = DeValue::String(bare.into());
                self.entry(name, key_span, &Spanned::new(0..bare.len(), word));
            }
        }
    }

    fn table(&mut self, prefix: &str, table: &DeTable<'_>) {
        for (key, value) in table.iter() {
            let word = key.get_ref();
            let span = self.moved(key.span());
            if word.is_empty() || word.contains('.') {
                self.problems.push(TextProblem {
                    span,
                    message: format!("unknown key {word:?}"),
                    help: "write a dotted key without quotes".to_owned(),
                });
                continue;
            }
            let name = if prefix.is_empty() { word.to_string() } else { format!("{prefix}.{word}") };
            self.entry(&name, span, value);
        }
    }

    fn entry(&mut self, name: &str, key_span: Range<usize>, value: &TomlValue<'_>) {
        match self.format.find(name) {
            KeyLookup::Policy(key) => {
                let origin = self.origin(key_span);
                match key.read(name, value) {
                    Ok(change) => {
                        self.values.policy.insert(key.name, LayeredValue { change, origin });
                    }
                    Err(problems) => self.in_value(problems),
                }
            }
            KeyLookup::Agent(role, key) => {
                let origin = self.origin(key_span);
                match key.read(name, value) {
                    Ok(change) => {
                        self.values.agents.insert((role, key.name), LayeredValue { change, origin });
                    }
                    Err(problems) => self.in_value(problems),
                }
            }
            KeyLookup::Table => match value.get_ref().as_table() {
                Some(table) => self.table(name, table),
                None => {
                    let problem = wrong_type(name, "a table", value);
                    self.in_value(vec![TextProblem {
                        help: format!("write its keys under [{name}]"),
                        ..problem
                    }]);
                }
            },
            KeyLookup::Later => self.problems.push(not_available(name, key_span)),
            KeyLookup::Unknown => self.unknown(name, key_span),
        }
    }

    fn unknown(&mut self, name: &str, span: Range<usize>) {
        let what = if name.contains('.') { "key" } else { "table or key" };
        let help = if name.starts_with("gate.check.") {
            "set the whole list: gate.check=[{name=\"test\", run=\"make test\"}]".to_owned()
        } else if name.starts_with("stop.check.") {
            "set the whole list: stop.check=[{name=\"done\", exists=\"done.txt\"}]".to_owned()
        } else {
            // An argument is typed with the whole name; a table in it has names of its own.
            let is_typed =
                self.layer.kind == LayerKind::Set && self.layer.text.trim_start().starts_with(name);
            match self.format.nearest_in_table(name).filter(|_| is_typed) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => self.format.suggest(name),
            }
        };
        self.problems.push(TextProblem { span, message: format!("unknown {what} `{name}`"), help });
    }

    fn syntax(&mut self, error: &toml::de::Error) {
        let end = self.layer.text.len();
        let span = error.span().map_or(end..end, |span| self.moved(span));
        let (message, help) = match (error.message(), self.layer.text.get(span.clone())) {
            ("duplicate key", Some(key)) => {
                (format!("`{}` is written twice", key.trim()), "keep one of them".to_owned())
            }
            (message, _) => (
                format!("this is not TOML: {message}"),
                "see https://toml.io for how it is written".to_owned(),
            ),
        };
        self.problems.push(TextProblem { span, message, help });
    }

    fn in_value(&mut self, problems: Vec<TextProblem>) {
        for problem in problems {
            let span = self.moved(problem.span.clone());
            self.problems.push(TextProblem { span, ..problem });
        }
    }

    /// A span of what was parsed, as a span of the layer.
    fn moved(&self, span: Range<usize>) -> Range<usize> {
        span.start + self.offset..span.end + self.offset
    }

    fn origin(&self, span: Range<usize>) -> ValueOrigin {
        let (line, column) = self.layer.line_and_column(span.start);
        ValueOrigin { layer: Arc::clone(self.layer), line, column, span }
    }
}
