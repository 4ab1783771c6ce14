//! What agents ask beside the conversation, and what is no request at all.

use serde_json::json;
use windlass_testkit::model::Server;

use crate::client::{Got, post, post_bytes, send, serve};

fn get(server: &Server, method: &str, path: &str, headers: &str) -> Got {
    send(server, format!("{method} {path} HTTP/1.1\r\nhost: x\r\n{headers}\r\n").as_bytes())
}

#[test]
fn probes_are_harmless() {
    let server = serve("");
    let head = get(&server, "HEAD", "/claude", "");
    assert_eq!((head.status, head.body.as_str()), (200, ""));
    assert_eq!(get(&server, "GET", "/", "").status, 200);
    let models = get(&server, "GET", "/codex/v1/models?client_version=1", "").json();
    assert_eq!(models["data"][0]["id"], json!("scripted-model"));
    assert_eq!(models["models"], json!([]));
    assert_eq!(get(&server, "GET", "/v1/files", "").status, 404);
    let upgrade = get(&server, "GET", "/v1/responses", "connection: upgrade\r\nupgrade: websocket\r\n");
    assert_eq!(upgrade.status, 426);
    assert!(server.requests().iter().all(|seen| seen.api.is_none() && seen.tokens.is_none()));
}

#[test]
fn tokens_are_counted_when_asked() {
    let server = serve("");
    let body = json!({ "model": "m", "messages": [], "contents": [] });
    let counted = post(&server, "/v1/messages/count_tokens", &body).json();
    assert!(counted["input_tokens"].as_u64().unwrap() > 0);
    let counted = post(&server, "/v1beta/models/gemini-2.5-pro:countTokens", &body).json();
    assert!(counted["totalTokens"].as_u64().unwrap() > 0);
    assert!(server.tokens().is_empty(), "a count is no use");
}

#[test]
fn junk_is_refused_and_the_server_goes_on() {
    let server = serve("");
    let junk: [(&[u8], u16); 12] = [
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),
        (b"hello\r\n\r\n", 400),
        (b"GET /\r\n\r\n", 400),
        (b"GET / HTTP/1.0\r\n\r\n", 505),
        (b"POST /v1/messages HTTP/1.1\r\ncontent-length: x\r\n\r\n", 400),
        (b"POST /v1/messages HTTP/1.1\r\ncontent-length: 999999999999\r\n\r\n", 413),
        (b"POST /v1/messages HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", 400),
        (b"POST /v1/messages HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffff\r\n", 413),
        (b"POST /v1/messages HTTP/1.1\r\ncontent-encoding: zstd\r\ncontent-length: 1\r\n\r\nx", 415),
        (b"POST /v1/messages HTTP/1.1\r\ncontent-length: 1\r\n\r\n{", 400),
        (b"POST /v1/nothing HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}", 404),
        (b"DELETE /v1/messages HTTP/1.1\r\n\r\n", 404),
    ];
    for (bytes, status) in junk {
        let got = send(&server, bytes);
        assert_eq!(got.status, status, "{}", String::from_utf8_lossy(bytes));
        assert!(!got.json()["error"]["message"].as_str().unwrap().is_empty());
    }
    for body in [
        "[]",
        "null",
        "\"x\"",
        "{}",
        "{\"model\":1}",
        "{\"model\":\"m\"}",
        "{\"model\":\"m\",\"messages\":{}}",
    ] {
        for path in
            ["/v1/messages", "/v1/responses", "/v1/chat/completions", "/v1beta/models/x:generateContent"]
        {
            assert_eq!(send(&server, &post_bytes(path, body.as_bytes())).status, 400, "{path} {body}");
        }
    }
    let mut long = b"GET /".to_vec();
    long.resize(100_000, b'a');
    assert_eq!(send(&server, &long).status, 431);
    assert_eq!(get(&server, "GET", "/", "").status, 200);
}

#[test]
fn nonsense_in_the_right_place_is_no_end_either() {
    let server = serve("[[rule]]\nturns = [{ run = 'x' }, { report = { a = 1 } }]");
    let odd = [
        json!({ "model": "m", "messages": [1, null, {}, { "role": 7 }, { "role": "user", "content": 3 }], "tools": [4, {}] }),
        json!({ "model": "m", "input": [1, null, { "type": 9 }, { "type": "message" }], "tools": {} }),
        json!({ "model": "m", "input": "x", "tools": [{ "type": "function" }, { "type": "namespace", "tools": 1 }] }),
        json!({ "contents": [1, { "parts": 2 }, { "role": "model", "parts": [3] }], "tools": [{ "functionDeclarations": [5] }] }),
    ];
    for body in &odd {
        for path in
            ["/v1/messages", "/v1/responses", "/v1/chat/completions", "/v1beta/models/x:generateContent"]
        {
            let got = post(&server, path, body);
            assert!(got.status == 200 || got.status == 400, "{path}: {}", got.status);
        }
    }
    assert_eq!(get(&server, "GET", "/", "").status, 200);
}
