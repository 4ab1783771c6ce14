//! Every failure, as each API tells it.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use windlass_core::time::Timestamp;
use windlass_testkit::model::Server;
use windlass_testkit::poll;

use crate::client::{ALL, BRIEF, Got, Speaks, Talk, open, post_bytes, serve};

fn failing(turn: &str) -> Server {
    serve(&format!("[[rule]]\nturns = [{turn}, {{ say = 'at last' }}]"))
}

fn ask(server: &Server, api: Speaks) -> Got {
    api.ask(server, &Talk { brief: BRIEF, ran: 0, stream: true })
}

#[test]
fn statuses_come_with_the_bodies_of_their_api() {
    let cases = [
        ("http500", 500, "server_error", "api_error", "INTERNAL"),
        ("http503", 503, "server_is_overloaded", "overloaded_error", "UNAVAILABLE"),
        ("http529", 529, "server_is_overloaded", "overloaded_error", "UNAVAILABLE"),
        ("http429", 429, "rate_limit_exceeded", "rate_limit_error", "RESOURCE_EXHAUSTED"),
        ("http401", 401, "invalid_api_key", "authentication_error", "UNAUTHENTICATED"),
        ("http404", 404, "model_not_found", "not_found_error", "NOT_FOUND"),
        ("ctx", 400, "context_length_exceeded", "prompt is too long", "exceeds the maximum number of tokens"),
    ];
    for (case, status, openai, anthropic, google) in cases {
        let server = failing(&format!("{{ fail = '{case}' }}"));
        for api in ALL {
            let got = ask(&server, api);
            assert_eq!((got.status, got.whole), (status, true), "{case} {api:?}");
            let wanted = match api {
                Speaks::Responses | Speaks::Chat => openai,
                Speaks::Messages => anthropic,
                Speaks::Gemini => google,
            };
            assert!(got.json()["error"].to_string().contains(wanted), "{case} {api:?}: {}", got.body);
        }
        assert!(server.requests().iter().all(|seen| seen.tokens.is_none() && seen.status == status));
        assert!(server.tokens().is_empty());
    }
}

#[test]
fn a_time_to_retry_is_told_in_each_apis_way() {
    let server = failing("{ fail = 'http429', retry_after = 7 }");
    for api in ALL {
        assert_eq!(ask(&server, api).header("retry-after"), Some("7"), "{api:?}");
    }
    let details = ask(&server, Speaks::Gemini).json()["error"]["details"].clone();
    assert_eq!(details, json!([{ "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "7s" }]));
    let without = failing("{ fail = 'http429' }");
    assert_eq!(ask(&without, Speaks::Chat).header("retry-after"), None);
}

#[test]
fn a_usage_limit_tells_when_it_ends() {
    let server = failing("{ fail = 'usage_limit', resets_in = 90 }");
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let soon = |at: u64| (now + 90..now + 150).contains(&at);

    let error = ask(&server, Speaks::Responses).json()["error"].clone();
    assert_eq!(error["type"], json!("usage_limit_reached"));
    assert_eq!(error["resets_in_seconds"], json!(90));
    assert!(soon(error["resets_at"].as_u64().unwrap()), "{error}");

    let got = ask(&server, Speaks::Messages);
    assert_eq!((got.status, got.header("retry-after")), (429, Some("90")));
    assert_eq!(got.header("anthropic-ratelimit-unified-status"), Some("rejected"));
    assert!(soon(got.header("anthropic-ratelimit-unified-reset").unwrap().parse().unwrap()));

    let got = ask(&server, Speaks::Chat);
    assert_eq!((got.status, got.header("retry-after")), (429, Some("90")));
    let error = got.json()["error"].clone();
    let at = Timestamp(error["resets_at"].as_i64().unwrap() * 1000).to_string();
    assert!(error["message"].as_str().unwrap().contains(&at), "{error}");

    let error = ask(&server, Speaks::Gemini).json()["error"].clone();
    assert_eq!(error["details"][0]["reason"], json!("QUOTA_EXHAUSTED"));
    assert!(error["message"].as_str().unwrap().ends_with("will reset after 90s."), "{error}");

    let by_the_day = failing("{ fail = 'usage_limit', retry_after = 90 }");
    let error = ask(&by_the_day, Speaks::Gemini).json()["error"].clone();
    assert_eq!(error["status"], json!("RESOURCE_EXHAUSTED"));
    assert_eq!(error["details"][1]["retryDelay"], json!("90s"));
}

#[test]
fn a_stream_may_begin_well_and_say_that_it_failed() {
    for (case, openai, anthropic) in [
        ("ctxsse", "context_length_exceeded", "prompt is too long"),
        ("overloadedsse", "server_is_overloaded", "overloaded_error"),
    ] {
        let server = failing(&format!("{{ fail = '{case}' }}"));
        let last = |api| {
            let got = ask(&server, api);
            assert_eq!((got.status, got.whole), (200, true));
            got.events().pop().unwrap()
        };
        let (name, data) = last(Speaks::Responses);
        assert_eq!(name, "response.failed");
        assert_eq!(data["response"]["error"]["code"], json!(openai));
        let (name, data) = last(Speaks::Messages);
        assert_eq!((name.as_str(), data["type"].as_str()), ("error", Some("error")));
        assert!(data["error"].to_string().contains(anthropic), "{data}");
        // The other two have no such event, and refuse at once.
        for api in [Speaks::Chat, Speaks::Gemini] {
            assert!(ask(&server, api).status >= 400, "{case} {api:?}");
        }
    }
}

#[test]
fn a_refusal_is_an_answer_of_its_own_kind() {
    let server = failing("{ fail = 'refused' }");
    let found = |api: Speaks, pointer: &str| -> Vec<Value> {
        let events = ask(&server, api).events();
        events
            .iter()
            .filter_map(|(_, data)| data.pointer(pointer).cloned())
            .filter(|v| !v.is_null())
            .collect()
    };
    assert_eq!(found(Speaks::Responses, "/response/error/code"), [json!("invalid_prompt")]);
    assert_eq!(found(Speaks::Chat, "/choices/0/finish_reason"), [json!("content_filter")]);
    assert_eq!(found(Speaks::Messages, "/delta/stop_reason"), [json!("refusal")]);
    assert_eq!(found(Speaks::Gemini, "/candidates/0/finishReason"), [json!("SAFETY")]);
}

#[test]
fn a_cut_stream_has_no_end() {
    let server = failing("{ fail = 'midcut' }");
    for api in ALL {
        for stream in [true, false] {
            let got = api.ask(&server, &Talk { brief: BRIEF, ran: 0, stream });
            assert_eq!((got.status, got.whole), (200, false), "{api:?}");
            assert!(!got.body.is_empty(), "{api:?}: it begins");
        }
    }
    assert!(server.tokens().is_empty(), "nothing was told to the end");
}

#[test]
fn a_stream_may_end_too_early_and_well() {
    let server = failing("{ fail = 'midend' }");
    for api in ALL {
        let got = ask(&server, api);
        assert_eq!((got.status, got.whole), (200, true), "{api:?}");
        let full = api.ask(&serve(""), &Talk { brief: BRIEF, ran: 0, stream: true });
        let last = full.events().pop().unwrap().0;
        assert!(!got.events().is_empty() && !got.body.contains("[DONE]"), "{api:?}");
        assert!(last.is_empty() || got.events().pop().unwrap().0 != last, "{api:?}");
        assert!(!got.body.contains("finishReason"), "{api:?}");
    }
    assert!(server.tokens().is_empty());
}

#[test]
fn a_malformed_answer_is_whole_but_no_json() {
    let server = failing("{ fail = 'malformed' }");
    for api in ALL {
        for stream in [true, false] {
            let got = api.ask(&server, &Talk { brief: BRIEF, ran: 0, stream });
            assert_eq!((got.status, got.whole), (200, true), "{api:?}");
            let text = got.body.lines().next().unwrap();
            assert!(serde_json::from_str::<Value>(text.trim_start_matches("data: ")).is_err(), "{text}");
        }
    }
}

/// Shorter than any patience; that nothing comes in it is not proof, but a server that answers fails here.
const A_WHILE: Duration = Duration::from_millis(200);

#[test]
fn a_hang_sends_nothing_and_ends_with_its_client() {
    let server = failing("{ fail = 'hang' }");
    for api in ALL {
        let mut stream = open(&server);
        let body = api.body(&Talk { brief: BRIEF, ran: 0, stream: true }).to_string();
        stream.write_all(&post_bytes(api.path(true), body.as_bytes())).unwrap();
        stream.set_read_timeout(Some(A_WHILE)).unwrap();
        assert!(stream.read(&mut [0]).is_err(), "{api:?}: not a byte");
        assert_eq!(server.requests().last().unwrap().status, 0);
        stream.shutdown(Shutdown::Both).unwrap();
    }
}

#[test]
fn a_hang_midway_begins_and_goes_no_further() {
    let server = failing("{ fail = 'hangmid' }");
    for api in ALL {
        let mut stream = open(&server);
        let body = api.body(&Talk { brief: BRIEF, ran: 0, stream: true }).to_string();
        stream.write_all(&post_bytes(api.path(true), body.as_bytes())).unwrap();
        stream.set_read_timeout(Some(A_WHILE)).unwrap();
        let mut seen = Vec::new();
        let mut buffer = [0; 4096];
        let began = poll::until(Duration::from_secs(30), || {
            let length = stream.read(&mut buffer).unwrap_or(0);
            seen.extend_from_slice(&buffer[..length]);
            String::from_utf8_lossy(&seen).contains("data: ")
        });
        assert!(began, "{api:?}");
        while let Ok(length) = stream.read(&mut buffer) {
            assert!(length > 0, "{api:?}: it is not closed either");
            seen.extend_from_slice(&buffer[..length]);
        }
        let seen = String::from_utf8_lossy(&seen);
        assert!(!seen.ends_with("0\r\n\r\n"), "{api:?}: it does not end");
        assert_eq!(server.requests().last().unwrap().tokens, None, "{api:?}");
    }
}

#[test]
fn dropping_the_server_ends_what_hangs() {
    let server = failing("{ fail = 'hang' }");
    let mut stream = open(&server);
    let body = Speaks::Chat.body(&Talk { brief: BRIEF, ran: 0, stream: true }).to_string();
    stream.write_all(&post_bytes(Speaks::Chat.path(true), body.as_bytes())).unwrap();
    assert!(poll::until(Duration::from_secs(30), || server.requests().len() == 1));
    let port = server.port;
    drop(server);
    assert!(matches!(stream.read(&mut [0]), Ok(0) | Err(_)), "the connection is over");
    assert!(std::net::TcpStream::connect(("127.0.0.1", port)).is_err(), "and nobody listens");
}

#[test]
fn failures_by_number_end_and_count_requests() {
    let server = failing("{ fail = 'flaky500' }, { fail = 'http529', times = 1 }");
    let statuses: Vec<_> = (0..5).map(|_| ask(&server, Speaks::Messages).status).collect();
    assert_eq!(statuses, [500, 500, 529, 200, 200]);
    assert_eq!(server.requests().len(), 5);
}
