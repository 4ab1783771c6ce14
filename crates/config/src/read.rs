//! One layer's text, key by key, into settings that know where they were
//! written.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};
use windlass_core::policy::{AgentPolicy, Policy, Role};

use super::field::{Change, Value, not_available, wrong_type};
use super::keys::{Found, find, suggest};
use super::layer::{Layer, LayerKind};
use super::problem::{Fault, Problem};

/// What the layers read so far say; a later layer replaces an earlier one key
/// by key.
#[derive(Default)]
pub struct Settings {
    pub policy: BTreeMap<&'static str, Setting<Policy>>,
    /// `[agent]` under no role, `[role.<name>]` under its own.
    pub agents: BTreeMap<(Option<Role>, &'static str), Setting<AgentPolicy>>,
}

pub struct Setting<P> {
    pub change: Change<P>,
    pub origin: Origin,
}

/// Where a value was written.
#[derive(Clone, Debug, PartialEq)]
pub struct Origin {
    pub layer: Arc<Layer>,
    pub line: usize,
    pub column: usize,
    pub span: Range<usize>,
}

impl Settings {
    /// Adds a layer, or says everything that is wrong with it.
    pub fn read(&mut self, layer: &Arc<Layer>) -> Result<(), Vec<Problem>> {
        let mut reader = Reader { settings: self, layer, offset: 0, faults: Vec::new() };
        match layer.kind {
            LayerKind::User | LayerKind::Project | LayerKind::PolicyFile => reader.file(),
            LayerKind::Set => reader.argument(),
        }
        let mut faults = reader.faults;
        faults.sort_by_key(|fault| fault.span.start);
        if faults.is_empty() {
            return Ok(());
        }
        Err(faults.into_iter().map(|fault| Problem::in_text(layer, fault)).collect())
    }
}

struct Reader<'a> {
    settings: &'a mut Settings,
    layer: &'a Arc<Layer>,
    /// Where in the layer the text that spans count from begins.
    offset: usize,
    faults: Vec<Fault>,
}

impl Reader<'_> {
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
            self.faults.push(Fault {
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
                self.faults.push(Fault {
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

    fn entry(&mut self, name: &str, key_span: Range<usize>, value: &Value<'_>) {
        match find(name) {
            Found::Policy(key) => {
                let origin = self.origin(key_span);
                match key.field.read(name, value) {
                    Ok(change) => {
                        self.settings.policy.insert(key.name, Setting { change, origin });
                    }
                    Err(faults) => self.in_value(faults),
                }
            }
            Found::Agent(role, key) => {
                let origin = self.origin(key_span);
                match key.field.read(name, value) {
                    Ok(change) => {
                        self.settings.agents.insert((role, key.name), Setting { change, origin });
                    }
                    Err(faults) => self.in_value(faults),
                }
            }
            Found::Table => match value.get_ref().as_table() {
                Some(table) => self.table(name, table),
                None => {
                    let fault = wrong_type(name, "a table", value);
                    self.in_value(vec![Fault { help: format!("write its keys under [{name}]"), ..fault }]);
                }
            },
            Found::Later => self.faults.push(not_available(name, key_span)),
            Found::Unknown => self.unknown(name, key_span),
        }
    }

    fn unknown(&mut self, name: &str, span: Range<usize>) {
        let what = if name.contains('.') { "key" } else { "table or key" };
        let help = if name.starts_with("gate.check.") {
            "set the whole list: gate.check=[{name=\"test\", run=\"make test\"}]".to_owned()
        } else {
            suggest(name)
        };
        self.faults.push(Fault { span, message: format!("unknown {what} `{name}`"), help });
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
        self.faults.push(Fault { span, message, help });
    }

    fn in_value(&mut self, faults: Vec<Fault>) {
        for fault in faults {
            let span = self.moved(fault.span.clone());
            self.faults.push(Fault { span, ..fault });
        }
    }

    /// A span of what was parsed, as a span of the layer.
    fn moved(&self, span: Range<usize>) -> Range<usize> {
        span.start + self.offset..span.end + self.offset
    }

    fn origin(&self, span: Range<usize>) -> Origin {
        let (line, column) = self.layer.line_and_column(span.start);
        Origin { layer: Arc::clone(self.layer), line, column, span }
    }
}
