//! What programs print beside the protocol when they try a request again.

use crate::cli::fault::Fault;
use crate::live::{self, Retry};

pub fn told(line: &str) -> Option<(Retry, Fault)> {
    of_gemini(line).or_else(|| of_codex(line))
}

/// `Attempt 2 failed with status 500. Retrying with backoff... _ApiError: {…}`
fn of_gemini(line: &str) -> Option<(Retry, Fault)> {
    let (attempt, rest) = line.trim().strip_prefix("Attempt ")?.split_once(" failed with status ")?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let status: u64 = rest[..digits].parse().ok()?;
    let why = format!("HTTP {status}");
    let retry = Retry { attempt: attempt.parse().ok(), of: None, delay_ms: None, why };
    Some((retry, Fault::said(rest).status(Some(status))))
}

/// `… Handled error during turn: Reconnecting... 1/5 Some(…) Some("unexpected status 401 …")`
fn of_codex(line: &str) -> Option<(Retry, Fault)> {
    let (_, rest) = line.split_once("Handled error during turn: Reconnecting... ")?;
    let (attempt, of) = numbers(rest.split_whitespace().next()?);
    let (_, said) = rest.split_once("Some(\"")?;
    let fault = Fault::said(said.trim_end().trim_end_matches("\")"));
    Some((Retry { attempt, of, delay_ms: None, why: live::words(fault.words()) }, fault))
}

/// `Reconnecting... 1/5`
pub fn numbers(message: &str) -> (Option<u32>, Option<u32>) {
    let last = message.split_whitespace().next_back().and_then(|word| word.split_once('/'));
    last.map_or((None, None), |(one, of)| (one.parse().ok(), of.parse().ok()))
}
