//! JSON for tools: one object or array, then a newline.

use serde::Serialize;
use windlass_core::plain::escaped;

use super::out;

pub fn print(value: &impl Serialize) {
    let text = serde_json::to_string_pretty(value).expect("what is printed is plain data");
    out::machine(&format!("{}\n", escaped(&text)));
}
