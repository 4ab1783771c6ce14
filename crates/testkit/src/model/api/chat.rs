//! OpenAI's Chat Completions, as opencode and qwen speak it.

use serde_json::{Value, json};

use super::super::ask::{Ask, Entry, Tool, ToolKind, text_of};
use super::{Reply, pieces_of, sse};

pub fn read(ask: &mut Ask, body: &Value) -> Result<(), String> {
    let messages = body["messages"].as_array().ok_or("`messages` is not a list")?;
    for message in messages {
        match message["role"].as_str() {
            Some("user") => ask.push(Entry::User(text_of(&message["content"]))),
            Some("assistant") => {
                let calls = message["tool_calls"].as_array().is_some_and(|calls| !calls.is_empty());
                ask.push(Entry::Model { calls });
            }
            Some("tool" | "function") => ask.push(Entry::Results),
            Some(_) | None => {}
        }
    }
    for tool in body["tools"].as_array().into_iter().flatten() {
        let function = &tool["function"];
        ask.tools.push(Tool {
            name: function["name"].as_str().unwrap_or_default().to_owned(),
            namespace: None,
            kind: ToolKind::Function,
            parameters: function["parameters"].clone(),
        });
    }
    if body["response_format"]["type"] == json!("json_schema") {
        ask.schema = Some(body["response_format"]["json_schema"]["schema"].clone());
    }
    ask.wants_usage = !ask.stream || body["stream_options"]["include_usage"] == json!(true);
    Ok(())
}

pub fn whole(reply: &Reply) -> Value {
    let mut message = json!({ "role": "assistant", "content": reply.say, "refusal": refusal(reply) });
    if !reply.calls.is_empty() {
        message["tool_calls"] = (0..reply.calls.len()).map(|index| call(reply, index)).collect();
    }
    let choice = json!({ "index": 0, "message": message, "finish_reason": finish(reply), "logprobs": null });
    let mut value = chunk(reply, vec![choice]);
    value["object"] = json!("chat.completion");
    value["usage"] = usage(reply);
    value
}

pub fn events(reply: &Reply) -> Vec<String> {
    let mut events = vec![delta(reply, json!({ "role": "assistant", "content": "" }), Value::Null)];
    for piece in pieces_of(reply.say.as_deref().unwrap_or_default()) {
        events.push(delta(reply, json!({ "content": piece }), Value::Null));
    }
    if reply.refused {
        events.push(delta(reply, json!({ "refusal": refusal(reply) }), Value::Null));
    }
    for index in 0..reply.calls.len() {
        let mut opened = call(reply, index);
        let arguments = opened["function"]["arguments"].as_str().unwrap_or_default().to_owned();
        opened["index"] = json!(index);
        opened["function"]["arguments"] = json!("");
        events.push(delta(reply, json!({ "tool_calls": [opened] }), Value::Null));
        for piece in pieces_of(&arguments) {
            let more = json!({ "index": index, "function": { "arguments": piece } });
            events.push(delta(reply, json!({ "tool_calls": [more] }), Value::Null));
        }
    }
    events.push(delta(reply, json!({}), json!(finish(reply))));
    if reply.tells_tokens {
        let mut last = chunk(reply, Vec::new());
        last["usage"] = usage(reply);
        events.push(sse(&last));
    }
    events.push("data: [DONE]\n\n".to_owned());
    events
}

fn delta(reply: &Reply, delta: Value, finish: Value) -> String {
    let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish, "logprobs": null });
    sse(&chunk(reply, vec![choice]))
}

fn chunk(reply: &Reply, choices: Vec<Value>) -> Value {
    json!({
        "id": format!("chatcmpl-{}", reply.id), "object": "chat.completion.chunk", "created": 1_700_000_000,
        "model": reply.model, "choices": choices,
    })
}

fn call(reply: &Reply, index: usize) -> Value {
    let call = &reply.calls[index];
    json!({
        "id": reply.call_id(index), "type": "function",
        "function": { "name": call.tool.name, "arguments": call.args.to_string() },
    })
}

fn finish(reply: &Reply) -> &'static str {
    match (reply.refused, reply.calls.is_empty()) {
        (true, _) => "content_filter",
        (false, true) => "stop",
        (false, false) => "tool_calls",
    }
}

fn refusal(reply: &Reply) -> Option<&'static str> {
    reply.refused.then_some("I'm sorry, I can't help with that.")
}

fn usage(reply: &Reply) -> Value {
    let tokens = &reply.tokens;
    json!({
        "prompt_tokens": tokens.asked(),
        "prompt_tokens_details": { "cached_tokens": tokens.cached },
        "completion_tokens": tokens.answered(),
        "completion_tokens_details": { "reasoning_tokens": tokens.reasoning },
        "total_tokens": tokens.asked() + tokens.answered(),
    })
}
