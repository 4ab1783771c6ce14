//! What went wrong with a turn, from all that was said of it: an HTTP status and error codes first, the words
//! of the message last.

use serde_json::Value;
use windlass_core::input::AttemptEnd;
use windlass_core::time::Timestamp;

use crate::bound;
use crate::reset::{self, Zone};

/// A limit that lasts longer is one of usage, not of rate.
const RATE_MS: i64 = 15 * 60_000;

#[derive(Clone, Debug, Default)]
pub struct AgentFault {
    status: Option<u16>,
    codes: Vec<String>,
    message: String,
    again_at: Option<Timestamp>,
    /// A quota that is counted by the day, where Google counts its days.
    daily: bool,
}

/// When and where a fault is read.
#[derive(Clone, Copy)]
pub struct FaultReading<'a> {
    pub now: Timestamp,
    pub zone: &'a Zone,
    /// The command that fixes a login.
    pub remedy: &'a str,
    /// The names of the variables that the program is handed.
    pub env: &'a [String],
}

impl AgentFault {
    /// With the status and the JSON that the message itself holds.
    pub fn said(message: &str) -> Self {
        let mut fault = Self { message: message.to_owned(), ..Self::default() };
        fault.status = status_in(message);
        if let Some(body) = json_in(message) {
            fault.look_into(&body);
        }
        fault
    }

    pub fn status(mut self, status: Option<u64>) -> Self {
        self.status = status.and_then(|status| u16::try_from(status).ok()).or(self.status);
        self
    }

    pub fn status_if_unknown(mut self, status: Option<u64>) -> Self {
        self.status = self.status.or_else(|| u16::try_from(status?).ok());
        self
    }

    pub fn code(mut self, code: &str) -> Self {
        if !code.is_empty() {
            self.codes.push(code.to_owned());
        }
        self
    }

    /// Together with what another one knows.
    pub fn and(mut self, other: &Self) -> Self {
        self.codes.extend(other.codes.iter().cloned());
        self.status = self.status.or(other.status);
        self.daily |= other.daily;
        self.again_at(other.again_at)
    }

    /// A time to try again that was told beside the message.
    pub fn again_at(mut self, at: Option<Timestamp>) -> Self {
        self.again_at = at.or(self.again_at);
        self
    }

    /// The message's first line; of one that is JSON, the words inside.
    pub fn words(&self) -> &str {
        let mut lines = self.message.lines();
        let first = lines.next().unwrap_or_default();
        if first.contains('{') { lines.next_back().unwrap_or(first) } else { first }
    }

    /// Error codes of an answer of a model's API, in any vendor's shape.
    pub fn look_into(&mut self, body: &Value) {
        let error = body.get("error").unwrap_or(body);
        for key in ["code", "type", "status", "reason"] {
            match error.get(key) {
                Some(Value::String(code)) => self.codes.push(code.clone()),
                Some(Value::Number(status)) if self.status.is_none() => {
                    self.status = status.as_u64().and_then(|status| u16::try_from(status).ok());
                }
                _ => {}
            }
        }
        if let Some(message) = error.get("message").and_then(Value::as_str) {
            self.message.push('\n');
            self.message.push_str(message);
        }
        for detail in error.get("details").and_then(Value::as_array).into_iter().flatten() {
            let quotas = detail.get("violations").and_then(Value::as_array).into_iter().flatten();
            self.daily |=
                quotas.filter_map(|quota| quota.get("quotaId")?.as_str()).any(|id| id.contains("PerDay"));
        }
    }

    /// The class, or none if nothing tells.
    pub fn class(&self, reading: &FaultReading<'_>) -> Option<AttemptEnd> {
        let lower = self.message.to_lowercase().replace('’', "'");
        let code = |codes: &[&str]| self.codes.iter().any(|code| codes.contains(&code.as_str()));
        let says = |phrases: &[&str]| phrases.iter().any(|phrase| lower.contains(phrase));
        let what = || bound::shown_line(self.words());
        if code(OVERFLOW_CODES) || says(OVERFLOW) {
            return Some(AttemptEnd::ContextOverflow);
        }
        if code(REFUSAL_CODES) || says(REFUSAL) {
            return Some(AttemptEnd::Refused { what: what() });
        }
        if code(MODEL_CODES) || says(MODEL) || self.status == Some(404) {
            return Some(AttemptEnd::ModelNotFound { what: what() });
        }
        let usage_limit =
            code(&["usage_limit_reached", "usage_limit_exceeded"]) || says(USAGE_LIMIT) || self.daily;
        if self.status == Some(402)
            || code(BILLING_CODES)
            || says(BILLING) && !usage_limit && !code(QUOTA_CODES)
        {
            let what = format!("{}; add credit to the account, or use another one", what());
            return Some(AttemptEnd::Auth { what });
        }
        if usage_limit || self.status == Some(429) || code(RATE_CODES) || code(QUOTA_CODES) {
            return Some(self.limit(usage_limit, reading));
        }
        if matches!(self.status, Some(401 | 403)) || code(AUTH_CODES) {
            return Some(auth(&what(), reading));
        }
        if matches!(self.status, Some(500..=599)) || code(OVERLOAD_CODES) {
            return Some(AttemptEnd::Overloaded);
        }
        if code(NETWORK_CODES) || self.status == Some(408) {
            return Some(AttemptEnd::Network);
        }
        by_words(&says).map(|class| match class {
            ByWords::Auth => auth(&what(), reading),
            ByWords::Rate => self.limit(false, reading),
            ByWords::Overloaded => AttemptEnd::Overloaded,
            ByWords::Network => AttemptEnd::Network,
            ByWords::Protocol => AttemptEnd::Protocol { what: what() },
        })
    }

    fn limit(&self, usage_limit: bool, reading: &FaultReading<'_>) -> AttemptEnd {
        let found = || reset::find(&self.message, reading.now, reading.zone);
        let pacific = || reset::next_midnight(&Zone::named("America/Los_Angeles")?, reading.now);
        let daily = self.daily || self.message.contains("daily quota");
        let again = self.again_at.or_else(|| self.structured_reset(reading.now)).or_else(found);
        let again =
            if daily { again.filter(|at| at.0 - reading.now.0 > RATE_MS).or_else(pacific) } else { again };
        match again {
            Some(reset_at) if usage_limit || reset_at.0 - reading.now.0 > RATE_MS => {
                AttemptEnd::UsageLimit { reset_at }
            }
            retry_at => AttemptEnd::RateLimited { retry_at },
        }
    }

    fn structured_reset(&self, now: Timestamp) -> Option<Timestamp> {
        let body = json_in(&self.message)?;
        let error = body.get("error").unwrap_or(&body);
        let at = error.get("resets_at").and_then(Value::as_i64).and_then(|at| reset::epoch(at, now));
        let in_seconds = || error.get("resets_in_seconds").and_then(Value::as_f64);
        let delay = || {
            let details = error.get("details").and_then(Value::as_array).into_iter().flatten();
            let mut delays = details.filter_map(|detail| detail.get("retryDelay")?.as_str());
            delays.next().and_then(|delay| reset::after_span(delay, now))
        };
        at.or_else(|| in_seconds().and_then(|seconds| reset::after_seconds(seconds, now))).or_else(delay)
    }
}

/// Whether trying again, as the program itself does, can only end the same way.
pub fn is_hopeless(end: &AttemptEnd) -> bool {
    match end {
        AttemptEnd::Auth { .. }
        | AttemptEnd::ModelNotFound { .. }
        | AttemptEnd::UsageLimit { .. }
        | AttemptEnd::ContextOverflow
        | AttemptEnd::Refused { .. } => true,
        AttemptEnd::Normal
        | AttemptEnd::RateLimited { .. }
        | AttemptEnd::Overloaded
        | AttemptEnd::Network
        | AttemptEnd::Killed
        | AttemptEnd::Crashed { .. }
        | AttemptEnd::TimedOut
        | AttemptEnd::Stalled
        | AttemptEnd::Protocol { .. }
        | AttemptEnd::Budget
        | AttemptEnd::Interrupted
        | AttemptEnd::Lost
        | AttemptEnd::Faulted(_) => false,
    }
}

fn auth(what: &str, reading: &FaultReading<'_>) -> AttemptEnd {
    // The words are Codex's; of another program's they would tell something else.
    let of_provider = own_provider(what, reading.env).filter(|_| reading.remedy.starts_with("codex "));
    let advice = of_provider.unwrap_or_else(|| format!("log in again: {}", reading.remedy));
    AttemptEnd::Auth { what: format!("{}; {advice}", what.trim_end_matches('.')) }
}

/// What leads on where Codex was told to ask a provider of the operator's: its own login is not asked there.
fn own_provider(what: &str, env: &[String]) -> Option<String> {
    if let Some((_, rest)) = what.split_once("Missing environment variable: `") {
        let (name, _) = rest.split_once('`')?;
        let list = match env.iter().any(|listed| listed == name) {
            true => String::new(),
            false => format!(", and add {name} to agent.env"),
        };
        return Some(format!("the provider wants its key in {name}: set it{list}"));
    }
    let (_, url) = what.split_once(", url: ")?;
    let host = url.split_once("://")?.1.split(['/', ',', ' ']).next()?;
    let is_openai = ["openai.com", "chatgpt.com"]
        .iter()
        .any(|own| host == *own || host.strip_suffix(own).is_some_and(|before| before.ends_with('.')));
    (!is_openai).then(|| {
        format!(
            "the provider at {host} wants its key: that of its env_key, or CODEX_API_KEY where it has none"
        )
    })
}

enum ByWords {
    Auth,
    Rate,
    Overloaded,
    Network,
    Protocol,
}

fn by_words(says: &dyn Fn(&[&str]) -> bool) -> Option<ByWords> {
    let table: [(&[&str], ByWords); 5] = [
        (AUTH, ByWords::Auth),
        (RATE, ByWords::Rate),
        (OVERLOAD, ByWords::Overloaded),
        (NETWORK, ByWords::Network),
        (PROTOCOL, ByWords::Protocol),
    ];
    table.into_iter().find(|(phrases, _)| says(phrases)).map(|(_, class)| class)
}

/// `unexpected status 401 …`, `last status: 429`, `[API Error: 500 …`, `rejected (429)`.
fn status_in(message: &str) -> Option<u16> {
    const LEADS: [&str; 8] = [
        "unexpected status ",
        "last status: ",
        "API Error: ",
        "rejected (",
        "with status ",
        "status code ",
        "status: ",
        "HTTP ",
    ];
    LEADS.iter().find_map(|lead| {
        let after = &message[message.find(lead)? + lead.len()..];
        let digits = after.bytes().take_while(u8::is_ascii_digit).count();
        after[..digits].parse().ok().filter(|status| (400..600).contains(status))
    })
}

/// The first JSON object inside a text.
fn json_in(message: &str) -> Option<Value> {
    let start = message.find('{')?;
    let mut values = serde_json::Deserializer::from_str(&message[start..]).into_iter::<Value>();
    values.next()?.ok().filter(Value::is_object)
}

const OVERFLOW_CODES: &[&str] =
    &["context_length_exceeded", "prompt_too_long", "ContextOverflowError", "string_above_max_length"];
const OVERFLOW: &[&str] = &[
    "exceeds the maximum number of tokens",
    "exceeds the context window",
    "ran out of room in the model's context window",
    "prompt is too long",
    "maximum context length",
    "context_length_exceeded",
    "input is too long",
];
const REFUSAL_CODES: &[&str] = &[
    "refusal",
    "content_filter",
    "ContentFilterError",
    "content_policy_violation",
    "cyber_policy",
    "SAFETY",
    "PROHIBITED_CONTENT",
    "model_refusal_no_fallback",
];
const REFUSAL: &[&str] = &[
    "content policy",
    "usage policy",
    "violates our",
    "legal/aup",
    "stopped by a safety classifier",
    "blocked due to safety settings",
];
const MODEL_CODES: &[&str] =
    &["model_not_found", "ProviderModelNotFoundError", "NOT_FOUND", "not_found_error"];
const MODEL: &[&str] = &[
    "does not exist or you do not have access",
    "issue with the selected model",
    "model not found",
    "model is not supported",
    "is not found for api version",
];
const USAGE_LIMIT: &[&str] = &[
    "usage limit",
    "hour limit reached",
    "weekly limit reached",
    "daily limit reached",
    "daily quota",
    "hit your limit",
    "hit your session limit",
    "hit your weekly limit",
    "limit will reset at",
    "quota will reset",
    "limit reached ∙",
    "limit reached ·",
];
const BILLING_CODES: &[&str] = &["insufficient_quota", "billing_error", "billing_hard_limit_reached"];
const BILLING: &[&str] = &[
    "check your plan and billing",
    "credit balance is too low",
    "insufficient_quota",
    "insufficient balance",
    "insufficient credits",
];
/// Google's word for every limit there is.
const QUOTA_CODES: &[&str] = &["RESOURCE_EXHAUSTED"];
const RATE_CODES: &[&str] =
    &["rate_limit", "rate_limit_error", "rate_limit_exceeded", "too_many_requests", "requests", "tokens"];
const RATE: &[&str] =
    &["rate limit", "too many requests", "exceeded your current quota", "resource_exhausted"];
const AUTH_CODES: &[&str] = &[
    "invalid_api_key",
    "authentication_error",
    "authentication_failed",
    "permission_error",
    "UNAUTHENTICATED",
    "PERMISSION_DENIED",
    "ProviderAuthError",
    "token_expired",
    "oauth_org_not_allowed",
];
const AUTH: &[&str] = &[
    "missing environment variable",
    "incorrect api key",
    "invalid api key",
    "api key not valid",
    "not logged in",
    "please run /login",
    "login required",
    "authentication required",
    "failed to authenticate",
    "unauthorized",
    "refresh token",
    "please set an auth method",
    "invalid auth method",
    "no auth type is selected",
];
const OVERLOAD_CODES: &[&str] = &[
    "overloaded",
    "overloaded_error",
    "server_error",
    "api_error",
    "internal_server_error",
    "UNAVAILABLE",
    "INTERNAL",
];
const OVERLOAD: &[&str] = &[
    "experiencing high demand",
    "overloaded",
    "internal server error",
    "service unavailable",
    "at capacity",
    "server had an error",
];
const NETWORK_CODES: &[&str] = &[
    "ECONNREFUSED",
    "ECONNRESET",
    "ENOTFOUND",
    "EAI_AGAIN",
    "ETIMEDOUT",
    "EPIPE",
    "DEADLINE_EXCEEDED",
    "connection_error",
];
const NETWORK: &[&str] = &[
    "stream disconnected",
    "stream_truncated",
    "stream ended without a finish reason",
    "model stream ended",
    "without a finish reason",
    "request timed out",
    "timed out",
    "connection refused",
    "connection reset",
    "connection failed",
    "connection error",
    "connection closed",
    "error sending request",
    "fetch failed",
    "network error",
    "socket hang up",
    "econnrefused",
    "econnreset",
    "enotfound",
    "eai_again",
    "dns error",
    "unable to connect",
    "cannot connect to api",
    "socket connection was closed",
    "terminated",
];
const PROTOCOL: &[&str] = &[
    "malformed response",
    "json parsing failed",
    "json parse error",
    "in json at position",
    "unexpected token",
    "is not valid json",
    "failed to parse",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_vendors_own_service_is_signed_in_to_by_the_login() {
        for url in ["https://api.openai.com/v1/responses", "https://chatgpt.com/backend-api"] {
            assert_eq!(own_provider(&format!("401 Unauthorized, url: {url}, request id: r"), &[]), None);
        }
        let other = own_provider("401 Unauthorized, url: https://notopenai.com:8080/v1, request id: r", &[]);
        assert!(other.is_some_and(|advice| advice.contains("at notopenai.com:8080 wants")));
        let missing = |env: &[String]| own_provider("Missing environment variable: `MY_KEY`.", env).unwrap();
        assert!(missing(&[]).ends_with("set it, and add MY_KEY to agent.env"));
        assert!(missing(&["MY_KEY".to_owned()]).ends_with("in MY_KEY: set it"));
        assert_eq!(own_provider("not logged in", &[]), None);
    }
}
