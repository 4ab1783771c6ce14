//! A client of bare sockets, and requests as the agents send them.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use serde_json::{Value, json};
use windlass_testkit::model::{Script, Server};

pub fn serve(script: &str) -> Server {
    Server::start(script.parse::<Script>().unwrap())
}

/// What came back. `whole` says whether the answer ended as HTTP wants it.
#[derive(Debug)]
pub struct Got {
    pub status: u16,
    pub head: String,
    pub body: String,
    pub whole: bool,
}

impl Got {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let of_line = |line: &'_ str| line.split_once(": ").is_some_and(|(key, _)| key == name);
        self.head.lines().find(|line| of_line(line)).and_then(|line| Some(line.split_once(": ")?.1))
    }

    /// The events of a stream, each with its name and its data.
    pub fn events(&self) -> Vec<(String, Value)> {
        let of_frame = |frame: &str| {
            let line = |key: &str| frame.lines().find_map(|line| line.strip_prefix(key)).map(str::to_owned);
            let data = line("data: ").expect("every frame has data");
            (line("event: ").unwrap_or_default(), serde_json::from_str(&data).unwrap_or(json!(data)))
        };
        self.body.split("\n\n").filter(|frame| !frame.is_empty()).map(of_frame).collect()
    }
}

pub fn post(server: &Server, path: &str, body: &Value) -> Got {
    send(server, post_bytes(path, body.to_string().as_bytes()).as_slice())
}

pub fn post_bytes(path: &str, body: &[u8]) -> Vec<u8> {
    let mut bytes = format!(
        "POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    )
    .into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

pub fn send(server: &Server, bytes: &[u8]) -> Got {
    let mut stream = open(server);
    // A request that is refused early may not be read to its end.
    stream.write_all(bytes).ok();
    read(&mut stream)
}

pub fn open(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream
}

pub fn read(stream: &mut TcpStream) -> Got {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).expect("the server ends every connection it does not hang");
    stream.shutdown(Shutdown::Both).ok();
    let text = String::from_utf8(bytes).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no head: {text:?}"));
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let mut got = Got { status, head: head.to_owned(), body: body.to_owned(), whole: true };
    if got.header("transfer-encoding") == Some("chunked") {
        (got.body, got.whole) = dechunked(body);
    } else {
        got.whole = got.header("content-length") == Some(&body.len().to_string());
    }
    got
}

fn dechunked(mut rest: &str) -> (String, bool) {
    let mut body = String::new();
    while let Some((size, after)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        if size == 0 {
            return (body, after == "\r\n");
        }
        body.push_str(&after[..size]);
        rest = &after[size + 2..];
    }
    (body, false)
}

pub const BRIEF: &str = "nonce: n0nce\n\n# Do task 001-add: add\n\nYou are the author.\n";

/// One of the four APIs, as the agent that speaks it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaks {
    Responses,
    Chat,
    Messages,
    Gemini,
}

pub const ALL: [Speaks; 4] = [Speaks::Responses, Speaks::Chat, Speaks::Messages, Speaks::Gemini];

/// A conversation: a brief, and how many commands were run since.
pub struct Talk<'a> {
    pub brief: &'a str,
    pub ran: usize,
    pub stream: bool,
}

impl Speaks {
    pub fn path(self, stream: bool) -> &'static str {
        match (self, stream) {
            (Self::Responses, _) => "/codex/v1/responses",
            (Self::Chat, _) => "/qwen/v1/chat/completions",
            (Self::Messages, _) => "/claude/v1/messages?beta=true",
            (Self::Gemini, true) => "/gemini/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse",
            (Self::Gemini, false) => "/gemini/v1beta/models/gemini-2.5-pro:generateContent",
        }
    }

    pub fn model(self) -> &'static str {
        match self {
            Self::Responses => "gpt-5.1-codex",
            Self::Chat => "qwen3",
            Self::Messages => "claude-sonnet-4-5",
            Self::Gemini => "gemini-2.5-pro",
        }
    }

    pub fn ask(self, server: &Server, talk: &Talk<'_>) -> Got {
        post(server, self.path(talk.stream), &self.body(talk))
    }

    pub fn body(self, talk: &Talk<'_>) -> Value {
        let mut body = match self {
            Self::Responses => responses(talk),
            Self::Chat => chat(talk),
            Self::Messages => messages(talk),
            Self::Gemini => return gemini(talk),
        };
        body["model"] = json!(self.model());
        body["stream"] = json!(talk.stream);
        body
    }
}

fn command() -> Value {
    json!({ "type": "object", "properties": { "command": { "type": "string" } }, "required": ["command"] })
}

fn responses(talk: &Talk<'_>) -> Value {
    let said = |role: &str, text: &str| json!({ "type": "message", "role": role, "content": [{ "type": "input_text", "text": text }] });
    let mut input =
        vec![said("developer", "nonce: not-this"), said("user", "<environment/>"), said("user", talk.brief)];
    for at in 0..talk.ran {
        let call = format!("call_{at}");
        input.push(json!({ "type": "reasoning", "summary": [] }));
        input.push(
            json!({ "type": "function_call", "call_id": call, "name": "exec_command", "arguments": "{}" }),
        );
        input.push(json!({ "type": "function_call_output", "call_id": call, "output": "ok" }));
    }
    let parameters = json!({ "type": "object", "properties": { "cmd": { "type": "string" } } });
    json!({ "input": input, "tools": [
        { "type": "web_search" },
        { "type": "function", "name": "exec_command", "parameters": parameters },
    ] })
}

fn chat(talk: &Talk<'_>) -> Value {
    let mut messages = vec![
        json!({ "role": "system", "content": "You are an agent." }),
        json!({ "role": "user", "content": [{ "type": "text", "text": talk.brief }] }),
    ];
    for at in 0..talk.ran {
        let function = json!({ "name": "run_shell_command", "arguments": "{}" });
        let call = json!({ "id": format!("call_{at}"), "type": "function", "function": function });
        messages.push(json!({ "role": "assistant", "content": null, "tool_calls": [call] }));
        messages.push(json!({ "role": "tool", "tool_call_id": format!("call_{at}"), "content": "ok" }));
    }
    let function = json!({ "name": "run_shell_command", "parameters": command() });
    json!({
        "messages": messages, "tools": [{ "type": "function", "function": function }],
        "stream_options": { "include_usage": true },
    })
}

fn messages(talk: &Talk<'_>) -> Value {
    let reminder = json!({ "type": "text", "text": "<system-reminder>be good</system-reminder>" });
    let mut messages =
        vec![json!({ "role": "user", "content": [reminder, { "type": "text", "text": talk.brief }] })];
    for at in 0..talk.ran {
        let id = format!("toolu_{at}");
        let call = json!({ "type": "tool_use", "id": id, "name": "Bash", "input": {} });
        messages.push(json!({ "role": "assistant", "content": [{ "type": "text", "text": "I do." }, call] }));
        let result = json!({ "type": "tool_result", "tool_use_id": id, "content": "ok" });
        messages.push(json!({ "role": "user", "content": [result] }));
    }
    json!({ "messages": messages, "max_tokens": 1000, "tools": [{ "name": "Bash", "input_schema": command() }] })
}

fn gemini(talk: &Talk<'_>) -> Value {
    let mut contents = vec![json!({ "role": "user", "parts": [{ "text": talk.brief }] })];
    for _ in 0..talk.ran {
        let call = json!({ "functionCall": { "name": "run_shell_command", "args": {} } });
        contents.push(json!({ "role": "model", "parts": [call] }));
        let result = json!({ "functionResponse": { "name": "run_shell_command", "response": {} } });
        contents.push(json!({ "role": "user", "parts": [result] }));
    }
    let function = json!({ "name": "run_shell_command", "parametersJsonSchema": command() });
    json!({ "contents": contents, "tools": [{ "functionDeclarations": [function] }] })
}
