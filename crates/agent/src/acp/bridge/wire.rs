//! JSON-RPC 2.0 on two pipes, a message a line, and everything that is said printed for those who read outside.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{ChildStdin, ChildStdout};
use std::sync::mpsc::Sender;

use serde_json::{Value, json};

use super::BridgeEvent;
use crate::bound;

pub const OURS: &str = "windlass";
const TO_AGENT: &str = "client->agent";
const FROM_AGENT: &str = "agent->client";

/// A longer line is no message.
const LONGEST_LINE: u64 = 64 * 1024 * 1024;
/// A longer message is printed with its long texts cut.
const LONGEST_PRINTED: usize = 256 * 1024;
const LONGEST_TEXT: usize = 4 * 1024;

/// What is answered to a request: its result, or a code and a message.
pub type RpcReply = Result<Value, (i64, String)>;

pub enum RpcAnswer {
    Now(RpcReply),
    Later,
}

pub enum RpcMessage {
    Asked { id: Value, method: String, params: Value },
    Notified { method: String, params: Value },
    Answered { to: u64, answer: Result<Value, Value> },
    Noise,
}

pub fn invalid(what: String) -> (i64, String) {
    (-32602, what)
}

pub fn failed(what: String) -> (i64, String) {
    (-32603, what)
}

pub fn no_method(method: &str) -> (i64, String) {
    (-32601, format!("windlass does not serve {method}"))
}

pub struct Peer {
    /// None once it is closed.
    stdin: Option<ChildStdin>,
    last: u64,
}

impl Peer {
    pub fn new(stdin: ChildStdin) -> Self {
        Self { stdin: Some(stdin), last: 0 }
    }

    pub fn request(&mut self, method: &str, params: Value) -> u64 {
        self.last += 1;
        let message = json!({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params});
        self.send(&message);
        self.last
    }

    pub fn notify(&mut self, method: &str, params: &Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    pub fn answer(&mut self, id: &Value, reply: RpcReply) {
        self.send(&match reply {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err((code, message)) => {
                json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
            }
        });
    }

    pub fn close(&mut self) {
        self.stdin = None;
    }

    /// A program that has closed its input is heard to close its output as well.
    fn send(&mut self, message: &Value) {
        tell(TO_AGENT, &without_brief(message));
        let Some(stdin) = &mut self.stdin else { return };
        let sent = stdin.write_all(format!("{message}\n").as_bytes()).and_then(|()| stdin.flush());
        if sent.is_err() {
            self.stdin = None;
        }
    }
}

/// Gives every message of the program to whoever waits, until the program closes its output.
pub fn listen(stdout: ChildStdout, to: &Sender<BridgeEvent>) {
    let mut stdout = BufReader::new(stdout);
    while let Ok(Some(line)) = next_line(&mut stdout) {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let heard = match serde_json::from_slice::<Value>(&line) {
            Ok(message) => {
                tell(FROM_AGENT, &message);
                heard(message)
            }
            Err(_) => {
                tell(
                    FROM_AGENT,
                    &json!({"noise": bound::head(&String::from_utf8_lossy(&line), LONGEST_TEXT)}),
                );
                RpcMessage::Noise
            }
        };
        if to.send(BridgeEvent::Message(heard)).is_err() {
            return;
        }
    }
    let _ = to.send(BridgeEvent::Closed);
}

fn next_line(from: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    let size = from.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line)?;
    if size as u64 == LONGEST_LINE {
        return Err(io::Error::other("a line without an end"));
    }
    Ok((size > 0).then_some(line))
}

fn heard(mut message: Value) -> RpcMessage {
    let method = message["method"].as_str().map(str::to_owned);
    let id = message["id"].take();
    match (method, id) {
        (Some(method), Value::Null) => RpcMessage::Notified { method, params: message["params"].take() },
        (Some(method), id) => RpcMessage::Asked { id, method, params: message["params"].take() },
        (None, id) => match id.as_u64() {
            Some(to) if !message["error"].is_null() => {
                RpcMessage::Answered { to, answer: Err(message["error"].take()) }
            }
            Some(to) => RpcMessage::Answered { to, answer: Ok(message["result"].take()) },
            None => RpcMessage::Noise,
        },
    }
}

/// One line for those who read outside.
pub fn tell(who: &str, message: &Value) {
    let mut line = json!({"dir": who, "msg": message}).to_string();
    if line.len() > LONGEST_PRINTED {
        let mut short = message.clone();
        shorten(&mut short);
        line = json!({"dir": who, "msg": short}).to_string();
    }
    let mut out = io::stdout().lock();
    // Nobody may be reading.
    writeln!(out, "{line}").and_then(|()| out.flush()).ok();
}

/// A call that was not let through.
pub fn refused(what: &str, why: &str) {
    tell(OURS, &json!({"refused": {"what": what, "why": why}}));
}

fn shorten(value: &mut Value) {
    match value {
        Value::String(text) if text.len() > LONGEST_TEXT => *text = bound::line(text, LONGEST_TEXT),
        Value::Array(items) => items.iter_mut().for_each(shorten),
        Value::Object(fields) => fields.values_mut().for_each(shorten),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The brief is kept elsewhere, and its nonce is nobody else's.
fn without_brief(message: &Value) -> Value {
    let mut message = message.clone();
    if message["method"] == "session/prompt" {
        message["params"]["prompt"] = json!([{"type": "text", "text": "(the brief)"}]);
    }
    message
}
