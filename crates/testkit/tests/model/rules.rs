//! Which rule is played, where a conversation stands, and the forms of a report.

use serde_json::{Value, json};
use windlass_testkit::model::{Script, Server};

use crate::client::{ALL, BRIEF, Speaks, Talk, post, serve};

/// A Messages request with these messages, and what the answer says and calls.
fn ask(server: &Server, messages: &Value, tools: &Value) -> (String, Value) {
    let body = json!({ "model": "claude-x", "messages": messages, "tools": tools });
    let answer = post(server, "/v1/messages", &body).json();
    let mut got = (String::new(), Value::Null);
    for block in answer["content"].as_array().unwrap_or_else(|| panic!("{answer}")) {
        match block["type"].as_str() {
            Some("text") => got.0.push_str(block["text"].as_str().unwrap()),
            _ => got.1 = json!({ "name": block["name"], "input": block["input"] }),
        }
    }
    got
}

fn user(text: &str) -> Value {
    json!({ "role": "user", "content": text })
}

fn shell() -> Value {
    json!([{ "name": "Bash", "input_schema": { "properties": { "command": { "type": "string" } } } }])
}

fn says(server: &Server, brief: &str) -> String {
    ask(server, &json!([user(brief)]), &shell()).0
}

#[test]
fn a_rule_is_chosen_by_what_the_brief_says() {
    let server = serve(
        r#"
        [[rule]]
        when = ["task t1", "red"]
        turns = [{ say = "t1 again" }]
        [[rule]]
        when = "task t1"
        unless = ["blue"]
        turns = [{ say = "t1" }]
        [[rule]]
        role = "reviewer"
        turns = [{ say = "review" }]
        [[rule]]
        role = "author"
        turns = [{ say = "author" }]
        "#,
    );
    for (brief, said) in [
        ("do task t1, it is red", "t1 again"),
        ("do task t1", "t1"),
        ("do task t1 in blue. You are the reviewer.", "review"),
        ("nonce: x\nYou are the author.", "author"),
        ("nothing of the kind", "Done."),
    ] {
        assert_eq!(says(&server, brief), said, "{brief}");
    }
    let rules: Vec<_> = server.requests().into_iter().map(|seen| seen.rule).collect();
    assert_eq!(rules[..2], [Some("rule 1".to_owned()), Some("rule 2".to_owned())]);
    assert_eq!(rules[4], None);
}

#[test]
fn a_rule_is_chosen_by_path_and_model() {
    let server = serve(
        "[[rule]]\npath = 'one'\nturns = [{ say = '1' }]\n[[rule]]\nmodel = 'opus'\nturns = [{ say = '2' }]",
    );
    let said = |path: &str, model: &str| {
        let body = json!({ "model": model, "messages": [user("hi")], "tools": shell() });
        post(&server, path, &body).json()["content"][0]["text"].clone()
    };
    assert_eq!(said("/a/one/v1/messages", "x"), json!("1"));
    assert_eq!(said("/a/two/v1/messages", "opus-9"), json!("2"));
    assert_eq!(said("/v1/messages", "x"), json!("Done."));
}

/// A loop of three tasks with author and reviewer, as windlass's briefs begin.
#[test]
fn one_script_plays_a_whole_loop() {
    let guide = include_str!("../../../../docs/guide/model.md");
    let examples: Vec<_> =
        guide.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    for example in &examples {
        example.parse::<Script>().unwrap();
    }
    let server = serve(examples[1]);
    let brief = |nonce: &str, heading: &str, role: &str| {
        format!("nonce: {nonce}\n\n# {heading}\n\nLoop `x`, iteration 1 of 30. You are the {role}.\n")
    };
    let command =
        |brief: &str| ask(&server, &json!([user(brief)]), &shell()).1["input"]["command"].to_string();
    for task in ["001-add", "002-sub", "003-mul"] {
        let heading = format!("Do task {task}: a title");
        assert!(
            command(&brief(task, &heading, "author")).contains(&format!("src/{}.sh", &task[4..])),
            "{task}"
        );
    }
    let first = command(&brief("r1", "Review task 001-add: a title", "reviewer"));
    assert!(first.contains("reject") && first.contains("r1"), "{first}");
    let again = command(&brief("r2", "Review task 001-add: a title", "reviewer"));
    assert!(again.contains("accept") && again.contains("r2"), "{again}");
    assert!(command(&brief("r3", "Review the whole", "reviewer")).contains("accept"));
    assert_eq!(server.requests().last().unwrap().rule.as_deref(), Some("reviews accept"));
}

/// What rules and reports look for is what windlass writes.
#[test]
fn windlasss_own_briefs_have_what_the_rules_look_for() {
    let base = include_str!("../../../agent/templates/base.md");
    assert!(base.starts_with("nonce: {{ nonce }}\n"));
    for text in ["You are the {{ role }}", "## Your report", "WINDLASS_REPORT"] {
        assert!(base.contains(text), "{text}");
    }
}

#[test]
fn an_attempt_is_a_nonce_however_often_it_asks() {
    let server = serve(
        r#"
        [[rule]]
        when = "task t1"
        attempt = 1
        turns = [{ say = "a lie" }]
        [[rule]]
        when = "task t1"
        turns = [{ say = "the work" }]
        "#,
    );
    for (nonce, said) in
        [("a", "a lie"), ("a", "a lie"), ("b", "the work"), ("a", "a lie"), ("c", "the work")]
    {
        assert_eq!(says(&server, &format!("nonce: {nonce}\ntask t1")), said, "{nonce}");
    }
}

#[test]
fn a_rule_may_be_for_one_request() {
    let server = serve(
        "[[rule]]\nwhen = 'x'\nrequest = 2\nturns = [{ say = 'second' }]\n[[rule]]\nturns = [{ say = 'other' }]",
    );
    let said: Vec<_> = ["x", "y", "x", "x"].iter().map(|brief| says(&server, brief)).collect();
    assert_eq!(said, ["other", "other", "second", "other"]);
}

#[test]
fn a_conversation_stands_where_its_results_say() {
    let server = serve(
        r#"
        [[rule]]
        turns = [{ run = "one" }, { run = "two", times = 2 }, { say = "three" }]
        "#,
    );
    for api in ALL {
        let deed = |ran| {
            api.ask(&server, &Talk { brief: BRIEF, ran, stream: true });
            server.requests().pop().unwrap().deed
        };
        // Asked twice, it stands where it stood.
        assert!(deed(0).starts_with("call") && deed(0).starts_with("call"), "{api:?}");
        assert!(deed(2).starts_with("call"), "{api:?}");
        assert_eq!((deed(3).as_str(), deed(9).as_str()), ("say", "say"), "{api:?}");
    }
    let call = json!({ "type": "tool_use", "id": "t", "name": "Bash", "input": {} });
    let ran = |brief: &str| {
        let result = json!({ "type": "tool_result", "tool_use_id": "t", "content": "ok" });
        [
            user(brief),
            json!({ "role": "assistant", "content": [call] }),
            json!({ "role": "user", "content": [result, { "type": "text", "text": "<reminder/>" }] }),
        ]
    };
    let command = |messages: &[Value]| ask(&server, &json!(messages), &shell()).1["input"]["command"].clone();
    let done = json!({ "role": "assistant", "content": "three" });
    for (first, second) in [("nonce: a\nx", "nonce: b\nx"), ("first", "second")] {
        let once = ran(first);
        assert_eq!(command(&once), json!("two"));
        // A session that is resumed with a new brief begins again.
        let resumed = [&once[..], std::slice::from_ref(&done), &[user(second)]].concat();
        assert_eq!(command(&resumed), json!("one"));
        assert_eq!(command(&[&resumed[..4], &ran(second)].concat()), json!("two"));
    }
}

#[test]
fn a_report_takes_the_form_that_is_asked_for() {
    let server = serve(
        r#"
        [[rule]]
        turns = [{ report = { nonce = "$nonce", verdict = "reject", findings = [{ description = "it's wrong" }] } }]
        "#,
    );
    let brief = "nonce: n7\nReview.";
    let schema = json!({
        "type": "object", "additionalProperties": false, "required": ["nonce", "verdict", "blocker"],
        "properties": { "nonce": { "type": "string" }, "verdict": { "type": "string" }, "blocker": { "type": "string" } },
    });
    let fitted = json!({ "nonce": "n7", "verdict": "reject", "blocker": "" });

    // The agent's tool for it.
    for name in ["StructuredOutput", "structured_output"] {
        let tools = json!([shell()[0], { "name": name, "input_schema": schema }]);
        let (_, call) = ask(&server, &json!([user(brief)]), &tools);
        assert_eq!(call, json!({ "name": name, "input": fitted }));
    }
    // The form of the request's answer.
    let mut body = Speaks::Responses.body(&Talk { brief, ran: 0, stream: false });
    body["text"] =
        json!({ "format": { "type": "json_schema", "name": "report", "strict": true, "schema": schema } });
    let answer = post(&server, "/v1/responses", &body).json();
    let text = answer["output"][0]["content"][0]["text"].as_str().unwrap();
    assert_eq!(serde_json::from_str::<Value>(text).unwrap(), fitted);
    // A file: the variable, or the path the brief's chapter gives.
    let command = |brief: &str| ask(&server, &json!([user(brief)]), &shell()).1["input"]["command"].clone();
    let written = command(brief);
    let written = written.as_str().unwrap();
    assert!(written.ends_with("' > \"$WINDLASS_REPORT\""), "{written}");
    assert!(written.contains(r#""nonce":"n7""#) && written.contains(r"it'\''s wrong"), "{written}");
    let named = command("nonce: n7\nin /tmp/x\n## Your report\n\nWrite it to `/tmp/out dir`, once.");
    assert!(named.as_str().unwrap().ends_with("' > '/tmp/out'"), "{named}");
}

#[test]
fn a_report_in_the_shell_is_the_report() {
    let server =
        serve("[[rule]]\nturns = [{ report = { nonce = '$nonce', summary = \"it's \\\"$HOME\\\" `x`\" } }]");
    let (_, call) = ask(&server, &json!([user("nonce: n8")]), &shell());
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("report.json");
    let status = std::process::Command::new("sh")
        .args(["-c", call["input"]["command"].as_str().unwrap()])
        .env("WINDLASS_REPORT", &file)
        .status()
        .unwrap();
    assert!(status.success());
    let report: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!(report, json!({ "nonce": "n8", "summary": "it's \"$HOME\" `x`" }));
}

#[test]
fn tools_are_called_by_name_and_missing_ones_are_said() {
    let server = serve(
        "[[rule]]\nwhen = 'mcp'\nturns = [{ call = 'echo', args = { text = '$nonce' } }]\n\
         [[rule]]\nturns = [{ run = 'ls' }]",
    );
    let tools = json!([{ "name": "mcp__demo__echo", "input_schema": {} }]);
    let (_, call) = ask(&server, &json!([user("nonce: n\nmcp")]), &tools);
    assert_eq!(call, json!({ "name": "mcp__demo__echo", "input": { "text": "n" } }));
    let (said, call) = ask(&server, &json!([user("shell")]), &tools);
    assert_eq!((said.as_str(), call), ("I was not offered a shell, only: mcp__demo__echo", Value::Null));

    // Codex has the tools of an MCP server in a namespace, and its first shells were none of functions.
    let mut body = Speaks::Responses.body(&Talk { brief: "nonce: n\nmcp", ran: 0, stream: false });
    let echo = json!({ "type": "function", "name": "echo", "parameters": {} });
    body["tools"] =
        json!([{ "type": "namespace", "name": "mcp__demo", "tools": [echo] }, { "type": "local_shell" }]);
    let item = post(&server, "/v1/responses", &body).json()["output"][0].clone();
    assert_eq!((&item["name"], &item["namespace"]), (&json!("echo"), &json!("mcp__demo")));
    body["input"] = json!("shell");
    let item = post(&server, "/v1/responses", &body).json()["output"][0].clone();
    assert_eq!(item["type"], json!("local_shell_call"));
    assert_eq!(item["action"], json!({ "type": "exec", "command": ["bash", "-lc", "ls"] }));
}

#[test]
fn side_requests_get_a_few_words_and_are_counted() {
    let server = serve("side = 'A title'\n[[rule]]\nturns = [{ fail = 'http500' }]");
    let body = json!({ "model": "claude-haiku", "messages": [user("title: task t1")] });
    assert_eq!(post(&server, "/v1/messages", &body).json()["content"][0]["text"], json!("A title"));
    let seen = server.requests().pop().unwrap();
    assert!(seen.side && seen.tokens.is_some());
    assert!(server.tokens().contains_key("claude-haiku"));
    assert!(server.tokens_where(|seen| !seen.side).is_empty());

    let after =
        json!([user("nonce: x"), { "role": "assistant", "content": "done" }, user("[SUGGESTION MODE: …]")]);
    assert_eq!(ask(&server, &after, &shell()).0, "A title");
    assert!(server.requests().pop().unwrap().side);

    let blocks =
        json!({ "type": "object", "properties": { "block": { "type": "boolean" } }, "required": ["block"] });
    let form = json!([{ "name": "respond_in_schema", "input_schema": blocks }]);
    let (_, call) = ask(&server, &json!([user("is this safe?")]), &form);
    assert_eq!(call, json!({ "name": "respond_in_schema", "input": { "block": false } }));

    let wants = json!({ "type": "OBJECT", "properties": { "model": { "type": "STRING", "enum": ["flash", "pro"] } }, "required": ["model"] });
    let body = json!({ "contents": [{ "role": "user", "parts": [{ "text": "route" }] }], "generationConfig": { "responseSchema": wants } });
    let answer = post(&server, "/v1beta/models/gemini-2.5-flash-lite:generateContent", &body).json();
    let text = answer["candidates"][0]["content"]["parts"].as_array().unwrap();
    let text: String = text.iter().map(|part| part["text"].as_str().unwrap()).collect();
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), json!({ "model": "flash" }));

    let scripted = serve("[[rule]]\nside = true\nturns = [{ fail = 'http529' }]");
    let body = json!({ "model": "x", "messages": [user("hi")] });
    assert_eq!(post(&scripted, "/v1/messages", &body).status, 529);
    assert_eq!(says(&scripted, "hi"), "Done.");
}

#[test]
fn a_script_that_makes_no_sense_is_refused_with_its_place() {
    for (script, said) in [
        ("[[rule]]\nturns = [{ fail = 'htpp500' }]", "\"htpp500\" is no failure"),
        ("[[rule]]\nturns = [{ fail = 'http200' }]", "\"http200\" is no failure"),
        (
            "[[rule]]\nname = 'n'\nturns = [{ say = 'x' }, {}]",
            "n, turn 2: a turn says, runs, calls, reports or fails",
        ),
        ("[[rule]]\nturns = [{ run = 'a', report = {} }]", "a turn is one of run, call and report"),
        ("[[rule]]\nturns = [{ fail = 'hang', say = 'x' }]", "a turn that fails does nothing else"),
        ("[[rule]]\nturns = [{ say = 'x', retry_after = 1 }]", "only a failure has a time to retry"),
        ("[[rule]]\nattempt = 0", "attempts and requests are counted from 1"),
        ("[[rule]]\nwehn = 'x'", "unknown field `wehn`"),
        ("[[rule]]\nturns = [{ sya = 'x' }]", "unknown field `sya`"),
    ] {
        let error = format!("{:#}", script.parse::<Script>().unwrap_err());
        assert!(error.contains(said), "{script}: {error}");
    }
}
