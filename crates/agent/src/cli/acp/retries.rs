//! What programs print beside the protocol when they try a request again.

use windlass_core::live::Retry;

use crate::bound;
use crate::cli::fault::AgentFault;
use crate::cli::opencode;

pub fn told(line: &str) -> Option<(Retry, AgentFault)> {
    of_gemini(line.trim()).or_else(|| of_codex(line)).or_else(|| of_opencode(line))
}

/// `Attempt 2 failed with status 500. Retrying with backoff... _ApiError: {…}`, and for quotas
/// `Attempt 1 failed: Resource has been exhausted …`.
fn of_gemini(line: &str) -> Option<(Retry, AgentFault)> {
    let (attempt, rest) = line.strip_prefix("Attempt ")?.split_once(" failed")?;
    let attempt = Some(attempt.parse().ok()?);
    let (why, fault) = match rest.strip_prefix(" with status ") {
        Some(rest) => {
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let status: u64 = rest[..digits].parse().ok()?;
            (format!("HTTP {status}"), AgentFault::said(rest).status(Some(status)))
        }
        None => {
            let said = rest.trim_start_matches([':', ' ']);
            (bound::shown_line(said), AgentFault::said(said).code("RESOURCE_EXHAUSTED"))
        }
    };
    Some((Retry { attempt, of: None, delay_ms: None, why }, fault))
}

/// With `--print-logs`.
fn of_opencode(line: &str) -> Option<(Retry, AgentFault)> {
    let said = opencode::stream_error(line)?;
    let fault = AgentFault::said(&said);
    Some((Retry { attempt: None, of: None, delay_ms: None, why: bound::shown_line(fault.words()) }, fault))
}

/// `… Handled error during turn: Reconnecting... 1/5 Some(…) Some("unexpected status 401 …")`
fn of_codex(line: &str) -> Option<(Retry, AgentFault)> {
    let (_, rest) = line.split_once("Handled error during turn: Reconnecting... ")?;
    let (attempt, of) = numbers(rest.split_whitespace().next()?);
    let (_, said) = rest.split_once("Some(\"")?;
    let fault = AgentFault::said(said.trim_end().trim_end_matches("\")"));
    Some((Retry { attempt, of, delay_ms: None, why: bound::shown_line(fault.words()) }, fault))
}

/// `Reconnecting... 1/5`
pub fn numbers(message: &str) -> (Option<u32>, Option<u32>) {
    let last = message.split_whitespace().next_back().and_then(|word| word.split_once('/'));
    last.map_or((None, None), |(one, of)| (one.parse().ok(), of.parse().ok()))
}
