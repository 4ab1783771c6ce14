//! What programs say when an account comes to its limits, and in other failures that no recording has. Codex's
//! first words at its limit, Gemini's, Qwen's, and most of the failures were seen of the real programs against a
//! scripted model. Claude's limits need a subscription and were never seen: those words are as people report them.

use windlass_agent::WallSource;
use windlass_agent::cli::{ProgramEnd, ReaderSetup, SessionStart};
use windlass_agent::failure;
use windlass_agent::registry;
use windlass_agent::reset::Zone;
use windlass_core::input::AttemptEnd;
use windlass_core::time::Timestamp;
use windlass_process::ProgramExit;

use crate::recorded::now;
use crate::recordings::class_name;

fn end_of(program: &str, stdout: &str, stderr: &str, code: i32) -> (Option<AttemptEnd>, AttemptEnd) {
    let zone = Zone::named("Europe/Berlin").unwrap();
    let setup = ReaderSetup {
        model: String::new(),
        schema: false,
        start: SessionStart::Fresh,
        zone,
        env: Vec::new(),
    };
    let mut reader = registry::named(program).unwrap().cli.reader(setup);
    for line in stdout.lines() {
        reader.line(line.as_bytes(), now());
    }
    for line in stderr.lines() {
        reader.error_line(line.as_bytes(), now());
    }
    let hopeless = reader.hopeless();
    let exit = ProgramExit::Code(code);
    let outside = failure::class(&exit, WallSource::Agent, &[]);
    let over = ProgramEnd { exit: &exit, outside: &outside, stderr: stderr.as_bytes(), now: now() };
    (hopeless, reader.end(&over).end)
}

fn codex(message: &str) -> (Option<AttemptEnd>, AttemptEnd) {
    let error = serde_json::json!({"type": "turn.failed", "error": {"message": message}});
    end_of("codex", &format!("{{\"type\":\"turn.started\"}}\n{error}"), "", 1)
}

fn claude(message: &str, status: Option<u16>) -> (Option<AttemptEnd>, AttemptEnd) {
    let result = serde_json::json!({
        "type": "result", "subtype": "success", "is_error": true, "api_error_status": status,
        "terminal_reason": "api_error", "result": message,
    });
    end_of("claude", &result.to_string(), "", 1)
}

fn gemini(message: &str, stderr: &str, code: i32) -> (Option<AttemptEnd>, AttemptEnd) {
    let error = serde_json::json!({"type": "unknown", "message": message});
    let result = serde_json::json!({"type": "result", "status": "error", "error": error, "stats": {}});
    end_of("gemini", &result.to_string(), stderr, code)
}

fn qwen(message: &str) -> (Option<AttemptEnd>, AttemptEnd) {
    let result = serde_json::json!({
        "type": "result", "subtype": "error_during_execution", "is_error": true, "error": {"message": message},
    });
    end_of("qwen", &result.to_string(), "", 1)
}

fn reset(at: &str) -> AttemptEnd {
    AttemptEnd::UsageLimit { reset_at: at.parse::<Timestamp>().unwrap() }
}

/// It is 19:00 in Berlin.
#[test]
fn a_usage_limit_names_when_it_ends_and_is_not_waited_out_by_the_program() {
    let limits = [
        (
            codex(
                "You’ve hit your usage limit. Upgrade to Pro (https://chatgpt.com/explore/pro), visit https://chatgpt.com/settings/usage to purchase more credits or try again at 9:47 PM.",
            ),
            "2026-11-15T20:48:00.000Z",
        ),
        (codex("You've hit your usage limit. Try again in 2 hours 5 minutes."), "2026-11-15T20:05:00.000Z"),
        (
            codex("You’ve hit your usage limit. … or try again at Nov 18th, 2026 3:47 AM."),
            "2026-11-18T02:48:00.000Z",
        ),
        (
            codex(
                "{\"error\":{\"type\":\"usage_limit_reached\",\"message\":\"The usage limit has been reached\",\"resets_at\":1794772800}}",
            ),
            "2026-11-15T20:00:00.000Z",
        ),
        (claude("Claude AI usage limit reached|1794772800", Some(429)), "2026-11-15T20:00:00.000Z"),
        (claude("5-hour limit reached ∙ resets 9pm", Some(429)), "2026-11-15T20:01:00.000Z"),
        (
            claude("You've hit your limit · resets 9:30pm (Europe/London)", Some(429)),
            "2026-11-15T21:31:00.000Z",
        ),
        (claude("Weekly limit reached ∙ resets Nov 20 at 10am (UTC)", None), "2026-11-20T10:01:00.000Z"),
        (
            gemini(
                "[API Error: You have exhausted your daily quota on this model.]\nPlease wait",
                "  status: 429",
                173,
            ),
            "2026-11-16T08:00:00.000Z",
        ),
        (
            gemini(
                "[API Error: {\"error\":{\"code\":429,\"status\":\"RESOURCE_EXHAUSTED\",\"message\":\"x\",\"details\":[{\"violations\":[{\"quotaId\":\"GenerateRequestsPerDayPerProjectPerModel-FreeTier\"}]},{\"retryDelay\":\"7500s\"}]}}]",
                "",
                173,
            ),
            "2026-11-15T20:05:00.000Z",
        ),
    ];
    for ((hopeless, end), at) in limits {
        assert_eq!(end, reset(at));
        assert_eq!(hopeless.as_ref(), Some(&end));
    }
}

/// One line of opencode's log for each request that failed.
fn opencode_log(said: &[&str]) -> (Option<AttemptEnd>, AttemptEnd) {
    let line = |said: &&str| {
        let quoted = serde_json::Value::from(format!("AI_APICallError: {said}"));
        format!(
            "timestamp=2026-11-16T04:59:35.551Z level=ERROR run=95a8c3c8 message=\"stream error\" modelID=m mode=primary error.error={quoted}"
        )
    };
    let lines: Vec<String> = said.iter().map(line).collect();
    end_of("opencode", "", &lines.join("\n"), 1)
}

#[test]
fn a_program_that_tries_on_by_itself_is_stopped_when_windlass_knows_better() {
    let busy = "The server had an error while processing your request.";
    let odd = "one \"two\" three";
    for (said, hopeless) in [
        (&[busy, busy][..], None),
        (&[busy, busy, busy], Some("overloaded")),
        (&[odd, odd, odd], Some("overloaded")),
        (&["Cannot connect to API: The socket connection was closed"; 3], Some("network")),
        (&["Rate limit reached for requests. Please try again later."], Some("rate_limited")),
        (&["Your usage limit will reset at 2026-11-15T20:00:00Z."], Some("usage_limit")),
        (&["Incorrect API key provided: k."], Some("auth")),
    ] {
        assert_eq!(opencode_log(said).0.as_ref().map(class_name), hopeless, "{said:?}");
    }
    let busy = "Attempt 1 failed with status 503. Retrying with backoff... _ApiError: {}";
    let soon = "Attempt 1 failed: Resource has been exhausted (e.g. check quota).\nSuggested retry after 1s.. Retrying after 1093ms...";
    let late = "Attempt 1 failed: Resource has been exhausted (e.g. check quota).\nSuggested retry after 90s.. Retrying after 99000ms...";
    let plan = "Attempt 1 failed: You have exhausted your capacity on this model. Your quota will reset after 4h30m.. Retrying after 1009ms...";
    for (said, hopeless) in [
        ([busy, busy, ""], None),
        ([busy, busy, busy], Some("overloaded")),
        ([soon, "", ""], None),
        ([soon, soon, soon], Some("rate_limited")),
        ([late, "", ""], Some("rate_limited")),
        ([plan, "", ""], Some("usage_limit")),
    ] {
        let (found, _) = end_of("gemini", "", &said.join("\n"), 1);
        assert_eq!(found.as_ref().map(class_name), hopeless, "{said:?}");
    }
    let (_, end) = end_of("gemini", "", plan, 1);
    assert_eq!(end, reset("2026-11-15T22:30:00.000Z"));
}

#[test]
fn a_rate_limit_says_when_to_try_again_if_it_knows() {
    let at = |text: &str| AttemptEnd::RateLimited { retry_at: Some(text.parse().unwrap()) };
    let suggested = "[API Error: Rate limit reached. Please try again in 20s.\nSuggested retry after 20s.]\nPlease wait and try again later.";
    assert_eq!(gemini(suggested, "  status: 429", 173).1, at("2026-11-15T18:00:20.000Z"));
    let unknown = AttemptEnd::RateLimited { retry_at: None };
    assert_eq!(codex("exceeded retry limit, last status: 429 Too Many Requests").1, unknown);
    let quota = "[API Error: You exceeded your current quota, please check your plan and billing details.]";
    assert_eq!(gemini(quota, "", 173).1, unknown, "Google says so of every limit");
    assert_eq!(claude("Claude AI usage limit reached|1731700800", Some(429)).1, unknown, "long past");
}

#[test]
fn every_other_failure_has_its_class() {
    let error = |name: &str, data: serde_json::Value| {
        serde_json::json!({"type": "error", "sessionID": "s", "error": {"name": name, "data": data}})
            .to_string()
    };
    for (end, class) in [
        (codex("The model `nope` does not exist or you do not have access to it.").1, "model_not_found"),
        (codex("unexpected status 403 Forbidden: no access, url: http://h/v1/responses").1, "auth"),
        (codex("unexpected status 402 Payment Required: pay").1, "auth"),
        (codex("Quota exceeded. Check your plan and billing details.").1, "auth"),
        (codex("unexpected status 529: x").1, "overloaded"),
        (codex("Connection failed: error sending request").1, "network"),
        (codex("something nobody has heard of").1, "crashed"),
        (
            claude("There's an issue with the selected model (x). It may not exist", Some(404)).1,
            "model_not_found",
        ),
        (claude("Failed to authenticate. API Error: 403 no access", Some(403)).1, "auth"),
        (claude("Credit balance is too low", Some(400)).1, "auth"),
        (
            claude(
                "API Error: Sonnet can't help with this. Learn more: https://www.anthropic.com/legal/aup",
                None,
            )
            .1,
            "refused",
        ),
        (claude("Not logged in · Please run /login", None).1, "auth"),
        (
            gemini(
                "[API Error: The model `nope` does not exist or you do not have access to it.]",
                "  code: 404",
                1,
            )
            .1,
            "model_not_found",
        ),
        (gemini("[API Error: fetch failed]", "", 1).1, "network"),
        (qwen("Model produced plain text instead of calling the structured_output tool as required by --json-schema after 1 turn(s).").1, "normal"),
        (qwen("[API Error: 403 no access]").1, "auth"),
        (end_of("gemini", "", "Invalid auth method selected.", 41).1, "auth"),
        (
            end_of("opencode", &error("ContextOverflowError", serde_json::json!({"message": "x"})), "", 1).1,
            "context_overflow",
        ),
        (
            end_of("opencode", &error("ContentFilterError", serde_json::json!({"message": "x"})), "", 1).1,
            "refused",
        ),
        (
            end_of(
                "opencode",
                &error("APIError", serde_json::json!({"message": "x", "statusCode": 404})),
                "",
                1,
            )
            .1,
            "model_not_found",
        ),
        (
            end_of("opencode", &error("MessageAbortedError", serde_json::json!({"message": "x"})), "", 1).1,
            "killed",
        ),
    ] {
        assert_eq!(class_name(&end), class, "{end:?}");
    }
}

#[test]
fn what_is_certain_is_known_while_the_program_still_tries() {
    let retry =
        r#"{"type":"error","message":"Reconnecting... 1/5 (unexpected status 401 Unauthorized: no)"}"#;
    let (hopeless, _) = end_of("codex", retry, "", 1);
    assert_eq!(class_name(&hopeless.unwrap()), "auth");
    let (hopeless, _) =
        end_of("gemini", "", "Attempt 1 failed with status 403. Retrying with backoff... x", 1);
    assert_eq!(class_name(&hopeless.unwrap()), "auth");
    let waiting = r#"{"type":"error","message":"Reconnecting... waiting for network (Connection failed: error sending request)"}"#;
    assert_eq!(end_of("codex", waiting, "", 1).0, None, "a moment without a network is nothing");
    let for_long = [waiting; 3].join("\n");
    assert_eq!(end_of("codex", &for_long, "", 1).0, Some(AttemptEnd::Network));
    let overcome =
        format!("{for_long}\n{}", r#"{"type":"item.completed","item":{"type":"agent_message","text":"x"}}"#);
    assert_eq!(end_of("codex", &overcome, "", 1).0, None);
    let overloaded =
        r#"{"type":"system","subtype":"api_retry","attempt":1,"retry_delay_ms":500,"error_status":529}"#;
    assert_eq!(end_of("claude", overloaded, "", 1).0, None, "that may pass");
}
