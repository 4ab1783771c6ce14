//! What an author says of its work in its last message, where it wrote no report: a claim like any other, so
//! it moves nothing. Verdicts are never read from text.

use windlass_core::verdict::{Claim, ClaimStatus};

use crate::bound;

const ITEM_BYTES: usize = 1024;
const ITEMS: usize = 20;

/// `STATUS: complete` (or `continue`, `blocked`) on a line of its own, once; and what `NEXT STEPS:` lists,
/// which alone means to go on.
pub fn of(message: &str) -> Option<Claim> {
    let next = next_steps(message);
    let mut said = message.lines().filter_map(|line| after(line, "STATUS:")).map(status);
    let status = match (said.next(), said.next()) {
        (Some(status), None) => status?,
        (None, _) if !next.is_empty() => ClaimStatus::Continue,
        (Some(_), Some(_)) | (None, _) => return None,
    };
    let summary = bound::block(message.trim(), 4 * ITEM_BYTES);
    let (next, blockers) = match status {
        ClaimStatus::Blocked => (Vec::new(), next),
        ClaimStatus::Complete | ClaimStatus::Continue => (next, Vec::new()),
    };
    Some(Claim { status, summary, blockers, next, ..Claim::default() })
}

fn status(word: &str) -> Option<ClaimStatus> {
    match word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase().as_str() {
        "complete" | "completed" | "done" => Some(ClaimStatus::Complete),
        "continue" | "in progress" | "incomplete" => Some(ClaimStatus::Continue),
        "blocked" => Some(ClaimStatus::Blocked),
        _ => None,
    }
}

fn next_steps(message: &str) -> Vec<String> {
    let mut lines = message.lines().skip_while(|line| after(line, "NEXT STEPS:").is_none());
    let first = lines.next().and_then(|line| after(line, "NEXT STEPS:")).unwrap_or_default().to_owned();
    let listed = lines.map(str::trim).skip_while(|line| line.is_empty());
    let listed = listed
        .take_while(|line| !line.is_empty() && !line.ends_with(':') && after(line, "STATUS:").is_none());
    let item = |line: &str| unnumbered(line.trim_start_matches(|c: char| "-*• ".contains(c))).to_owned();
    let items = [first].into_iter().chain(listed.map(item));
    items.filter(|item| !item.is_empty()).take(ITEMS).map(|item| bound::line(&item, ITEM_BYTES)).collect()
}

/// Without `1. ` or `1) ` before it.
fn unnumbered(line: &str) -> &str {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let marked = rest.len() < line.len();
    let item = rest.strip_prefix(". ").or_else(|| rest.strip_prefix(") ")).filter(|_| marked);
    item.unwrap_or(line).trim_start()
}

/// What follows a word at the start of a line, whatever marks it up.
fn after<'a>(line: &'a str, word: &str) -> Option<&'a str> {
    let line = line.trim().trim_start_matches(['#', '*', ' ']);
    let head = line.get(..word.len())?;
    let rest = head.eq_ignore_ascii_case(word).then(|| &line[word.len()..])?;
    Some(rest.trim().trim_start_matches('*').trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_line_is_a_claim() {
        let claim = of("I did it.\n\n**STATUS:** complete\n").unwrap();
        assert_eq!((claim.status, claim.next.len()), (ClaimStatus::Complete, 0));
        let claim = of("status: CONTINUE\nNext steps:\n- the tests\n* the docs\n\nBye").unwrap();
        assert_eq!(claim.status, ClaimStatus::Continue);
        assert_eq!(claim.next, ["the tests", "the docs"]);
        let claim =
            of("I stop here.\n\nNEXT STEPS:\n\n1. the tests\n2) the docs\n3 more\nSTATUS: complete\n")
                .unwrap();
        assert_eq!(
            (claim.status, claim.next.join(", ")),
            (ClaimStatus::Complete, "the tests, the docs, 3 more".to_owned())
        );
        let claim = of("NEXT STEPS: the tests").unwrap();
        assert_eq!((claim.status, &claim.next[..]), (ClaimStatus::Continue, &["the tests".to_owned()][..]));
        let claim = of("## STATUS: blocked\nNEXT STEPS: give me a key").unwrap();
        assert_eq!(
            (claim.status, &claim.blockers[..]),
            (ClaimStatus::Blocked, &["give me a key".to_owned()][..])
        );
    }

    #[test]
    fn anything_else_claims_nothing() {
        for message in [
            "",
            "All done, STATUS: complete",
            "STATUS: great",
            "STATUS: complete\nSTATUS: blocked",
            "STATUS: great\nNEXT STEPS: x",
            "NEXT STEPS:",
            "<verdict>PASS</verdict>",
            "é: STATUS",
        ] {
            assert_eq!(of(message), None, "{message}");
        }
    }
}
