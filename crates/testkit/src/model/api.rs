//! The four APIs: where each lies, how a request of it is read and an answer written.

mod chat;
mod gemini;
mod messages;
mod responses;

use serde::Serialize;
use serde_json::{Value, json};

use super::ask::Ask;
use super::tokens::Tokens;
use super::tool::Call;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Api {
    Responses,
    Chat,
    Messages,
    Gemini,
}

/// What a POST asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Route {
    Answer { api: Api, target: Target },
    CountTokens { api: Api },
}

/// What Gemini's path says, and the others' body.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Target {
    pub model: Option<String>,
    pub stream: bool,
    /// A stream without events: one JSON array.
    pub array: bool,
}

/// An answer in words of no API.
#[derive(Clone, Debug)]
pub struct Reply {
    /// Unlike any other of any server: agents tell messages apart by it.
    pub id: String,
    pub model: String,
    pub say: Option<String>,
    pub calls: Vec<Call>,
    pub refused: bool,
    pub tokens: Tokens,
    pub tells_tokens: bool,
}

pub fn route(path: &str, query: &str) -> Option<Route> {
    let answer = |api| Some(Route::Answer { api, target: Target::default() });
    if path.ends_with("/responses") {
        return answer(Api::Responses);
    }
    if path.ends_with("/chat/completions") {
        return answer(Api::Chat);
    }
    if path.ends_with("/messages") {
        return answer(Api::Messages);
    }
    if path.ends_with("/messages/count_tokens") {
        return Some(Route::CountTokens { api: Api::Messages });
    }
    let (_, last) = path.rsplit_once("/models/")?;
    let (model, verb) = last.rsplit_once(':')?;
    let array = !query.split('&').any(|pair| pair == "alt=sse");
    let target = |stream| Target { model: Some(model.to_owned()), stream, array };
    match verb {
        "generateContent" => Some(Route::Answer { api: Api::Gemini, target: target(false) }),
        "streamGenerateContent" => Some(Route::Answer { api: Api::Gemini, target: target(true) }),
        "countTokens" => Some(Route::CountTokens { api: Api::Gemini }),
        _ => None,
    }
}

/// What stands before the API's own path; a rule can choose by it.
pub fn prefix(path: &str) -> &str {
    let at = ["/v1", "/chat/completions", "/responses", "/messages"].iter().filter_map(|own| path.find(own));
    path[..at.min().unwrap_or(path.len())].trim_matches('/')
}

pub fn read(api: Api, target: &Target, body: &Value, bytes: usize) -> Result<Ask, String> {
    if !body.is_object() {
        return Err("the body is not a JSON object".to_owned());
    }
    let text = |key: &str| body[key].as_str().map(str::to_owned);
    let model = target.model.clone().or_else(|| text("model")).ok_or("`model` is missing")?;
    let mut ask = Ask {
        api,
        model,
        stream: target.stream || body["stream"] == json!(true),
        wants_usage: true,
        entries: Vec::new(),
        tools: Vec::new(),
        schema: None,
        bytes,
    };
    match api {
        Api::Responses => responses::read(&mut ask, body)?,
        Api::Chat => chat::read(&mut ask, body)?,
        Api::Messages => messages::read(&mut ask, body)?,
        Api::Gemini => gemini::read(&mut ask, body)?,
    }
    Ok(ask)
}

/// The events of a stream, each a whole frame; the last one or two tell the tokens.
pub fn events(api: Api, reply: &Reply) -> Vec<String> {
    match api {
        Api::Responses => responses::events(reply),
        Api::Chat => chat::events(reply),
        Api::Messages => messages::events(reply),
        Api::Gemini => gemini::events(reply),
    }
}

/// The same in one piece.
pub fn whole(api: Api, reply: &Reply) -> Value {
    match api {
        Api::Responses => responses::whole(reply),
        Api::Chat => chat::whole(reply),
        Api::Messages => messages::whole(reply),
        Api::Gemini => gemini::whole(reply),
    }
}

/// Gemini's stream for who did not ask for events.
pub fn array(reply: &Reply) -> Value {
    Value::Array(gemini::pieces(reply))
}

/// A stream that begins well and then says that it failed; None where the API has no such thing.
pub fn failed_events(api: Api, reply: &Reply, error: &Value) -> Option<Vec<String>> {
    match api {
        Api::Responses => Some(responses::failed(reply, error)),
        Api::Messages => Some(messages::failed(reply, error)),
        Api::Chat | Api::Gemini => None,
    }
}

pub fn count(api: Api, bytes: usize) -> Value {
    let tokens = Tokens::of_bytes(bytes);
    match api {
        Api::Gemini => json!({ "totalTokens": tokens }),
        Api::Messages | Api::Responses | Api::Chat => json!({ "input_tokens": tokens }),
    }
}

/// What `GET …/models` lists, in the forms of all four at once.
pub fn models(names: &[&str]) -> Value {
    let data: Vec<_> = names
        .iter()
        .map(|name| {
            json!({
                "id": name, "object": "model", "owned_by": "script", "created": 1_700_000_000,
                "type": "model", "display_name": name, "created_at": "2026-01-01T00:00:00Z",
            })
        })
        .collect();
    let first = names.first();
    json!({
        "object": "list", "data": data, "has_more": false, "first_id": first, "last_id": names.last(),
        // Codex and Gemini read this key, and take a model that is not listed for one without details.
        "models": [],
    })
}

impl Reply {
    fn call_id(&self, index: usize) -> String {
        format!("call_{}_{index}", self.id)
    }
}

fn sse(value: &Value) -> String {
    format!("data: {value}\n\n")
}

fn named_sse(name: &str, value: &Value) -> String {
    format!("event: {name}\ndata: {value}\n\n")
}

/// A text in a few pieces, as a model would stream it.
fn pieces_of(text: &str) -> Vec<&str> {
    let size = (text.len() / 8).max(16);
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let at = (size.min(rest.len())..=rest.len()).find(|at| rest.is_char_boundary(*at));
        let (piece, more) = rest.split_at(at.unwrap_or(rest.len()));
        pieces.push(piece);
        rest = more;
    }
    pieces
}
