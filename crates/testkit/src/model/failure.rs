//! Each failure as each API tells it.

use serde_json::{Value, json};
use windlass_core::time::Timestamp;

use super::api::Api;
use super::http::Headers;
use super::script::{Case, Fail};

/// A whole answer that is none.
pub struct Refused {
    pub status: u16,
    pub headers: Headers,
    pub body: Value,
}

/// `now` is the time of day in seconds, for the times at which limits end.
pub fn refused(api: Api, fail: &Fail, status: u16, now: u64) -> Refused {
    if fail.case == Case::UsageLimit {
        return usage_limit(api, fail, now);
    }
    let mut headers = vec![("content-type".to_owned(), "application/json".to_owned())];
    if let Some(seconds) = fail.retry_after {
        headers.push(("retry-after".to_owned(), seconds.to_string()));
    }
    if api == Api::Messages {
        headers.push(("x-should-retry".to_owned(), should_retry(status).to_string()));
    }
    let body = match api {
        Api::Responses | Api::Chat => openai(status),
        Api::Messages => anthropic(status),
        Api::Gemini => google(status, fail.retry_after),
    };
    if fail.case == Case::ContextOverflow {
        return Refused { status: 400, headers, body: too_long(api) };
    }
    Refused { status, headers, body }
}

fn should_retry(status: u16) -> bool {
    matches!(status, 408 | 409 | 429) || status >= 500
}

fn openai(status: u16) -> Value {
    let (kind, code, message) = match status {
        401 => ("invalid_request_error", json!("invalid_api_key"), "Incorrect API key provided: test-key."),
        403 => ("invalid_request_error", json!("forbidden"), "You are not allowed to do this."),
        404 => (
            "invalid_request_error",
            json!("model_not_found"),
            "The model does not exist or you do not have access to it.",
        ),
        429 => (
            "requests",
            json!("rate_limit_exceeded"),
            "Rate limit reached for requests. Please try again later.",
        ),
        503 | 529 => (
            "server_error",
            json!("server_is_overloaded"),
            "The server is overloaded. Please try again later.",
        ),
        400..=499 => ("invalid_request_error", Value::Null, "The request was refused."),
        _ => ("server_error", Value::Null, "The server had an error while processing your request."),
    };
    json!({ "error": { "message": message, "type": kind, "param": null, "code": code } })
}

fn anthropic(status: u16) -> Value {
    let (kind, message) = match status {
        401 => ("authentication_error", "invalid x-api-key"),
        403 => ("permission_error", "Your API key does not have permission to use the specified resource."),
        404 => ("not_found_error", "model: not found"),
        413 => ("request_too_large", "Request exceeds the maximum size"),
        429 => ("rate_limit_error", "This request would exceed your organization's rate limit."),
        529 | 503 => ("overloaded_error", "Overloaded"),
        400..=499 => ("invalid_request_error", "The request was refused."),
        _ => ("api_error", "Internal server error"),
    };
    json!({ "type": "error", "error": { "type": kind, "message": message } })
}

fn google(status: u16, retry_after: Option<u64>) -> Value {
    let (name, message) = match status {
        401 => ("UNAUTHENTICATED", "API key not valid. Please pass a valid API key."),
        403 => ("PERMISSION_DENIED", "The caller does not have permission"),
        404 => ("NOT_FOUND", "models/unknown is not found for API version v1beta"),
        429 => ("RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota)."),
        503 | 529 => ("UNAVAILABLE", "The model is overloaded. Please try again later."),
        400..=499 => ("INVALID_ARGUMENT", "Request contains an invalid argument."),
        _ => ("INTERNAL", "An internal error has occurred."),
    };
    let details: Vec<_> = retry_after.iter().map(|seconds| retry_in(*seconds)).collect();
    json!({ "error": { "code": status, "message": message, "status": name, "details": details } })
}

fn retry_in(seconds: u64) -> Value {
    json!({ "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": format!("{seconds}s") })
}

/// A plan's limit, which ends at a time: five hours away, unless the script says otherwise.
fn usage_limit(api: Api, fail: &Fail, now: u64) -> Refused {
    let seconds = fail.resets_in.or(fail.retry_after).unwrap_or(5 * 60 * 60);
    let at = now + seconds;
    let mut headers = vec![("content-type".to_owned(), "application/json".to_owned())];
    let mut header = |name: &str, value: String| headers.push((name.to_owned(), value));
    let body = match api {
        Api::Chat => {
            header("retry-after", seconds.to_string());
            let ends = Timestamp(i64::try_from(at).unwrap_or(i64::MAX / 1000) * 1000);
            json!({ "error": {
                "type": "usage_limit_reached", "code": null, "resets_at": at,
                "message": format!("The quota of your plan is exceeded. Your usage limit will reset at {ends}."),
            } })
        }
        Api::Responses => {
            header("x-codex-primary-used-percent", "100".to_owned());
            header("x-codex-primary-window-minutes", "300".to_owned());
            header("x-codex-primary-reset-at", at.to_string());
            json!({ "error": {
                "type": "usage_limit_reached", "message": "The usage limit has been reached", "plan_type": "plus",
                "resets_at": at, "resets_in_seconds": seconds,
            } })
        }
        Api::Messages => {
            header("retry-after", seconds.to_string());
            header("x-should-retry", "false".to_owned());
            header("anthropic-ratelimit-unified-status", "rejected".to_owned());
            header("anthropic-ratelimit-unified-reset", at.to_string());
            header("anthropic-ratelimit-unified-representative-claim", "five_hour".to_owned());
            header("anthropic-ratelimit-unified-5h-status", "rejected".to_owned());
            header("anthropic-ratelimit-unified-5h-reset", at.to_string());
            json!({ "type": "error", "error": {
                "type": "rate_limit_error",
                "message": "This request would exceed your account's rate limit. Please try again later.",
            } })
        }
        // A plan's is told in other words than a key's, which begins anew with the day.
        Api::Gemini if fail.resets_in.is_some() => json!({ "error": {
            "code": 429, "status": "RESOURCE_EXHAUSTED",
            "message": format!("You have exhausted your capacity on this model. Your quota will reset after {seconds}s."),
            "details": [{
                "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "QUOTA_EXHAUSTED",
                "domain": "cloudcode-pa.googleapis.com", "metadata": {},
            }],
        } }),
        Api::Gemini => json!({ "error": {
            "code": 429, "status": "RESOURCE_EXHAUSTED",
            "message": format!("You exceeded your current quota. Please retry in {seconds}s."),
            "details": [
                { "@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{
                    "quotaMetric": "generativelanguage.googleapis.com/generate_requests_per_model_per_day",
                    "quotaId": "GenerateRequestsPerDayPerProjectPerModel",
                }] },
                retry_in(seconds),
            ],
        } }),
    };
    Refused { status: 429, headers, body }
}

/// A conversation longer than the model takes.
pub fn too_long(api: Api) -> Value {
    match api {
        Api::Responses | Api::Chat => json!({ "error": {
            "message": "Your input exceeds the context window of this model. Please adjust your input and try again.",
            "type": "invalid_request_error", "param": "input", "code": "context_length_exceeded",
        } }),
        Api::Messages => json!({ "type": "error", "error": {
            "type": "invalid_request_error", "message": "prompt is too long: 210000 tokens > 200000 maximum",
        } }),
        Api::Gemini => json!({ "error": {
            "code": 400, "status": "INVALID_ARGUMENT",
            "message": "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
        } }),
    }
}

/// Too busy, in the words that stand inside of a stream.
pub fn overloaded(api: Api) -> Value {
    match api {
        Api::Responses | Api::Chat => openai(529),
        Api::Messages => anthropic(529),
        Api::Gemini => google(503, None),
    }
}
