//! Anthropic's Messages, as claude speaks it.

use serde_json::{Value, json};

use super::super::ask::{Ask, Entry, Tool, ToolKind, text_of};
use super::{Reply, named_sse, pieces_of};

pub fn read(ask: &mut Ask, body: &Value) -> Result<(), String> {
    let messages = body["messages"].as_array().ok_or("`messages` is not a list")?;
    for message in messages {
        let content = &message["content"];
        match message["role"].as_str() {
            Some("assistant") => ask.push(Entry::Model { calls: has(content, "tool_use") }),
            Some("user") => {
                if has(content, "tool_result") {
                    ask.push(Entry::Results);
                }
                let said = text_of(content);
                if !said.is_empty() {
                    ask.push(Entry::User(said));
                }
            }
            Some(_) | None => {}
        }
    }
    for tool in body["tools"].as_array().into_iter().flatten() {
        // A tool with a type of its own (web_search_…) is the provider's.
        if tool["input_schema"].is_object() {
            ask.tools.push(Tool {
                name: tool["name"].as_str().unwrap_or_default().to_owned(),
                namespace: None,
                kind: ToolKind::Function,
                parameters: tool["input_schema"].clone(),
            });
        }
    }
    let format = [&body["output_format"], &body["output_config"]["format"]];
    ask.schema =
        format.iter().find(|format| format["type"] == json!("json_schema")).map(|f| f["schema"].clone());
    Ok(())
}

fn has(content: &Value, kind: &str) -> bool {
    content.as_array().is_some_and(|blocks| blocks.iter().any(|block| block["type"] == json!(kind)))
}

pub fn whole(reply: &Reply) -> Value {
    let mut message = message(reply);
    message["content"] = Value::Array(blocks(reply));
    message["stop_reason"] = json!(stop(reply));
    message["usage"]["output_tokens"] = json!(reply.tokens.answered());
    message
}

pub fn events(reply: &Reply) -> Vec<String> {
    let mut events = vec![event("message_start", json!({ "message": message(reply) }))];
    for (index, block) in blocks(reply).into_iter().enumerate() {
        events.extend(block_events(index, &block));
        if index == 0 {
            events.push(event("ping", json!({})));
        }
    }
    let mut usage = usage(reply);
    usage["output_tokens"] = json!(reply.tokens.answered());
    let delta = json!({ "stop_reason": stop(reply), "stop_sequence": null });
    events.push(event("message_delta", json!({ "delta": delta, "usage": usage })));
    events.push(event("message_stop", json!({})));
    events
}

pub fn failed(reply: &Reply, error: &Value) -> Vec<String> {
    let start = event("message_start", json!({ "message": message(reply) }));
    vec![start, event("error", json!({ "error": error["error"] }))]
}

fn block_events(index: usize, block: &Value) -> Vec<String> {
    let mut opened = block.clone();
    let (written, kind, key) = match block["type"].as_str() {
        Some("tool_use") => {
            opened["input"] = json!({});
            (block["input"].to_string(), "input_json_delta", "partial_json")
        }
        _ => {
            opened["text"] = json!("");
            (block["text"].as_str().unwrap_or_default().to_owned(), "text_delta", "text")
        }
    };
    let mut events = vec![event("content_block_start", json!({ "index": index, "content_block": opened }))];
    for piece in pieces_of(&written) {
        let delta = json!({ "type": kind, key: piece });
        events.push(event("content_block_delta", json!({ "index": index, "delta": delta })));
    }
    events.push(event("content_block_stop", json!({ "index": index })));
    events
}

fn event(name: &str, mut value: Value) -> String {
    value["type"] = json!(name);
    named_sse(name, &value)
}

fn message(reply: &Reply) -> Value {
    json!({
        "id": format!("msg_{}", reply.id), "type": "message", "role": "assistant", "model": reply.model,
        "content": [], "stop_reason": null, "stop_sequence": null, "usage": usage(reply),
    })
}

/// As it stands when the answer begins: one token of it is out.
fn usage(reply: &Reply) -> Value {
    let tokens = &reply.tokens;
    json!({
        "input_tokens": tokens.input,
        "cache_creation_input_tokens": tokens.cache_write,
        "cache_read_input_tokens": tokens.cached,
        "output_tokens": 1,
        "output_tokens_details": { "thinking_tokens": tokens.reasoning },
    })
}

fn blocks(reply: &Reply) -> Vec<Value> {
    let say = reply.say.iter().map(|text| json!({ "type": "text", "text": text }));
    let calls = reply.calls.iter().enumerate().map(|(index, call)| {
        json!({
            "type": "tool_use", "id": format!("toolu_{}_{index}", reply.id), "name": call.tool.name,
            "input": call.args,
        })
    });
    say.chain(calls).collect()
}

fn stop(reply: &Reply) -> &'static str {
    match (reply.refused, reply.calls.is_empty()) {
        (true, _) => "refusal",
        (false, true) => "end_turn",
        (false, false) => "tool_use",
    }
}
