//! Any agent of the Agent Client Protocol: a fake one in a few lines of shell, under a real warden.

use std::time::{Duration, Instant};

use windlass_agent::TurnResult;
use windlass_core::input::{AttemptEnd, Report};
use windlass_core::live::Live;
use windlass_core::policy::{AgentPolicy, Role};
use windlass_core::time::Millis;
use windlass_core::usage::Session;
use windlass_core::verdict::{ClaimStatus, Verdict};
use windlass_testkit::poll;

use crate::stage::Stage;

/// Reads the three requests of every turn and answers the first two.
const HELLO: &str = r#"
say() { printf '%s\n' "$1"; }
update() { say '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":'"$1"'}}'; }
ask() { say '{"jsonrpc":"2.0","id":"'"$1"'","method":"'"$2"'","params":'"$3"'}'; read -r answer; printf '%s\n' "$answer" > "$1"; }
chunk() { update '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"'"$1"'"}}'; }
end() { say '{"jsonrpc":"2.0","id":3,"result":{"stopReason":"'"$1"'"}}'; }
read -r first; printf '%s\n' "$first" > hello
say '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentInfo":{"name":"fake","version":"1.2.3"}}}'
read -r second; printf '%s\n' "$second" > new
say '{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s1"}}'
read -r third; printf '%s\n' "$third" > prompt
"#;

fn stage(script: &str) -> Stage {
    let command = ["sh", "-c", &format!("{HELLO}{script}")].map(str::to_owned).to_vec();
    Stage::new(AgentPolicy { adapter: "acp".to_owned(), command, ..AgentPolicy::default() })
}

fn permission(kind: &str, path: &str) -> String {
    format!(
        r#"{{"sessionId":"s1","options":[{{"optionId":"ever","kind":"allow_always"}},{{"optionId":"yes","kind":"allow_once"}},{{"optionId":"no","kind":"reject_once"}}],"toolCall":{{"toolCallId":"c-{kind}","title":"touch it","kind":"{kind}","locations":[{{"path":"{path}"}}]}}}}"#
    )
}

#[test]
fn a_turn_is_held_and_its_report_is_the_file() {
    let mut stage = stage(
        r#"
update '{"sessionUpdate":"plan","entries":[{"content":"write it","status":"in_progress"}]}'
update '{"sessionUpdate":"tool_call","toolCallId":"t1","kind":"execute","title":"make","status":"in_progress","rawInput":{"command":"make all"}}'
update '{"sessionUpdate":"tool_call_update","toolCallId":"t1","status":"failed","rawOutput":{"exit_code":2}}'
chunk 'It is '
chunk 'done.'
printf '{"nonce":"5ec7e7","status":"complete","summary":"all done"}' > "$WINDLASS_REPORT"
say '{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn","_meta":{"quota":{"model_usage":[{"model":"m1","token_count":{"inputTokens":10,"outputTokens":4}}]}}}}'
"#,
    );
    let told = stage.call();
    assert_eq!(told.finished.result.end, AttemptEnd::Normal, "{told:?}");
    let Report::Author(claim) = &told.finished.report else { panic!("{told:?}") };
    assert_eq!((claim.status, claim.summary.as_str()), (ClaimStatus::Complete, "all done"));
    assert_eq!(
        (told.finished.result.agent.as_str(), told.finished.result.message.as_str()),
        ("fake 1.2.3", "It is done.")
    );
    assert_eq!(told.finished.result.usage.map(|usage| usage.tokens()), Some(14));
    assert_eq!(told.finished.result.models[0].model, "m1");
    assert_eq!(
        (
            told.finished.result.summary.commands[0].what.as_str(),
            told.finished.result.summary.commands[0].exit
        ),
        ("make all", Some(2))
    );
    let new = stage.space("new").unwrap();
    assert!(
        new.contains(stage.path("space").to_str().unwrap()) && new.contains(r#""mcpServers":[]"#),
        "{new}"
    );
    assert!(stage.space("prompt").unwrap().contains(r"nonce: 5ec7e7\n\n# Do it"), "the brief is the prompt");
    let kept = std::fs::read_to_string(&told.stdout.unwrap().path).unwrap();
    assert!(!kept.contains("5ec7e7"), "the nonce stays between the two: {kept}");
}

#[test]
fn permission_is_given_inside_the_workspace_and_refused_outside() {
    let mut stage = stage("");
    let inside = stage.path("space").join("src/new.rs").display().to_string();
    let outside = stage.path("project/notes").display().to_string();
    let asks = [
        ("p1", "edit", inside.as_str()),
        ("p2", "edit", outside.as_str()),
        ("p3", "execute", ""),
        ("p4", "delete", "../project"),
        ("p5", "read", "/etc/shadow"),
    ];
    let asks: String = asks
        .iter()
        .map(|(id, kind, path)| format!("ask {id} session/request_permission '{}'\n", permission(kind, path)))
        .collect();
    stage.policy.command[2] += &format!("{asks}chunk ok\nend end_turn\n");
    let told = stage.call();
    assert_eq!(told.finished.result.end, AttemptEnd::Normal, "{told:?}");
    for (id, option) in [("p1", "yes"), ("p2", "no"), ("p3", "yes"), ("p4", "no"), ("p5", "no")] {
        let answer = stage.space(id).unwrap();
        assert!(answer.contains(&format!(r#""optionId":"{option}""#)), "{id}: {answer}");
    }
    let refused = told.finished.result.summary.refused.join("\n");
    assert!(refused.contains(&format!("edit touch it: {outside} is outside the workspace")), "{refused}");
    assert!(refused.contains("../project") && refused.contains("/etc/shadow"), "{refused}");
    assert!(!refused.contains(&inside), "{refused}");
}

#[test]
fn files_are_served_in_the_workspace_alone() {
    let mut stage = stage("");
    let at = |name: &str| stage.path(name).display().to_string();
    std::os::unix::fs::symlink(stage.path("project"), stage.path("space/link")).unwrap();
    std::fs::write(stage.path("project/secret"), "s3cret").unwrap();
    let write = |id: &str, path: &str| {
        format!(
            r#"ask {id} fs/write_text_file '{{"sessionId":"s1","path":"{path}","content":"two\nlines\n"}}'"#
        )
    };
    let read = |id: &str, path: &str, more: &str| {
        format!(r#"ask {id} fs/read_text_file '{{"sessionId":"s1","path":"{path}"{more}}}'"#)
    };
    let script = [
        write("w1", &at("space/deep/down/file")),
        write("w2", &at("project/file")),
        write("w3", &at("space/link/file")),
        write("w4", &at("space/none/../../project/file")),
        read("r1", &at("space/deep/down/file"), r#","line":2,"limit":1"#),
        read("r2", &at("project/secret"), ""),
        read("r3", &at("space/link/secret"), ""),
        read("r4", &at("space/nothing"), ""),
        "chunk ok; end end_turn".to_owned(),
    ]
    .join("\n");
    stage.policy.command[2] += &script;
    let told = stage.call();
    assert_eq!(told.finished.result.end, AttemptEnd::Normal, "{told:?}");
    assert_eq!(stage.space("deep/down/file").unwrap(), "two\nlines\n");
    assert!(stage.space("w1").unwrap().contains(r#""result":null"#));
    assert!(stage.space("r1").unwrap().contains(r#""content":"lines\n""#), "{:?}", stage.space("r1"));
    for id in ["w2", "w3", "w4", "r2", "r3"] {
        let answer = stage.space(id).unwrap();
        assert!(answer.contains("refused by windlass") && !answer.contains("s3cret"), "{id}: {answer}");
    }
    assert!(stage.space("r4").unwrap().contains("does not exist"));
    assert!(!stage.path("project/file").exists());
    assert_eq!(told.finished.result.summary.refused.len(), 5, "{:?}", told.finished.result.summary.refused);
}

#[test]
fn a_terminal_is_served() {
    let mut stage = stage(
        r#"
ask t1 terminal/create '{"sessionId":"s1","command":"sh","args":["-c","echo \"$WORD\"; pwd; exit 3"],"env":[{"name":"WORD","value":"hi"}]}'
ask t2 terminal/wait_for_exit '{"sessionId":"s1","terminalId":"terminal-1"}'
ask t3 terminal/output '{"sessionId":"s1","terminalId":"terminal-1"}'
ask t4 terminal/create '{"sessionId":"s1","command":"echo begun > begun; sleep 600"}'
until [ -e begun ]; do sleep 0.02; done
ask t5 terminal/kill '{"sessionId":"s1","terminalId":"terminal-2"}'
ask t6 terminal/wait_for_exit '{"sessionId":"s1","terminalId":"terminal-2"}'
ask t7 terminal/release '{"sessionId":"s1","terminalId":"terminal-2"}'
ask t8 terminal/output '{"sessionId":"s1","terminalId":"terminal-2"}'
ask t9 terminal/create '{"sessionId":"s1","command":"pwd","cwd":"/etc"}'
ask u1 some/other '{}'
chunk ok
end end_turn
"#,
    );
    let told = stage.call();
    assert_eq!((told.finished.result.end, told.finished.result.strays), (AttemptEnd::Normal, 0));
    let space = stage.path("space").canonicalize().unwrap();
    for (id, said) in [
        ("t1", r#""terminalId":"terminal-1""#.to_owned()),
        ("t2", r#""exitCode":3"#.to_owned()),
        ("t3", format!(r#""output":"hi\n{}\n","truncated":false"#, space.display())),
        ("t5", r#""result":{}"#.to_owned()),
        ("t6", r#""signal":"9""#.to_owned()),
        ("t8", "there is no terminal".to_owned()),
        ("t9", "/etc is outside the workspace".to_owned()),
        ("u1", "-32601".to_owned()),
    ] {
        let answer = stage.space(id).unwrap();
        assert!(answer.contains(&said), "{id}: {said} in {answer}");
    }
    assert_eq!(told.finished.result.summary.refused, ["read /etc: /etc is outside the workspace"]);
}

#[test]
fn a_reviewer_edits_nothing_but_its_report() {
    let mut stage = stage("");
    stage.role = Role::Reviewer;
    let inside = stage.path("space").join("file").display().to_string();
    let edit = permission("edit", &inside);
    let run = permission("execute", "");
    stage.policy.command[2] += &format!(
        r#"
ask p1 session/request_permission '{edit}'
ask p2 session/request_permission '{run}'
ask w1 fs/write_text_file '{{"sessionId":"s1","path":"{inside}","content":"x"}}'
ask w2 fs/write_text_file '{{"sessionId":"s1","path":"'"$WINDLASS_REPORT"'","content":"{{\"nonce\":\"5ec7e7\",\"verdict\":\"accept\",\"summary\":\"fine\"}}"}}'
chunk ok
end end_turn
"#
    );
    let told = stage.call();
    let Report::Review(Ok(review)) = &told.finished.report else { panic!("{told:?}") };
    assert_eq!(review.verdict, Verdict::Accept);
    assert!(stage.space("p1").unwrap().contains(r#""optionId":"no""#));
    assert!(stage.space("p2").unwrap().contains(r#""optionId":"yes""#));
    assert!(stage.space("file").is_none());
    let refused = told.finished.result.summary.refused.join("\n");
    assert_eq!(refused.matches("a reviewer changes no file but its report").count(), 2, "{refused}");
}

#[test]
fn a_cancelled_turn_leaves_nothing_alive() {
    let mut stage = stage(
        r#"
ask t1 terminal/create '{"sessionId":"s1","command":"trap \"\" TERM; echo up > up; sleep 600 & wait"}'
trap '' TERM
sleep 600 &
echo ready > ready
read -r line
printf '%s\n' "$line" > cancel
end cancelled
sleep 600
"#,
    );
    stage.policy.grace = Millis(5000);
    let ready = [stage.path("space/up"), stage.path("space/ready")];
    let begun = Instant::now();
    let told = std::thread::scope(|scope| {
        stage.call_with(&mut |canceller| {
            let ready = ready.clone();
            scope.spawn(move || {
                let is_ready = || ready.iter().all(|file| file.exists());
                assert!(poll::until(Duration::from_secs(20), is_ready), "neither command runs");
                canceller.cancel();
            });
        })
    });
    assert_eq!(told.finished.result.end, AttemptEnd::Interrupted);
    assert!(begun.elapsed() < Duration::from_secs(20));
    assert!(stage.space("cancel").unwrap().contains(r#""method":"session/cancel""#));
}

#[test]
fn who_lies_about_the_end_is_not_believed() {
    let said = |words: &str| format!("chunk \"{words}\"; end end_turn");
    let usage = |usage: &str| {
        format!(
            r#"chunk hm; say '{{"jsonrpc":"2.0","id":3,"result":{{"stopReason":"end_turn","usage":{usage}}}}}'"#
        )
    };
    let is_protocol = |end: &AttemptEnd| matches!(end, AttemptEnd::Protocol { .. });
    assert_eq!(stage(&said("API Error: 500 internal")).call().finished.result.end, AttemptEnd::Overloaded);
    assert_eq!(
        stage(&said("We are currently experiencing high demand")).call().finished.result.end,
        AttemptEnd::Overloaded
    );
    for script in [
        "end end_turn".to_owned(),
        usage("null"),
        usage(r#"{"inputTokens":0,"outputTokens":0}"#),
        // Gemini of a model that refused.
        r#"say '{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn","_meta":{"quota":{"model_usage":[{"model":"m","token_count":{"input_tokens":10,"output_tokens":4}}]}}}}'"#.to_owned(),
        // Gemini after a stream that was cut.
        r#"chunk "This is"; say '{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn","_meta":{"quota":{"token_count":{"input_tokens":0,"output_tokens":0},"model_usage":[]}}}}'"#.to_owned(),
        "chunk ok; end end_turn; end end_turn".to_owned(),
        "chunk ok; end end_turn; chunk more".to_owned(),
        "chunk ok; end done".to_owned(),
    ] {
        let told = stage(&script).call();
        assert!(is_protocol(&told.finished.result.end), "{script}: {:?}", told.finished.result.end);
    }
    let broken_off = r#"chunk "Warning: odd"; update '{"sessionUpdate":"session_info_update","_meta":{"codex":{"threadStatus":{"type":"systemError"}}}}'"#;
    let told = |words: &str| {
        stage(&format!("{broken_off}; chunk \"{words}\"; end end_turn")).call().finished.result.end
    };
    assert_eq!(told("Your input exceeds the context window of this model."), AttemptEnd::ContextOverflow);
    let unknown = AttemptEnd::Crashed { what: "It is so.".to_owned() };
    assert_eq!(told("It is so."), unknown, "its own word, and no success");
    assert_eq!(stage("chunk ok; end cancelled").call().finished.result.end, AttemptEnd::Killed);
    assert_eq!(stage("chunk ok; end max_turn_requests").call().finished.result.end, AttemptEnd::TimedOut);
    assert!(matches!(stage("chunk ok; end refusal").call().finished.result.end, AttemptEnd::Refused { .. }));
}

#[test]
fn failures_have_their_classes() {
    let error = |error: &str| format!(r#"say '{{"jsonrpc":"2.0","id":3,"error":{error}}}'"#);
    let end = |script: &str| stage(script).call().finished.result.end;
    let auth = end(&error(r#"{"code":-32000,"message":"Authentication required"}"#));
    assert!(matches!(auth, AttemptEnd::Auth { .. }), "{auth:?}");
    let limited = end(&error(r#"{"code":429,"message":"slow down"}"#));
    assert!(matches!(limited, AttemptEnd::RateLimited { .. }), "{limited:?}");
    let gone =
        end(&error(r#"{"code":-32603,"message":"Internal error","data":{"details":"model not found: x"}}"#));
    assert!(matches!(gone, AttemptEnd::ModelNotFound { .. }), "{gone:?}");
    assert_eq!(end(&error(r#"{"code":500,"message":"hm"}"#)), AttemptEnd::Overloaded);
    let unread = end(&error(r#"{"code":500,"message":"Unexpected token n in JSON at position 1"}"#));
    assert!(matches!(unread, AttemptEnd::Protocol { .. }), "{unread:?}");
    let crashed = |script: &str, what: &str| {
        let AttemptEnd::Crashed { what: told } = end(script) else { panic!("{script}") };
        assert!(told.contains(what), "{told}");
    };
    crashed(
        "echo 'it broke' >&2; exit 3",
        "it closed its output before it answered session/prompt: it broke",
    );
    crashed(&error(r#"{"code":-32603,"message":"Internal error"}"#), "Internal error");
    let mut other = stage("");
    other.policy.command = ["sh", "-c", r#"read -r x; echo '{"id":1,"result":{"protocolVersion":7}}'"#]
        .map(str::to_owned)
        .to_vec();
    let AttemptEnd::Crashed { what } = other.call().finished.result.end else { panic!("version") };
    assert!(what.contains("version 7"), "{what}");
    let mut silent = stage("chunk begun; read -r more");
    silent.policy.silence = Millis(500);
    assert_eq!(silent.call().finished.result.end, AttemptEnd::Stalled);
}

/// A session that offers a mode and models, behind a login by a key.
const CHOOSY: &str = r#"
say() { printf '%s\n' "$1"; }
next() { read -r line; printf '%s\n' "$line" >> asked; }
next; say '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"authMethods":[{"id":"browser"},{"id":"key","_meta":{"api-key":{}}}]}}'
next; say '{"jsonrpc":"2.0","id":2,"error":{"code":-32000,"message":"Authentication required"}}'
next; say '{"jsonrpc":"2.0","id":3,"result":{}}'
next; say '{"jsonrpc":"2.0","id":4,"result":{"sessionId":"s1","models":{"availableModels":[{"modelId":"big"},{"modelId":"small"}],"currentModelId":"big"},"modes":{"currentModeId":"agent","availableModes":[{"id":"agent"},{"id":"agent-full-access"}]}}}'
next; say '{"jsonrpc":"2.0","id":5,"result":{}}'
next; say '{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"agent_message_chunk","content":{"text":"ok"}}}}'
say '{"jsonrpc":"2.0","id":6,"result":{"stopReason":"end_turn"}}'
"#;

#[test]
fn a_key_logs_in_and_a_model_is_chosen_from_what_is_offered() {
    let mut choosy = Stage::shell(CHOOSY);
    choosy.policy.adapter = "acp".to_owned();
    choosy.policy.model = "small".to_owned();
    let told = choosy.call();
    assert_eq!(told.finished.result.end, AttemptEnd::Normal, "{told:?}");
    let asked = choosy.space("asked").unwrap();
    assert!(asked.contains(r#""methodId":"key""#) && !asked.contains("browser"), "{asked}");
    assert!(asked.contains("session/set_model") && asked.contains(r#""modelId":"small""#), "{asked}");
    assert!(!asked.contains("set_mode\""), "unconfined, its own sandbox stays: {asked}");

    choosy.policy.model = "huge".to_owned();
    let AttemptEnd::ModelNotFound { what } = choosy.call().finished.result.end else {
        panic!("there is no such model")
    };
    assert!(what.contains("it has no model \"huge\"; it offers big, small"), "{what}");
}

/// A session whose options change with its model, as Claude's do.
const OPTIONS: &str = r#"
say() { printf '%s\n' "$1"; }
next() { read -r line; printf '%s\n' "$line" >> asked; }
model='{"id":"m","category":"model","options":[{"group":"old","options":[{"value":"small"}]},{"value":"big"}]}'
effort='{"id":"e","category":"thought_level","options":[{"value":"low"},{"value":"high"}]}'
next; say '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}'
next; say '{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s1","configOptions":['"$model"']}}'
next; say '{"jsonrpc":"2.0","id":3,"result":{"configOptions":['"$model,$effort"']}}'
next
case $line in
*'"configId":"e"'*) say '{"jsonrpc":"2.0","id":4,"result":{"configOptions":[]}}'; id=5; next ;;
*) id=4 ;;
esac
say '{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"agent_message_chunk","content":{"text":"ok"}}}}'
say '{"jsonrpc":"2.0","id":'$id',"result":{"stopReason":"end_turn"}}'
"#;

#[test]
fn an_effort_is_chosen_from_what_the_model_has() {
    let call = |effort: &str| {
        let mut stage = Stage::shell(OPTIONS);
        stage.policy.adapter = "acp".to_owned();
        stage.policy.model = "small".to_owned();
        stage.policy.effort = effort.to_owned();
        let told = stage.call();
        assert_eq!(told.finished.result.end, AttemptEnd::Normal, "{told:?}");
        (stage.space("asked").unwrap(), told.finished.result.notes.join("\n"))
    };
    let (asked, notes) = call("high");
    let set: Vec<&str> = asked.lines().filter(|line| line.contains("set_config_option")).collect();
    let says = |line: &str, what: &str| line.contains(what);
    assert!(says(set[0], r#""configId":"m""#) && says(set[0], r#""value":"small""#), "{asked}");
    assert!(says(set[1], r#""configId":"e""#) && says(set[1], r#""value":"high""#), "{asked}");
    assert_eq!(notes, "");
    let (asked, notes) = call("huge");
    assert_eq!(asked.matches("set_config_option").count(), 1, "{asked}");
    assert_eq!(notes, "it has no effort \"huge\"; it offers low, high");

    let mut plain = stage("chunk ok; end end_turn");
    plain.policy.effort = "high".to_owned();
    let told = plain.call();
    assert_eq!(
        (told.finished.result.end, told.finished.result.notes.join("\n").as_str()),
        (AttemptEnd::Normal, "it offers no choice of effort: it uses its own")
    );
}

/// A conversation that is told again while it is loaded.
const LOADED: &str = r#"
say() { printf '%s\n' "$1"; }
next() { read -r line; printf '%s\n' "$line" >> asked; }
update() { say '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"old","update":'"$1"'}}'; }
chunk() { update '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"'"$1"'"}}'; }
next; say '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":'$LOADS'}}}'
next
case $line in *session/load*)
    chunk 'what was said before'
    update '{"sessionUpdate":"tool_call","toolCallId":"t1","kind":"execute","title":"rm","status":"completed","rawInput":{"command":"rm it"}}'
    case $line in
    *'"sessionId":"old"'*) say '{"jsonrpc":"2.0","id":2,"result":{}}' ;;
    *) say '{"jsonrpc":"2.0","id":2,"error":{"code":-32002,"message":"Resource not found"}}'; next ;;
    esac
;; esac
case $line in *session/new*) say '{"jsonrpc":"2.0","id":'$(($(wc -l < asked)))',"result":{"sessionId":"fresh"}}' ;; esac
next
DO
say '{"jsonrpc":"2.0","id":'$(($(wc -l < asked)))',"result":{"stopReason":"end_turn"}}'
"#;

fn resumed(session: &str, loads: &str, script: &str) -> (TurnResult, String) {
    let mut stage = Stage::shell(&LOADED.replace("$LOADS", loads).replace("DO", script));
    stage.policy.adapter = "acp".to_owned();
    stage.resume = Some(Session { id: session.to_owned(), total: Vec::new() });
    let told = stage.call();
    (told, stage.space("asked").unwrap())
}

#[test]
fn a_conversation_is_loaded_and_what_is_told_again_is_not_this_turn() {
    let (told, asked) = resumed("old", "true", "chunk 'It is done.'");
    assert_eq!(
        (told.finished.result.end, told.finished.result.message.as_str()),
        (AttemptEnd::Normal, "It is done.")
    );
    assert!(told.finished.result.summary.commands.is_empty(), "{:?}", told.finished.result.summary);
    assert_eq!(told.finished.result.session.map(|session| session.id).as_deref(), Some("old"));
    assert!(!asked.contains("session/new") && asked.contains("session/load"), "{asked}");
    assert_eq!(told.finished.result.notes, [""; 0]);
    let (told, _) = resumed("old", "true", ":");
    assert!(
        matches!(told.finished.result.end, AttemptEnd::Protocol { .. }),
        "it did nothing itself: {:?}",
        told.finished.result.end
    );
}

#[test]
fn a_conversation_that_is_gone_begins_afresh_and_says_so() {
    let (told, asked) = resumed("lost", "true", "chunk 'It is done.'");
    assert_eq!(
        (told.finished.result.end, told.finished.result.message.as_str()),
        (AttemptEnd::Normal, "It is done.")
    );
    assert_eq!(told.finished.result.session.map(|session| session.id).as_deref(), Some("fresh"));
    assert!(asked.contains("session/load") && asked.contains("session/new"), "{asked}");
    assert_eq!(
        told.finished.result.notes,
        ["the conversation it was to go on with is gone: it began afresh"]
    );

    let (told, asked) = resumed("old", "false", "chunk 'It is done.'");
    assert_eq!(told.finished.result.end, AttemptEnd::Normal);
    assert!(!asked.contains("session/load"), "it says that it cannot: {asked}");
    assert_eq!(told.finished.result.notes, ["it cannot go on with a conversation: it began afresh"]);
}

#[test]
fn who_tries_over_and_over_is_ended() {
    let http = "Attempt 1 failed with status 500. Retrying with backoff... {}";
    let quota = "Attempt 1 failed: Resource has been exhausted (e.g. check quota).";
    let log =
        r#"level=ERROR message="stream error" modelID=m error.error="AI_APICallError: Service Unavailable""#;
    let script = |line: &str, times: usize, then: &str| {
        let tell = format!("printf '%s\\n' '{line}' >&2\n");
        stage(&format!("{}{then}", tell.repeat(times)))
    };
    let came_through = script(http, 2, "chunk ok; end end_turn").call();
    assert_eq!(came_through.finished.result.end, AttemptEnd::Normal, "{came_through:?}");
    for (line, end) in [
        (http, AttemptEnd::Overloaded),
        (log, AttemptEnd::Overloaded),
        (quota, AttemptEnd::RateLimited { retry_at: None }),
    ] {
        let begun = Instant::now();
        assert_eq!(script(line, 3, "read -r more").call().finished.result.end, end, "{line}");
        assert!(begun.elapsed() < Duration::from_secs(20));
        // Silence between two tries has a reason that was told.
        let mut silent = script(line, 1, "read -r more");
        silent.policy.silence = Millis(500);
        assert_eq!(silent.call().finished.result.end, end, "{line}");
    }
}

#[test]
fn what_happens_is_told_live() {
    let heard = std::sync::Mutex::new(Vec::new());
    let mut stage = stage(
        r#"
update '{"sessionUpdate":"tool_call","toolCallId":"t1","kind":"edit","title":"Write","status":"pending","rawInput":{}}'
update '{"sessionUpdate":"tool_call_update","toolCallId":"t1","status":"completed","content":[{"type":"diff","path":"a.rs","oldText":null,"newText":"x"}]}'
chunk said
end end_turn
"#,
    );
    let told = stage.call_heard(&|event| heard.lock().unwrap().push(event));
    assert_eq!(told.finished.result.end, AttemptEnd::Normal);
    let heard = heard.into_inner().unwrap();
    assert!(matches!(&heard[0], Live::ToolStarted(tool) if tool.what == "Write"), "{heard:?}");
    assert!(heard.iter().any(|event| matches!(event, Live::ToolFinished { ok: true, .. })), "{heard:?}");
    assert!(heard.iter().any(|event| matches!(event, Live::Text { text } if text == "said")), "{heard:?}");
    assert_eq!(told.finished.result.summary.created, ["a.rs"]);
}
