//! Reports as agents write them: good, wrong, and hostile.

use std::fs;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use windlass_agent::report::{ParsedReport, parse, read};
use windlass_core::finding::Severity;
use windlass_core::id::{FindingId, Nonce};
use windlass_core::input::Report;
use windlass_core::policy::Role;
use windlass_core::proposal::{ProposedAction, ProposedPart};
use windlass_core::usage::Usage;
use windlass_core::verdict::{Claim, ClaimStatus, ClaimedCheck, Met, NoVerdict, Review, Verdict};
use windlass_redact::{Redactor, Secret};

fn nonce() -> Nonce {
    Nonce::new("n1")
}

fn author(text: &str) -> ParsedReport {
    parse(text.as_bytes(), Role::Author, &nonce())
}

fn review(text: &str) -> Result<Review, NoVerdict> {
    let heard = parse(text.as_bytes(), Role::Reviewer, &nonce());
    let Report::Review(review) = heard.report else { panic!("not a review: {heard:?}") };
    review
}

#[test]
fn half_of_a_nonce_rejects_and_does_nothing_else() {
    let nonce = Nonce::new("0123456789abcdef");
    let heard = |signed: &str, role: Role, rest: &str| {
        parse(format!(r#"{{"nonce":"{signed}",{rest}}}"#).as_bytes(), role, &nonce).report
    };
    let reviewed = |signed, verdict: &str| {
        let rest = format!(r#""verdict":"{verdict}","summary":"","findings":[],"blocker":null"#);
        match heard(signed, Role::Reviewer, &rest) {
            Report::Review(review) => review.map(|review| review.verdict),
            other @ (Report::None | Report::Author(_)) => panic!("not a review: {other:?}"),
        }
    };
    assert_eq!(reviewed("01234567", "reject"), Ok(Verdict::Reject));
    assert_eq!(reviewed("01234567", "accept"), Err(NoVerdict::WrongNonce));
    assert_eq!(reviewed("0123456789abcdef", "accept"), Ok(Verdict::Accept));
    assert_eq!(reviewed("0123456789abcdef", "reject"), Ok(Verdict::Reject));
    for part in ["0123456", "0123456789"] {
        let given = part.len();
        assert_eq!(reviewed(part, "reject"), Err(NoVerdict::PartOfNonce { given, wanted: 8 }));
        assert_eq!(reviewed(part, "accept"), Err(NoVerdict::WrongNonce));
    }
    let words = NoVerdict::PartOfNonce { given: 20, wanted: 16 }.words();
    assert_eq!(words, "a reject wants exactly the first half of the nonce (16 characters); this has 20");
    assert_eq!(reviewed("89abcdef", "reject"), Err(NoVerdict::WrongNonce));
    let claimed = r#""status":"complete","summary":"","blockers":[],"next":[]"#;
    assert_eq!(heard("01234567", Role::Author, claimed), Report::None);
}

#[test]
fn an_author_is_heard() {
    let heard = author(
        r#"{"nonce":"n1","status":"blocked","summary":"no \u001b[31mkey","blockers":["a key"],"next":null,
            "plan":["x"],"checks":{"a":1},"usage":{"input_tokens":5,"cost_usd":0.5}}"#,
    );
    let claim = Claim {
        status: ClaimStatus::Blocked,
        summary: "no key".to_owned(),
        blockers: vec!["a key".to_owned()],
        plan: vec!["x".to_owned()],
        ..Claim::default()
    };
    assert_eq!(heard.report, Report::Author(claim));
    assert_eq!(
        heard.usage,
        Some(Usage { input_tokens: 5, cost_micro_usd: Some(500_000), ..Usage::default() })
    );
    assert_eq!(heard.unread, None);
}

#[test]
fn what_an_author_followed_and_ran_is_heard_in_whatever_form() {
    let claim = |rest: &str| {
        let heard = author(&format!(r#"{{"nonce":"n1","status":"continue","summary":"",{rest}}}"#));
        let Report::Author(claim) = heard.report else { panic!("{rest}: {heard:?}") };
        claim
    };
    let ran = |command: &str, exit, output: &str| ClaimedCheck {
        command: command.to_owned(),
        exit,
        output: output.to_owned(),
    };
    for plan in [r#"["read", "write"]"#, r#""- read\n\n* write\n""#, r#"["read", 7, "", "write"]"#] {
        assert_eq!(claim(&format!(r#""plan":{plan}"#)).plan, ["read", "write"], "{plan}");
    }
    for (checks, meant) in [
        (
            r#"[{"command":"make test","exit":2,"output":"1 failed"}]"#,
            vec![ran("make test", Some(2), "1 failed")],
        ),
        (
            r#"[{"command":"a","exit":"0"}, "make lint", {"exit":0}, 5]"#,
            vec![ran("a", None, ""), ran("make lint", None, "")],
        ),
        (r#""make test: ok""#, vec![ran("make test: ok", None, "")]),
        (r#"{"command":"make"}"#, vec![ran("make", None, "")]),
        ("true", vec![]),
        ("[[1]]", vec![]),
    ] {
        assert_eq!(claim(&format!(r#""checks":{checks}"#)).checks, meant, "{checks}");
    }
    let many = format!(r#""plan":[{}"x"]"#, format!("\"{}\",", "y".repeat(5000)).repeat(60));
    let claim = claim(&many);
    assert!(claim.plan.len() == 30 && claim.plan.iter().all(|step| step.len() < 1100), "it is bounded");
}

/// Half a secret, at the end of a text that is cut, would not be known for one.
#[test]
fn what_an_author_proposes_is_heard_bounded_and_never_costs_the_report() {
    let proposed = |amendments: &str| {
        let heard = author(&format!(
            r#"{{"nonce":"n1","status":"complete","summary":"","amendments":{amendments}}}"#
        ));
        let Report::Author(claim) = heard.report else { panic!("{amendments}: {heard:?}") };
        claim.amendments
    };
    for nothing in ["null", "7", "\"add\"", "{}", "[7, {}, {\"action\":\"fly\"}]"] {
        assert_eq!(proposed(nothing), [], "{nothing}");
    }
    let heard = proposed(
        r#"[{"action":"split","task":" b ","parts":[{"title":"x\u001b[31m","text":"a\nb"},"y"],"why":"large"}]"#,
    );
    let part = |title: &str, text: &str| ProposedPart { title: title.to_owned(), text: text.to_owned() };
    assert_eq!((heard[0].action, heard[0].task.as_str()), (ProposedAction::Split, "b"));
    assert_eq!(heard[0].parts, [part("x", "a\nb"), part("y", "")]);
    let one = format!(r#"{{"action":"add","title":"{0}","text":"{0}"}}"#, "x".repeat(100_000));
    let heard = proposed(&format!("[{}]", [one.as_str(); 9].join(",")));
    assert_eq!(heard.len(), 5);
    assert!(heard[0].title.len() < 500 && heard[0].text.len() < 9_000);
}

#[test]
fn a_report_is_cleaned_before_it_is_cut() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("report/report.json");
    fs::create_dir(dir.path().join("report")).unwrap();
    let secret = Secret { name: "KEY".to_owned(), value: b"s3cret-value-1".to_vec() };
    let redactor = Redactor::new(&[secret]);
    for before in 8_170..8_200 {
        let summary = format!("{}s3cret-value-1 end", "x".repeat(before));
        fs::write(&path, format!(r#"{{"nonce":"n1","status":"complete","summary":"{summary}"}}"#)).unwrap();
        let heard = read(&path, Role::Author, &nonce(), &redactor);
        let Report::Author(claim) = heard.report else { panic!("{heard:?}") };
        assert!(!claim.summary.contains("s3c"), "{before}");
    }
}

#[test]
fn an_author_that_cannot_be_believed_is_absent() {
    for (text, why) in [
        ("", "it is empty"),
        ("  \n", "it is empty"),
        ("{", "EOF while parsing"),
        ("[]", "one JSON object"),
        ("\"complete\"", "one JSON object"),
        ("{\"status\":\"complete\"}", "this attempt's nonce"),
        (r#"{"nonce":"n2","status":"complete"}"#, "this attempt's nonce"),
        (r#"{"nonce":1,"status":"complete"}"#, "this attempt's nonce"),
        (r#"{"nonce":"n2","nonce":"n1","status":"complete"}"#, "this attempt's nonce"),
        (r#"{"nonce":"n1"}"#, "`status` is missing: it is one of complete, continue, blocked"),
        (r#"{"nonce":"n1","status":"done"}"#, "`status` is \"done\", not one of"),
        (r#"{"nonce":"n1","status":"complete","status":"blocked"}"#, "the key `status` twice"),
        (r#"{"nonce":"n1","status":"complete","summary":7}"#, "`summary` is not text: it holds a number"),
        (r#"{"nonce":"n1","status":"complete","next":"x"}"#, "`next` is not a list: it holds a text"),
        (r#"{"nonce":"n1","status":"complete"}{"nonce":"n1","status":"complete"}"#, "two JSON documents"),
        (r#"{"nonce":"n1","status":"complete"} and so on"#, "after its object"),
    ] {
        let heard = author(text);
        assert_eq!(heard.report, Report::None, "{text}");
        let unread = heard.unread.unwrap();
        assert!(unread.contains(why), "{text}: {unread}");
    }
}

#[test]
fn usage_is_believed_only_with_the_nonce() {
    let with = |head: &str| author(&format!(r#"{{{head},"usage":{{"output_tokens":9}}}}"#)).usage;
    let known = Some(Usage { output_tokens: 9, ..Usage::default() });
    assert_eq!(with(r#""nonce":"n1","status":"continue""#), known);
    assert_eq!(with(r#""nonce":"n1","status":"whatever""#), known);
    assert_eq!(with(r#""nonce":"n2","status":"continue""#), None);
    assert_eq!(author(r#"{"nonce":"n1","status":"continue","usage":{"output_tokens":-9}}"#).usage, None);
}

#[test]
fn a_reviewer_is_heard() {
    let review = review(
        r#"{"nonce":"n1","verdict":"reject","summary":"two bugs",
            "criteria":[{"text":"reads -1","met":"no","where":"src/a.rs"},{"text":"b","met":"yes"}],
            "findings":[{"file":"a","line":null,"severity":"warning","description":"w"},
                        {"file":"b","line":3,"severity":"bug","description":"d","scenario":"s","more":[]}],
            "resolved":["F1"],"pending":["next"],"blocker":null,"extra":{}}"#,
    )
    .unwrap();
    assert_eq!(review.verdict, Verdict::Reject);
    assert_eq!(review.summary, "two bugs");
    assert_eq!((review.criteria[0].met, review.criteria[0].place.as_str()), (Met::No, "src/a.rs"));
    let findings: Vec<_> =
        review.findings.iter().map(|f| (f.file.as_str(), f.line, f.severity, f.scenario.as_str())).collect();
    assert_eq!(findings, [("b", 3, Severity::Bug, "s"), ("a", 0, Severity::Warning, "")]);
    assert_eq!(review.resolved, [FindingId::new("F1")]);
    assert_eq!(review.pending, ["next"]);
    assert_eq!(review.blocker, "");
    assert_eq!(self::review(r#"{"nonce":"n1","verdict":"accept"}"#).unwrap().verdict, Verdict::Accept);
}

#[test]
fn a_reviewer_without_one_clear_verdict_gives_none() {
    let unreadable = |what: &str| NoVerdict::Unreadable { what: what.to_owned() };
    for (text, none) in [
        (r#"{"verdict":"accept"}"#, NoVerdict::WrongNonce),
        (r#"{"nonce":"N1","verdict":"accept"}"#, NoVerdict::WrongNonce),
        (r#"{"nonce":"n1","verdict":"accept","verdict":"reject"}"#, NoVerdict::TwoVerdicts),
        (r#"{"nonce":"n1","verdict":"accept","verdict":"accept"}"#, NoVerdict::TwoVerdicts),
        (
            "{\"nonce\":\"n1\",\"verdict\":\"accept\"}\n{\"nonce\":\"n1\",\"verdict\":\"reject\"}\n",
            NoVerdict::TwoVerdicts,
        ),
        (r#"{"nonce":"n2","verdict":"accept"}{"nonce":"n1","verdict":"accept"}"#, NoVerdict::TwoVerdicts),
        (r#"{"nonce":"n1"}"#, unreadable("`verdict` is missing: it is one of accept, reject")),
        (
            r#"{"nonce":"n1","verdict":"PASS"}"#,
            unreadable("`verdict` is \"PASS\", not one of accept, reject"),
        ),
        (r#"{"nonce":"n1","verdict":true}"#, unreadable("`verdict` is true, not one of accept, reject")),
        (
            r#"{"nonce":"n1","verdict":["accept"]}"#,
            unreadable("`verdict` is [\"accept\"], not one of accept, reject"),
        ),
        (
            r#"{"nonce":"n1","verdict":"accept","findings":{}}"#,
            unreadable("`findings` is not a list: it holds an object"),
        ),
        (
            r#"{"nonce":"n1","verdict":"accept","findings":["x"]}"#,
            unreadable("`findings` is not a list of objects: it holds a text"),
        ),
        (
            r#"{"nonce":"n1","verdict":"accept","findings":[{"severity":"bug","description":"d","line":-1}]}"#,
            unreadable("`findings` item 1: `line` is not a whole number: it holds a number"),
        ),
        (
            r#"{"nonce":"n1","verdict":"accept","findings":[{"severity":"minor","description":"d"}]}"#,
            unreadable("`findings` item 1: `severity` is \"minor\", not one of bug, warning"),
        ),
        (
            r#"{"nonce":"n1","verdict":"accept","findings":[{"severity":"bug","description":" "}]}"#,
            unreadable("`findings` item 1: `description` is empty"),
        ),
        (
            r#"{"nonce":"n1","verdict":"accept","criteria":[{"text":"t","met":true}]}"#,
            unreadable("`criteria` item 1: `met` is true, not one of yes, no, unknown"),
        ),
        (
            r#"{"nonce":"n1","verdict":"accept","blocker":["x"]}"#,
            unreadable("`blocker` is not text: it holds a list"),
        ),
        (
            r#"{"nonce":"n1","verdict":"accept","summary":"a","summary":"b"}"#,
            unreadable("it gives the key `summary` twice"),
        ),
    ] {
        assert_eq!(review(text), Err(none), "{text}");
    }
    let nested = r#"{"nonce":"n1","verdict":"accept","findings":[{"severity":"bug","severity":"warning"}]}"#;
    let Err(NoVerdict::Unreadable { what }) = review(nested) else {
        panic!("a nested repeated key is refused")
    };
    assert!(what.starts_with("the key `severity` is given twice"), "{what}");
}

#[test]
fn what_is_long_is_cut_and_nothing_against_an_accept_is_cut_away() {
    let warnings = r#"{"severity":"warning","description":"w"},"#.repeat(150);
    let met = r#"{"text":"t","met":"yes"},"#.repeat(150);
    let text = format!(
        r#"{{"nonce":"n1","verdict":"accept","summary":"{}","criteria":[{met}{{"text":"u","met":"unknown"}}],
            "findings":[{warnings}{{"severity":"bug","description":"last"}}]}}"#,
        "é".repeat(8000)
    );
    let review = review(&text).unwrap();
    assert_eq!((review.findings.len(), review.criteria.len()), (100, 100));
    assert_eq!(review.findings[0].description, "last");
    assert_eq!(review.criteria[0].met, Met::Unknown);
    assert!(review.summary.len() < 8300 && review.summary.ends_with("bytes left out]"));
}

#[test]
fn a_depth_that_would_overflow_the_stack_is_refused() {
    let text = format!(r#"{{"nonce":"n1","verdict":"accept","x":{}"#, "[".repeat(500_000));
    assert!(matches!(review(&text), Err(NoVerdict::Unreadable { .. })));
}

#[test]
fn a_file_is_read_and_its_absence_is_no_report() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("report.json");
    let heard = read(&path, Role::Reviewer, &nonce(), &Redactor::off());
    assert_eq!(heard.report, Report::Review(Err(NoVerdict::NoReport)));
    let heard = read(&path, Role::Author, &nonce(), &Redactor::off());
    assert_eq!((heard.report, heard.unread), (Report::None, None));
    fs::write(&path, r#"{"nonce":"n1","status":"complete"}"#).unwrap();
    assert!(matches!(read(&path, Role::Author, &nonce(), &Redactor::off()).report, Report::Author(_)));
}

#[test]
fn what_is_not_a_plain_small_file_is_refused_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let good = dir.path().join("good.json");
    fs::write(&good, r#"{"nonce":"n1","verdict":"accept"}"#).unwrap();
    let refuse = |make: &dyn Fn(&Path), why: &str| {
        let place = tempfile::tempdir_in(dir.path()).unwrap();
        let path = place.path().join("report.json");
        make(&path);
        let begun = Instant::now();
        let heard = read(&path, Role::Reviewer, &nonce(), &Redactor::off());
        assert!(begun.elapsed() < Duration::from_secs(2), "{why}");
        let Report::Review(Err(NoVerdict::Unreadable { what })) = heard.report else {
            panic!("{why}: {heard:?}");
        };
        assert!(what.contains(why), "{what}");
    };
    refuse(&|path| fs::create_dir(path).unwrap(), "a directory");
    refuse(&|path| std::os::unix::fs::symlink(&good, path).unwrap(), "a symbolic link");
    refuse(&|path| drop(UnixListener::bind(path).unwrap()), "a socket");
    refuse(&|path| make_fifo(path), "a pipe");
    let sparse = |path: &Path| fs::File::create(path).unwrap().set_len(1 << 40).unwrap();
    refuse(&sparse, "larger than 1048576 bytes");
    let swapped = |path: &Path| {
        let place = path.parent().unwrap();
        fs::remove_dir(place).unwrap();
        std::os::unix::fs::symlink(good.parent().unwrap(), place).unwrap();
    };
    refuse(&swapped, "below something that is no directory");
}

fn make_fifo(path: &Path) {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_panic_and_none_of_them_accept(bytes in any::<Vec<u8>>()) {
        let heard = parse(&bytes, Role::Reviewer, &nonce());
        prop_assert!(matches!(heard.report, Report::Review(Err(_))));
        prop_assert_eq!(parse(&bytes, Role::Author, &nonce()).report, Report::None);
    }

    #[test]
    fn no_text_in_a_report_panics(text in any::<String>(), cut in 0usize..400) {
        let escaped = serde_json::to_string(&text).unwrap();
        let whole = format!(
            r#"{{"nonce":"n1","verdict":"accept","summary":{escaped},{escaped}:{escaped},
                "findings":[{{"file":{escaped},"severity":"bug","description":{escaped}}}]}}"#
        );
        parse(whole.as_bytes(), Role::Reviewer, &nonce());
        parse(&whole.as_bytes()[..cut.min(whole.len())], Role::Reviewer, &nonce());
    }
}
