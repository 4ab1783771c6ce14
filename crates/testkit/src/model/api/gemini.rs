//! Google's Gemini API, as the gemini agent speaks it.

use serde_json::{Value, json};

use super::super::ask::{Ask, Entry, Tool, ToolKind, text_of};
use super::{Reply, pieces_of, sse};

pub fn read(ask: &mut Ask, body: &Value) -> Result<(), String> {
    let contents = body["contents"].as_array().ok_or("`contents` is not a list")?;
    for content in contents {
        let parts = content["parts"].as_array().map(Vec::as_slice).unwrap_or_default();
        let has = |key: &str| parts.iter().any(|part| part.get(key).is_some());
        if content["role"] == json!("model") {
            ask.push(Entry::Model { calls: has("functionCall") });
            continue;
        }
        if has("functionResponse") {
            ask.push(Entry::Results);
        }
        let said = text_of(&content["parts"]);
        if !said.is_empty() {
            ask.push(Entry::User(said));
        }
    }
    let groups = body["tools"].as_array().into_iter().flatten();
    for function in groups.flat_map(|group| group["functionDeclarations"].as_array().into_iter().flatten()) {
        let schema = ["parametersJsonSchema", "parameters"].iter().find_map(|key| function.get(key));
        ask.tools.push(Tool {
            name: function["name"].as_str().unwrap_or_default().to_owned(),
            namespace: None,
            kind: ToolKind::Function,
            parameters: schema.cloned().unwrap_or_default(),
        });
    }
    let wanted = &body["generationConfig"];
    let schema = ["responseJsonSchema", "responseSchema"].iter().find_map(|key| wanted.get(key));
    ask.schema = schema.cloned();
    Ok(())
}

pub fn whole(reply: &Reply) -> Value {
    piece(reply, parts(reply), Some(finish(reply)))
}

pub fn events(reply: &Reply) -> Vec<String> {
    pieces(reply).iter().map(sse).collect()
}

/// What is streamed; the last one ends the answer.
pub fn pieces(reply: &Reply) -> Vec<Value> {
    let mut parts = parts(reply);
    let last = parts.pop();
    let mut pieces: Vec<_> = parts.into_iter().map(|part| piece(reply, vec![part], None)).collect();
    pieces.push(piece(reply, last.into_iter().collect(), Some(finish(reply))));
    pieces
}

fn parts(reply: &Reply) -> Vec<Value> {
    let say = reply.say.iter().flat_map(|text| pieces_of(text)).map(|text| json!({ "text": text }));
    let call = |(index, call): (usize, &super::Call)| json!({ "functionCall": { "id": reply.call_id(index), "name": call.tool.name, "args": call.args } });
    say.chain(reply.calls.iter().enumerate().map(call)).collect()
}

fn piece(reply: &Reply, parts: Vec<Value>, finish: Option<&str>) -> Value {
    let mut candidate = json!({ "index": 0, "content": { "role": "model", "parts": parts } });
    let mut piece = json!({ "modelVersion": reply.model, "responseId": reply.id });
    if let Some(finish) = finish {
        candidate["finishReason"] = json!(finish);
        piece["usageMetadata"] = usage(reply);
    }
    piece["candidates"] = json!([candidate]);
    piece
}

fn finish(reply: &Reply) -> &'static str {
    if reply.refused { "SAFETY" } else { "STOP" }
}

fn usage(reply: &Reply) -> Value {
    let tokens = &reply.tokens;
    json!({
        "promptTokenCount": tokens.asked(),
        "cachedContentTokenCount": tokens.cached,
        "candidatesTokenCount": tokens.output,
        "thoughtsTokenCount": tokens.reasoning,
        "totalTokenCount": tokens.asked() + tokens.answered(),
    })
}
