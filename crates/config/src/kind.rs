//! The kinds of value a key may have. Each is one [`SimpleKind`], or one
//! implementation of [`ValueKind`]: nothing else lists them.

pub mod checks;
pub mod choice;
pub mod duration;
pub mod list;
pub mod number;
pub mod scopes;
pub mod size;
pub mod stop;
pub mod tables;
pub mod text;

use std::ops::Range;

use toml::Spanned;
use toml::de::DeValue;

use super::problem::TextProblem;

/// How a kind of value is read, described and written back.
pub trait ValueKind: Send + Sync + 'static {
    /// What a value fills.
    type Target: 'static;

    /// Reads a value, or says everything that is wrong with it. `key` is its
    /// whole dotted name.
    fn read(&self, key: &str, value: &TomlValue<'_>) -> Result<Setter<Self::Target>, Vec<TextProblem>>;

    /// What is accepted, in a few words.
    fn takes(&self) -> String;

    /// The value as it would be written in a file.
    fn show(&self, target: &Self::Target) -> String;
}

/// A kind of value that is read as a whole and replaces what was there.
pub struct SimpleKind<T: 'static> {
    pub takes: &'static str,
    pub parse: fn(&str, &TomlValue<'_>) -> Result<T, TextProblem>,
    pub show: fn(&T) -> String,
}

impl<T> ValueKind for SimpleKind<T> {
    type Target = T;

    fn read(&self, key: &str, value: &TomlValue<'_>) -> Result<Setter<T>, Vec<TextProblem>> {
        replace((self.parse)(key, value))
    }

    fn takes(&self) -> String {
        self.takes.to_owned()
    }

    fn show(&self, target: &T) -> String {
        (self.show)(target)
    }
}

/// What a well-formed value does to what it fills.
pub type Setter<T> = Box<dyn FnOnce(&mut T)>;

pub type TomlValue<'a> = Spanned<DeValue<'a>>;

/// The setter of a value that replaces what was there.
pub fn replace<T: 'static>(read: Result<T, TextProblem>) -> Result<Setter<T>, Vec<TextProblem>> {
    replace_all(read.map_err(|problem| vec![problem]))
}

/// The same for a value of many parts.
pub fn replace_all<T: 'static>(read: Result<T, Vec<TextProblem>>) -> Result<Setter<T>, Vec<TextProblem>> {
    let value = read?;
    Ok(Box::new(move |target| *target = value))
}

pub fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

pub fn quoted_list(texts: &[String]) -> String {
    let items: Vec<String> = texts.iter().map(|text| quoted(text)).collect();
    format!("[{}]", items.join(", "))
}

pub fn not_available(what: &str, span: Range<usize>) -> TextProblem {
    TextProblem {
        span,
        message: format!("`{what}` is not available in this version of windlass"),
        help: "remove it".to_owned(),
    }
}

pub fn wrong_type(key: &str, wanted: &str, value: &TomlValue<'_>) -> TextProblem {
    let found = match value.get_ref() {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "a number",
        DeValue::Float(_) => "a number with a fraction",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date or time",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    };
    TextProblem {
        span: value.span(),
        message: format!("`{key}` must be {wanted}, not {found}"),
        help: format!("write {wanted}"),
    }
}
