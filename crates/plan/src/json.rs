//! JSON whose values know their place. serde_json checks it whole and lends the
//! text of each value, and where that text lies in the file is its place.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::error::PlanError;
use crate::jsonc::comments;
use crate::place::{FilePosition, LineIndex, Placed};

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsonFault {
    #[error("this is not JSON: {0}")]
    Syntax(String),
    #[error("JSON has no comments")]
    Comment,
    #[error("there is no `{key}`")]
    NoKey { key: &'static str, instead: Option<String> },
    #[error("unknown key `{key}`")]
    UnknownKey { key: String, nearest: &'static str },
    #[error("`{0}` is written twice")]
    KeyTwice(String),
    #[error("{what} must be {expected}")]
    WrongKind { what: String, expected: &'static str },
    #[error("the id {id:?} cannot be used: {why}")]
    BadId { id: String, why: &'static str },
}

impl JsonFault {
    /// What the operator can do about it.
    pub fn remedy(&self) -> String {
        match self {
            Self::Syntax(_) => "look for a comma, quote or bracket that is missing or too many".to_owned(),
            Self::Comment => "take it out, or give the file a name that ends in `.jsonc`".to_owned(),
            Self::NoKey { key, instead: Some(instead) } => format!("rename `{instead}` to `{key}`"),
            Self::NoKey { key, instead: None } => format!("add \"{key}\""),
            Self::UnknownKey { nearest, .. } => format!("did you mean `{nearest}`?"),
            Self::KeyTwice(_) => "keep one of them".to_owned(),
            Self::WrongKind { expected, .. } => format!("write {expected} there"),
            Self::BadId { .. } => "give it a short id such as US-001".to_owned(),
        }
    }
}

pub(crate) struct JsonText<'a> {
    file: &'a Path,
    text: &'a str,
    index: LineIndex<'a>,
}

/// A value by its own text.
#[derive(Clone, Copy)]
pub(crate) struct Json<'a>(pub &'a str);

/// The keys of an object with their values, in the order of the file.
pub(crate) struct JsonObject<'a> {
    pub at: Json<'a>,
    pub entries: Vec<(Json<'a>, String, Json<'a>)>,
}

impl<'a> JsonText<'a> {
    pub fn new(file: &'a Path, text: &'a str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        Self { file, text, index: LineIndex::new(text) }
    }

    pub fn root(&self) -> Result<Json<'a>, PlanError> {
        let raw: &'a RawValue = serde_json::from_str(self.text).map_err(|error| {
            if let Some(comment) = comments(self.text).first() {
                let place = self.index.placed(comment.start, ()).in_file(self.file);
                return PlanError::Json { place, fault: JsonFault::Comment };
            }
            let column = error.column().max(1) - 1;
            let at = self.index.placed(self.index.line_start(error.line()) + column, ());
            let message = error.to_string();
            let message = message.split(" at line ").next().unwrap_or_default().to_owned();
            PlanError::Json { place: at.in_file(self.file), fault: JsonFault::Syntax(message) }
        })?;
        Ok(Json(raw.get()))
    }

    pub fn placed<T>(&self, json: Json<'a>, value: T) -> Placed<T> {
        let offset = (json.0.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
        self.index.placed(offset, value)
    }

    pub fn place(&self, json: Json<'a>) -> FilePosition {
        self.placed(json, ()).in_file(self.file)
    }

    pub fn fault(&self, json: Json<'a>, fault: JsonFault) -> PlanError {
        PlanError::Json { place: self.place(json), fault }
    }

    /// A key stands in quotes of its own; what has no key has a name with a blank.
    fn wrong_kind(&self, json: Json<'a>, key: &str, expected: &'static str) -> PlanError {
        let what = if key.contains(' ') { key.to_owned() } else { format!("`{key}`") };
        self.fault(json, JsonFault::WrongKind { what, expected })
    }

    /// The entries of an object, and a problem for each key that is there twice.
    pub fn object(&self, json: Json<'a>, key: &str) -> Result<(JsonObject<'a>, Vec<PlanError>), PlanError> {
        let entries: Entries<'a> =
            serde_json::from_str(json.0).map_err(|_| self.wrong_kind(json, key, "an object {…}"))?;
        let mut object = JsonObject { at: json, entries: Vec::new() };
        let mut problems = Vec::new();
        let mut seen = BTreeSet::new();
        for (name, value) in entries.0 {
            let (name, value) = (Json(name.get()), Json(value.get()));
            let text = self.text(name, key)?;
            if seen.insert(text.clone()) {
                object.entries.push((name, text, value));
            } else {
                problems.push(self.fault(name, JsonFault::KeyTwice(text)));
            }
        }
        Ok((object, problems))
    }

    pub fn list(&self, json: Json<'a>, key: &str) -> Result<Vec<Json<'a>>, PlanError> {
        let raw: Vec<&'a RawValue> =
            serde_json::from_str(json.0).map_err(|_| self.wrong_kind(json, key, "a list […]"))?;
        Ok(raw.into_iter().map(|raw| Json(raw.get())).collect())
    }

    pub fn text(&self, json: Json<'a>, key: &str) -> Result<String, PlanError> {
        serde_json::from_str(json.0).map_err(|_| self.wrong_kind(json, key, "a text \"…\""))
    }

    pub fn texts(&self, json: Json<'a>, key: &str) -> Result<Vec<Placed<String>>, PlanError> {
        let not_texts = |item| self.wrong_kind(item, key, "a list of texts [\"…\"]");
        let items = self.list(json, key)?;
        let text = |item: Json<'a>| serde_json::from_str(item.0).map_err(|_| not_texts(item));
        items.into_iter().map(|item| Ok(self.placed(item, text(item)?))).collect()
    }

    pub fn flag(&self, json: Json<'a>, key: &str) -> Result<bool, PlanError> {
        serde_json::from_str(json.0).map_err(|_| self.wrong_kind(json, key, "true or false"))
    }

    pub fn number<T: std::str::FromStr>(&self, json: Json<'a>, key: &str) -> Result<T, PlanError> {
        json.0.parse().map_err(|_| self.wrong_kind(json, key, "a whole number"))
    }
}

impl<'a> JsonObject<'a> {
    /// What a key says; `null` says nothing.
    pub fn get(&self, key: &str) -> Option<Json<'a>> {
        let found = self.entries.iter().find(|(_, name, _)| name == key);
        found.map(|(_, _, value)| *value).filter(|value| value.0 != "null")
    }

    /// Every entry that is none of these, as lines of a list.
    pub fn others(&self, known: &[&str]) -> String {
        let other = |(_, name, value): &(Json<'a>, String, Json<'a>)| {
            let is_said =
                !known.contains(&name.as_str()) && !matches!(value.0, "null" | "\"\"" | "[]" | "{}");
            let plain = serde_json::from_str::<String>(value.0).unwrap_or_else(|_| value.0.to_owned());
            is_said.then(|| format!("- {name}: {}\n", plain.trim()))
        };
        self.entries.iter().filter_map(other).collect()
    }
}

struct Entries<'a>(Vec<(&'a RawValue, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Entries<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EntriesVisitor).map(|entries| Self(entries.0))
    }
}

struct EntriesVisitor;

impl<'de> Visitor<'de> for EntriesVisitor {
    type Value = Entries<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries<'de>, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Entries(entries))
    }
}
