//! OpenAI's Responses, as codex speaks it.

use serde_json::{Value, json};

use super::super::ask::{Ask, Entry, Tool, ToolKind, text_of};
use super::super::tool::Call;
use super::{Reply, named_sse, pieces_of};

pub fn read(ask: &mut Ask, body: &Value) -> Result<(), String> {
    match &body["input"] {
        Value::String(text) => ask.push(Entry::User(text.clone())),
        Value::Array(items) => items.iter().for_each(|item| read_item(ask, item)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            return Err("`input` is neither a text nor a list".to_owned());
        }
    }
    read_tools(ask, &body["tools"], None);
    if body["text"]["format"]["type"] == json!("json_schema") {
        ask.schema = Some(body["text"]["format"]["schema"].clone());
    }
    Ok(())
}

fn read_item(ask: &mut Ask, item: &Value) {
    let kind = item["type"].as_str().unwrap_or("message");
    match (kind, item["role"].as_str()) {
        ("message", Some("user")) => ask.push(Entry::User(text_of(&item["content"]))),
        ("message", Some("assistant")) => ask.push(Entry::Model { calls: false }),
        (kind, _) if kind.ends_with("_call") => ask.push(Entry::Model { calls: true }),
        (kind, _) if kind.ends_with("_output") => ask.push(Entry::Results),
        // Codex 0.166 offers the tools of its default model in the conversation.
        ("additional_tools", _) => read_tools(ask, &item["tools"], None),
        // The system's and the developer's words, and reasoning handed back.
        _ => {}
    }
}

fn read_tools(ask: &mut Ask, tools: &Value, namespace: Option<&str>) {
    for tool in tools.as_array().into_iter().flatten() {
        read_tool(ask, tool, namespace);
    }
}

fn read_tool(ask: &mut Ask, tool: &Value, namespace: Option<&str>) {
    let name = tool["name"].as_str();
    let kind = match tool["type"].as_str() {
        Some("function") => ToolKind::Function,
        Some("custom") => ToolKind::Custom,
        Some("local_shell") => ToolKind::LocalShell,
        Some("namespace") => {
            return read_tools(ask, &tool["tools"], name);
        }
        // The provider's own (web_search and the like): nothing the agent would run.
        _ => return,
    };
    ask.tools.push(Tool {
        name: name.unwrap_or("local_shell").to_owned(),
        namespace: namespace.map(str::to_owned),
        kind,
        parameters: tool["parameters"].clone(),
    });
}

pub fn whole(reply: &Reply) -> Value {
    response(reply, "completed", items(reply))
}

pub fn events(reply: &Reply) -> Vec<String> {
    let mut events = Events::begin(reply);
    for (index, item) in items(reply).into_iter().enumerate() {
        events.item(index, &item);
    }
    match reply.refused {
        true => events.push("response.failed", json!({ "response": refusal(reply) })),
        false => events.push("response.completed", json!({ "response": whole(reply) })),
    }
    events.frames
}

pub fn failed(reply: &Reply, error: &Value) -> Vec<String> {
    let mut events = Events::begin(reply);
    let mut response = response(reply, "failed", Vec::new());
    response["error"] = error["error"].clone();
    response["usage"] = Value::Null;
    events.push("response.failed", json!({ "response": response }));
    events.frames
}

fn refusal(reply: &Reply) -> Value {
    let mut response = response(reply, "failed", Vec::new());
    response["error"] = json!({
        "code": "invalid_prompt",
        "message": "Invalid prompt: your prompt was flagged as potentially violating our usage policy.",
    });
    response
}

fn response(reply: &Reply, status: &str, output: Vec<Value>) -> Value {
    let tokens = &reply.tokens;
    json!({
        "id": format!("resp_{}", reply.id), "object": "response", "created_at": 1_700_000_000,
        "status": status, "model": reply.model, "output": output, "error": null, "incomplete_details": null,
        "parallel_tool_calls": false, "store": false,
        "usage": {
            "input_tokens": tokens.asked(),
            "input_tokens_details": { "cached_tokens": tokens.cached, "cache_write_tokens": tokens.cache_write },
            "output_tokens": tokens.answered(),
            "output_tokens_details": { "reasoning_tokens": tokens.reasoning },
            "total_tokens": tokens.asked() + tokens.answered(),
        },
    })
}

fn items(reply: &Reply) -> Vec<Value> {
    let say = reply.say.iter().map(|text| {
        json!({
            "type": "message", "id": format!("msg_{}", reply.id), "role": "assistant", "status": "completed",
            "content": [{ "type": "output_text", "text": text, "annotations": [] }],
        })
    });
    let calls = reply.calls.iter().enumerate().map(|(index, call)| call_item(reply, index, call));
    say.chain(calls).collect()
}

fn call_item(reply: &Reply, index: usize, call: &Call) -> Value {
    let (id, call_id) = (format!("fc_{}_{index}", reply.id), reply.call_id(index));
    match call.tool.kind {
        ToolKind::LocalShell => json!({
            "type": "local_shell_call", "id": id, "call_id": call_id, "status": "completed",
            "action": { "type": "exec", "command": call.args },
        }),
        ToolKind::Custom => json!({
            "type": "custom_tool_call", "id": id, "call_id": call_id, "status": "completed",
            "name": call.tool.name, "input": call.args,
        }),
        ToolKind::Function => {
            let mut item = json!({
                "type": "function_call", "id": id, "call_id": call_id, "status": "completed",
                "name": call.tool.name, "arguments": call.args.to_string(),
            });
            if let Some(namespace) = &call.tool.namespace {
                item["namespace"] = json!(namespace);
            }
            item
        }
    }
}

/// Frames with their running number.
struct Events {
    frames: Vec<String>,
}

impl Events {
    fn begin(reply: &Reply) -> Self {
        let mut events = Self { frames: Vec::new() };
        let mut response = response(reply, "in_progress", Vec::new());
        response["usage"] = Value::Null;
        events.push("response.created", json!({ "response": response }));
        events.push("response.in_progress", json!({ "response": response }));
        events
    }

    fn push(&mut self, name: &str, mut event: Value) {
        event["type"] = json!(name);
        event["sequence_number"] = json!(self.frames.len());
        self.frames.push(named_sse(name, &event));
    }

    fn item(&mut self, index: usize, item: &Value) {
        let id = item["id"].clone();
        let mut opened = item.clone();
        opened["status"] = json!("in_progress");
        match item["type"].as_str() {
            Some("message") => opened["content"] = json!([]),
            Some("function_call") => opened["arguments"] = json!(""),
            Some("custom_tool_call") => opened["input"] = json!(""),
            _ => {}
        }
        self.push("response.output_item.added", json!({ "output_index": index, "item": opened }));
        let place = json!({ "item_id": id, "output_index": index });
        match item["type"].as_str() {
            Some("message") => self.text(&place, &item["content"][0]),
            Some("function_call") => {
                self.written("response.function_call_arguments", "arguments", &place, &item["arguments"]);
            }
            Some("custom_tool_call") => {
                self.written("response.custom_tool_call_input", "input", &place, &item["input"]);
            }
            _ => {}
        }
        self.push("response.output_item.done", json!({ "output_index": index, "item": item }));
    }

    fn text(&mut self, place: &Value, part: &Value) {
        let mut place = place.clone();
        place["content_index"] = json!(0);
        let with = |key: &str, value: Value| {
            let mut event = place.clone();
            event[key] = value;
            event
        };
        let empty = json!({ "type": "output_text", "text": "", "annotations": [] });
        self.push("response.content_part.added", with("part", empty));
        self.written("response.output_text", "text", &place, &part["text"]);
        self.push("response.content_part.done", with("part", part.clone()));
    }

    /// A text in pieces, then whole.
    fn written(&mut self, name: &str, key: &str, place: &Value, text: &Value) {
        for piece in pieces_of(text.as_str().unwrap_or_default()) {
            let mut event = place.clone();
            event["delta"] = json!(piece);
            self.push(&format!("{name}.delta"), event);
        }
        let mut event = place.clone();
        event[key] = text.clone();
        self.push(&format!("{name}.done"), event);
    }
}
