//! One JSON object in which no key is lost: `serde_json` keeps the last of equal keys without a word, and a
//! report that says accept and reject would become one that accepts.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use windlass_core::plain;

use crate::bound;

/// An error message may quote the document; this much of it is enough.
const WHAT_BYTES: usize = 300;

pub enum Document {
    Object(Vec<(String, Value)>),
    Two,
    Unreadable { what: String },
}

pub fn read(bytes: &[u8]) -> Document {
    let mut documents = serde_json::Deserializer::from_slice(bytes).into_iter::<Object>();
    let first = match documents.next() {
        Some(Ok(first)) => first,
        Some(Err(error)) => return unreadable(&error.to_string()),
        None => return unreadable("it is empty"),
    };
    match documents.next() {
        None => Document::Object(first.0),
        Some(Ok(_)) => Document::Two,
        Some(Err(error)) => unreadable(&format!("after its object: {error}")),
    }
}

fn unreadable(what: &str) -> Document {
    Document::Unreadable { what: bound::line(&plain::plain(what), WHAT_BYTES) }
}

/// Every pair of the object, in order.
struct Object(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(ObjectVisitor)
    }
}

struct ObjectVisitor;

impl<'de> Visitor<'de> for ObjectVisitor {
    type Value = Object;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("one JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object, A::Error> {
        let mut pairs = Vec::new();
        while let Some((key, Unique(value))) = map.next_entry()? {
            pairs.push((key, value));
        }
        Ok(Object(pairs))
    }
}

/// A value below the object, in which a repeated key is an error.
struct Unique(Value);

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(UniqueVisitor).map(Unique)
    }
}

struct UniqueVisitor;

impl<'de> Visitor<'de> for UniqueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(Unique(item)) = seq.next_element()? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut pairs = Map::new();
        while let Some((key, Unique(value))) = map.next_entry::<String, Unique>()? {
            if pairs.contains_key(&key) {
                return Err(A::Error::custom(format_args!("the key `{key}` is given twice")));
            }
            pairs.insert(key, value);
        }
        Ok(Value::Object(pairs))
    }
}
