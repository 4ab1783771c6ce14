//! Each API's answers to the letter, streamed and whole: a golden file has the exchange. With
//! WINDLASS_UPDATE=1 the files are written anew.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use windlass_testkit::model::{Server, Tokens};

use crate::client::{ALL, BRIEF, Got, Speaks, Talk, post, serve};

const SCRIPT: &str = r#"
[[rule]]
when = "task 001-add"
turns = [
  { say = "I write the file.", run = "echo 'hi $nonce' > hello.txt" },
  { say = "All done, and it is proven." },
]
"#;

#[test]
fn every_api_streams_a_tool_call_and_then_words() {
    for api in ALL {
        let server = serve(SCRIPT);
        let mut page = String::new();
        for ran in [0, 1] {
            let got = api.ask(&server, &Talk { brief: BRIEF, ran, stream: true });
            assert_eq!((got.status, got.whole), (200, true), "{api:?}");
            assert_eq!(got.header("content-type"), Some("text/event-stream"));
            for (name, data) in got.events() {
                writeln!(page, "{name} {}", sorted(&data)).unwrap();
            }
            page.push('\n');
        }
        golden(&format!("{api:?}-stream"), &anonymous(&page, &server));
    }
}

#[test]
fn every_api_answers_whole() {
    for api in ALL {
        let server = serve(SCRIPT);
        let mut page = String::new();
        for ran in [0, 1] {
            let got = api.ask(&server, &Talk { brief: BRIEF, ran, stream: false });
            assert_eq!((got.status, got.whole), (200, true), "{api:?}");
            writeln!(page, "{}\n", sorted(&got.json())).unwrap();
        }
        golden(&format!("{api:?}-whole"), &anonymous(&page, &server));
    }
}

/// What an agent would add up from the wire, in the buckets of the ledger.
fn told(api: Speaks, got: &Got) -> Tokens {
    let number = |value: &Value| value.as_u64().unwrap_or(0);
    let usages: Vec<Value> = match api {
        Speaks::Responses => got.events().iter().map(|(_, data)| data["response"]["usage"].clone()).collect(),
        Speaks::Chat | Speaks::Messages => {
            got.events().iter().map(|(_, data)| data["usage"].clone()).collect()
        }
        Speaks::Gemini => got.events().iter().map(|(_, data)| data["usageMetadata"].clone()).collect(),
    };
    let usage = usages.into_iter().rfind(Value::is_object).unwrap();
    match api {
        Speaks::Responses => {
            let (cached, reasoning) = (
                number(&usage["input_tokens_details"]["cached_tokens"]),
                number(&usage["output_tokens_details"]["reasoning_tokens"]),
            );
            Tokens {
                input: number(&usage["input_tokens"]) - cached,
                output: number(&usage["output_tokens"]) - reasoning,
                reasoning,
                cached,
                cache_write: 0,
            }
        }
        Speaks::Chat => {
            let (cached, reasoning) = (
                number(&usage["prompt_tokens_details"]["cached_tokens"]),
                number(&usage["completion_tokens_details"]["reasoning_tokens"]),
            );
            Tokens {
                input: number(&usage["prompt_tokens"]) - cached,
                output: number(&usage["completion_tokens"]) - reasoning,
                reasoning,
                cached,
                cache_write: 0,
            }
        }
        Speaks::Messages => {
            let reasoning = number(&usage["output_tokens_details"]["thinking_tokens"]);
            Tokens {
                input: number(&usage["input_tokens"]),
                output: number(&usage["output_tokens"]) - reasoning,
                reasoning,
                cached: number(&usage["cache_read_input_tokens"]),
                cache_write: number(&usage["cache_creation_input_tokens"]),
            }
        }
        Speaks::Gemini => Tokens {
            input: number(&usage["promptTokenCount"]) - number(&usage["cachedContentTokenCount"]),
            output: number(&usage["candidatesTokenCount"]),
            reasoning: number(&usage["thoughtsTokenCount"]),
            cached: number(&usage["cachedContentTokenCount"]),
            cache_write: 0,
        },
    }
}

#[test]
fn the_tokens_on_the_wire_are_the_tokens_on_record() {
    for api in ALL {
        let server = serve(SCRIPT);
        let mut sum = Tokens::default();
        for ran in 0..3 {
            let got = api.ask(&server, &Talk { brief: BRIEF, ran, stream: true });
            let told = told(api, &got);
            assert_eq!(Some(told), server.requests().last().unwrap().tokens, "{api:?}");
            assert!(
                told.input > 0 && told.output > 0 && told.reasoning > 0 && (told.cached > 0) == (ran > 0),
                "{api:?}: {told:?}"
            );
            sum.add(&told);
        }
        assert_eq!(server.tokens(), [(api.model().to_owned(), sum)].into(), "{api:?}");
    }
}

#[test]
fn a_script_may_say_the_tokens_itself() {
    let tokens = Tokens { input: 5, output: 7, reasoning: 11, cached: 13, cache_write: 0 };
    let server = serve(
        "[[rule]]\nturns = [{ say = 'x', tokens = { input = 5, output = 7, reasoning = 11, cached = 13 } }]",
    );
    for api in [Speaks::Responses, Speaks::Chat, Speaks::Gemini] {
        let got = api.ask(&server, &Talk { brief: BRIEF, ran: 0, stream: true });
        assert_eq!(told(api, &got), tokens, "{api:?}");
    }
}

#[test]
fn a_chat_that_wants_no_tokens_is_told_none() {
    let server = serve(SCRIPT);
    let mut body = Speaks::Chat.body(&Talk { brief: BRIEF, ran: 0, stream: true });
    body["stream_options"] = json!({});
    let got = post(&server, Speaks::Chat.path(true), &body);
    assert!(got.events().iter().all(|(_, data)| data.get("usage").is_none()));
    assert_eq!(server.requests()[0].tokens, None);
    assert!(server.tokens().is_empty());
}

#[test]
fn gemini_streams_an_array_to_who_asks_for_no_events() {
    let server = serve(SCRIPT);
    let body = Speaks::Gemini.body(&Talk { brief: BRIEF, ran: 1, stream: true });
    let got = post(&server, "/v1beta/models/gemini-2.5-pro:streamGenerateContent", &body);
    let pieces = got.json();
    let text =
        |piece: &Value| piece["candidates"][0]["content"]["parts"][0]["text"].as_str().unwrap().to_owned();
    let said: String = pieces.as_array().unwrap().iter().map(text).collect();
    assert_eq!(said, "All done, and it is proven.");
}

fn golden(name: &str, page: &str) {
    let name = format!("{}.txt", name.to_lowercase());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/model/golden").join(name);
    if std::env::var_os("WINDLASS_UPDATE").is_some() {
        fs::write(&path, page).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == page, "{} differs; look at it, or WINDLASS_UPDATE=1. Now it is:\n{page}", path.display());
}

/// Names of answers differ from server to server.
fn anonymous(page: &str, server: &Server) -> String {
    let mut page = page.to_owned();
    for seen in server.requests().iter().rev() {
        let end = format!("{:x}n{}", server.port, seen.number);
        while let Some(at) = page.find(&end) {
            let hex = |c: char| c.is_ascii_hexdigit();
            let begin = page[..at].rfind(|c: char| !hex(c)).map_or(0, |index| index + 1);
            page.replace_range(begin..at + end.len(), &format!("ID{}", seen.number));
        }
    }
    page
}

/// With its keys in order, whatever order serde_json was built to keep.
fn sorted(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let mut keys: Vec<_> = fields.keys().collect();
            keys.sort();
            let fields: Vec<_> =
                keys.iter().map(|key| format!("{}:{}", json!(key), sorted(&fields[*key]))).collect();
            format!("{{{}}}", fields.join(","))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(sorted).collect::<Vec<_>>().join(",")),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
    }
}
