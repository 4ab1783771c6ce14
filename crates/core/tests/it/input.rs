//! One line of a scenario as an input.

use windlass_core::broken_tests::{Breakings, BrokenTests};
use windlass_core::command::Command;
use windlass_core::finding::{Evidence, Rule, Severity, Touch};
use windlass_core::gate::{CheckResult, Control, GateReport, TellNumbers, Trials};
use windlass_core::id::{BlobId, CommitId, FindingId, TaskId, TreeId};
use windlass_core::input::{
    AgentFinished, Asked, AttemptEnd, Change, Input, PathList, Report, Snapshotted, UnmergedWork, WorkMerge,
};
use windlass_core::outcome::{Fault, Reason};
use windlass_core::proposal::{ProposedAction, ProposedAmendment, ProposedPart};
use windlass_core::regression::RegressionReport;
use windlass_core::state::State;
use windlass_core::stop::{StopCheck, StopResult};
use windlass_core::tally::{Comparison, Counts, Earlier, Names, Tally};
use windlass_core::time::{Millis, Timestamp};
use windlass_core::usage::Usage;
use windlass_core::verdict::{
    Claim, ClaimStatus, Criterion, Met, NoVerdict, ReportedFinding, Review, Verdict,
};

use crate::script::span;

pub fn asked(mut words: &[&str]) -> Input {
    let mut asked = Asked::default();
    loop {
        words = match words {
            [] => return Input::RunAsked(asked),
            ["--task", task, rest @ ..] => {
                asked.task = Some(TaskId::new(*task));
                rest
            }
            ["--until", task, rest @ ..] => {
                asked.until = Some(TaskId::new(*task));
                rest
            }
            ["--max", max, rest @ ..] => {
                asked.max = max.parse().expect("a number");
                rest
            }
            ["--no-review", rest @ ..] => {
                asked.no_review = true;
                rest
            }
            ["--once", rest @ ..] => {
                asked.once = true;
                rest
            }
            other => panic!("run does not know {other:?}"),
        };
    }
}

/// `merged M1`, `merged conflict a.rs`, `merged failed "git hung"`.
pub fn merge(words: &[&str], base: &TreeId, work: &TreeId) -> Input {
    let not_merged = |paths: Vec<String>, failure: &str| {
        WorkMerge::NotMerged(UnmergedWork {
            base: base.clone(),
            work: work.clone(),
            conflicts: PathList { count: paths.len() as u64, paths },
            failure: failure.to_owned(),
            files: 1,
        })
    };
    Input::WorkMerged(Box::new(match words {
        ["conflict", path] => not_merged(vec![(*path).to_owned()], ""),
        ["failed", why] => not_merged(Vec::new(), why),
        [tree] => WorkMerge::Clean {
            tree: TreeId::new(*tree),
            change: Change { files: 1, edited: vec!["a.rs".to_owned()], ..Change::default() },
        },
        other => panic!("a merge is not understood: {other:?}"),
    }))
}

/// `agent complete tokens 70`: how an author's or finisher's attempt ended.
pub fn agent(words: &[&str], now: Timestamp) -> Input {
    let (words, usage) = match words {
        [words @ .., "tokens", tokens] => {
            let input_tokens = tokens.parse().expect("a number");
            (words, Some(Usage { input_tokens, cost_micro_usd: Some(input_tokens), ..Usage::default() }))
        }
        words => (words, None),
    };
    let claim = |status, said: &str| {
        let blockers = if said.is_empty() { Vec::new() } else { vec![said.to_owned()] };
        Report::Author(Claim { status, blockers, ..Claim::default() })
    };
    let (end, report) = match words {
        ["complete"] => (AttemptEnd::Normal, claim(ClaimStatus::Complete, "")),
        ["proposes", rest @ ..] => {
            let amendments = rest.split(|word| *word == "and").map(proposed).collect();
            let claim = Claim { status: ClaimStatus::Complete, amendments, ..Claim::default() };
            (AttemptEnd::Normal, Report::Author(claim))
        }
        ["continue"] => (AttemptEnd::Normal, claim(ClaimStatus::Continue, "")),
        ["continue", next @ ..] => {
            let next = next.iter().map(|item| (*item).to_owned()).collect();
            let summary = "half of it".to_owned();
            let claim = Claim { status: ClaimStatus::Continue, summary, next, ..Claim::default() };
            (AttemptEnd::Normal, Report::Author(claim))
        }
        ["blocked"] => (AttemptEnd::Normal, claim(ClaimStatus::Blocked, "")),
        ["blocked", words] => (AttemptEnd::Normal, claim(ClaimStatus::Blocked, words)),
        ["silent"] | ["says", _] => (AttemptEnd::Normal, Report::None),
        words => (end(words, now), Report::None),
    };
    let message = match words {
        ["says", message] => (*message).to_owned(),
        _ => String::new(),
    };
    let mut told = AgentFinished { report, ..finished(end) };
    told.result.usage = usage;
    told.result.message = message;
    Input::AgentFinished(Box::new(told))
}

/// `add New depends a`, `split b x y`, `drop b`, `edit b`.
fn proposed(words: &[&str]) -> ProposedAmendment {
    let mut proposed = ProposedAmendment {
        action: ProposedAction::Add,
        task: String::new(),
        title: String::new(),
        text: "more".to_owned(),
        depends_on: Vec::new(),
        parts: Vec::new(),
        why: "it is needed".to_owned(),
        stored: Vec::new(),
    };
    match words {
        ["add", title, rest @ ..] => {
            proposed.title = (*title).to_owned();
            proposed.depends_on = rest.iter().skip(1).map(|id| (*id).to_owned()).collect();
            proposed.stored = vec![BlobId::new(format!("text-{title}"))];
        }
        ["split", task, parts @ ..] => {
            let part = |title: &&str| ProposedPart { title: (*title).to_owned(), text: String::new() };
            (proposed.action, proposed.task) = (ProposedAction::Split, (*task).to_owned());
            proposed.parts = parts.iter().map(part).collect();
            proposed.stored = parts.iter().map(|title| BlobId::new(format!("text-{title}"))).collect();
        }
        ["drop", task] => (proposed.action, proposed.task) = (ProposedAction::Drop, (*task).to_owned()),
        ["edit", task] => (proposed.action, proposed.task) = (ProposedAction::Edit, (*task).to_owned()),
        other => panic!("a proposal is not understood: {other:?}"),
    }
    proposed
}

fn end(words: &[&str], now: Timestamp) -> AttemptEnd {
    let later = |span_of: &&str| now.plus(Millis(span(span_of)));
    match words {
        ["crash"] => AttemptEnd::Crashed { what: "exit code 1".to_owned() },
        ["protocol", what] => AttemptEnd::Protocol { what: (*what).to_owned() },
        ["refused", what] => AttemptEnd::Refused { what: (*what).to_owned() },
        ["stall"] => AttemptEnd::Stalled,
        ["timeout"] => AttemptEnd::TimedOut,
        ["killed"] => AttemptEnd::Killed,
        ["overloaded"] => AttemptEnd::Overloaded,
        ["network"] => AttemptEnd::Network,
        ["rate-limit"] => AttemptEnd::RateLimited { retry_at: None },
        ["rate-limit", "past"] => AttemptEnd::RateLimited { retry_at: Some(Timestamp(0)) },
        ["rate-limit", later_by] => AttemptEnd::RateLimited { retry_at: Some(later(later_by)) },
        ["usage-limit", "past"] => AttemptEnd::UsageLimit { reset_at: Timestamp(0) },
        ["usage-limit", later_by] => AttemptEnd::UsageLimit { reset_at: later(later_by) },
        ["auth", what] => AttemptEnd::Auth { what: (*what).to_owned() },
        ["no-model", what] => AttemptEnd::ModelNotFound { what: (*what).to_owned() },
        ["overflow"] => AttemptEnd::ContextOverflow,
        ["budget"] => AttemptEnd::Budget,
        ["interrupted"] => AttemptEnd::Interrupted,
        ["lost"] => AttemptEnd::Lost,
        other => panic!("an agent cannot end as {other:?}"),
    }
}

/// `tree T1 protected test.sh whitespace`: what the workspace held.
pub fn tree(name: &str, mut rest: &[&str]) -> Input {
    let mut taken = Snapshotted::of(CommitId::new(format!("c-{name}")), TreeId::new(name));
    loop {
        rest = match rest {
            [] => return Input::Snapshotted(Box::new(taken)),
            ["protected", path, rest @ ..] => {
                taken.gate_tree = TreeId::new(format!("{name}-restored"));
                taken.evidence.push(Evidence::new(Rule::ProtectedChanged, *path));
                rest
            }
            ["adds-tests", path, rest @ ..] => {
                taken.trusted_tree = Some(TreeId::new(format!("{name}-trusted")));
                taken.with_tests = Some(TreeId::new(format!("{name}-tests")));
                taken.added_tests.count += 1;
                taken.added_tests.paths.push((*path).to_owned());
                rest
            }
            ["terms", path, rest @ ..] => {
                taken.trusted_tree = Some(TreeId::new(format!("{name}-trusted")));
                taken.changed_terms.count += 1;
                taken.changed_terms.paths.push((*path).to_owned());
                rest
            }
            ["no-tests-before", rest @ ..] => {
                taken.has_tests = false;
                rest
            }
            ["restores", to, rest @ ..] => {
                taken.gate_tree = TreeId::new(*to);
                rest
            }
            ["over-scope", detail, rest @ ..] => {
                let detail = (*detail).to_owned();
                taken.evidence.push(Evidence { detail, ..Evidence::new(Rule::ScopeExceeded, "") });
                rest
            }
            ["unmeasured", detail, rest @ ..] => {
                let detail = (*detail).to_owned();
                taken.evidence.push(Evidence { detail, ..Evidence::new(Rule::ScopeNotMeasured, "") });
                rest
            }
            ["symlink", path, rest @ ..] => {
                taken.evidence.push(Evidence::new(Rule::EscapingSymlink, *path));
                rest
            }
            ["lockfile", path, rest @ ..] => {
                taken.evidence.push(Evidence::new(Rule::LockfileChanged, *path));
                rest
            }
            [words @ ("added" | "edited" | "deleted"), diff, rest @ ..] => {
                let last = taken.evidence.last_mut().expect("something was measured");
                last.touch = Some(match *words {
                    "added" => Touch::Added,
                    "edited" => Touch::Edited,
                    _ => Touch::Deleted,
                });
                last.diff = (*diff).to_owned();
                rest
            }
            ["whitespace", rest @ ..] => {
                taken.whitespace_only = true;
                rest
            }
            other => panic!("a tree has no {other:?}"),
        };
    }
}

/// `stop end`: this stop check holds and no other does; `stop` for none of them.
pub fn stop(held: &[&str], state: &State) -> Input {
    let result = |check: &StopCheck| {
        let holds = held.contains(&check.name.as_str());
        let why = if holds { "exit code 0" } else { "exit code 1" };
        StopResult { check: check.name.clone(), holds, why: why.to_owned(), output: None }
    };
    Input::StopChecked(state.policy().stop.checks.iter().map(result).collect())
}

/// `gate red test`: every other check that was asked for is green. What is
/// said after `with` is measured on each green one: `tests 5 was 6 gone b`,
/// `skipped b`, `no-report`, `control passes`. `flaky test`: red, then green.
///
/// Where trusted terms are judged too, they are as green or red; after
/// `trusted`, what will land is green and the words are about those terms.
///
/// Of a fix: `gate green without red test`, with its tests alone; the base
/// itself is green, or what is said after `base`. What is said after `counting`
/// is measured on red ones too.
pub fn gate(words: &[&str], checks: &[String], trials: &Trials) -> Input {
    let (words, regression) = match words.iter().position(|word| *word == "without") {
        Some(at) => (&words[..at], regression(&words[at + 1..], checks)),
        None => (words, RegressionReport::default()),
    };
    let (landing, on_trusted) = match words {
        ["trusted", words @ ..] => (results(&["green"], checks), results(words, checks)),
        words => (results(words, checks), results(words, checks)),
    };
    let asked = trials.trusted.is_some() && landing.iter().all(CheckResult::exited_well);
    let trusted = if asked { on_trusted } else { Vec::new() };
    Input::GateReported(GateReport { landing, trusted, regression })
}

fn regression(words: &[&str], checks: &[String]) -> RegressionReport {
    let (with_tests, base) = match words.iter().position(|word| *word == "base") {
        Some(at) => (&words[..at], &words[at + 1..]),
        None => (words, &["green"][..]),
    };
    RegressionReport { with_tests: results(with_tests, checks), base: results(base, checks) }
}

fn results(words: &[&str], checks: &[String]) -> Vec<CheckResult> {
    let measures = |word: &&str| matches!(*word, "with" | "counting");
    let (words, with) = match words.iter().position(measures) {
        Some(at) => (&words[..at], &words[at..]),
        None => (words, &[][..]),
    };
    let result = |check: &String| {
        let ended = match words {
            ["green"] | ["only", ..] | ["flaky", ..] | ["times", ..] => Some(0),
            ["red", red @ ..] => Some(i32::from(red.contains(&check.as_str()))),
            ["exit", code, red] => Some(if red == check { code.parse().expect("a code") } else { 0 }),
            ["timeout", red] if red == check => None,
            ["timeout", _] => Some(0),
            other => panic!("a gate cannot report {other:?}"),
        };
        let result = CheckResult {
            check: check.clone(),
            exit_code: ended,
            signal: None,
            timed_out: ended.is_none(),
            duration_ms: Millis(10),
            output: BlobId::new("output"),
            excerpt: if ended == Some(0) { String::new() } else { format!("{check} says why") },
            without_hidden: None,
            tell_numbers: TellNumbers::All,
            strays: 0,
            again: false,
            tally: None,
            writes: None,
            control: None,
            broken_tests: Some(BrokenTests::default()),
            caught: None,
        };
        match with {
            ["with", with @ ..] if ended == Some(0) => measured(result, with),
            ["counting", with @ ..] => measured(result, with),
            _ => result,
        }
    };
    let reported = |check: &&String| match words {
        ["empty"] => false,
        ["only", names @ ..] => names.contains(&check.as_str()),
        _ => true,
    };
    let runs = |result: CheckResult| match words {
        ["flaky", name] if *name == result.check => {
            let first = CheckResult { exit_code: Some(1), ..result.clone() };
            vec![first, CheckResult { again: true, ..result }]
        }
        // `gate times test 3`: green so often. `gate times test 2 red`: and then red.
        ["times", name, times, red @ ..] if *name == result.check => {
            let mut runs = vec![result.clone(); times.parse().expect("a number")];
            runs.extend(red.iter().map(|_| CheckResult { exit_code: Some(1), ..result.clone() }));
            runs
        }
        _ => vec![result],
    };
    checks.iter().filter(reported).map(result).flat_map(runs).collect()
}

fn measured(mut result: CheckResult, mut with: &[&str]) -> CheckResult {
    let number = |word: &str| word.parse().expect("a number");
    loop {
        with = match with {
            [] => return result,
            ["no-report", rest @ ..] => {
                result.tally = Some(Tally::Unreadable { why: "it wrote no file out.xml".to_owned() });
                rest
            }
            ["tests", tests, rest @ ..] => {
                result.tally = Some(Tally::Counted(counts(number(tests))));
                rest
            }
            [what @ ("gone" | "skipped" | "failed"), name, rest @ ..] => {
                let Some(Tally::Counted(counts)) = &mut result.tally else { panic!("no tests are counted") };
                let (none, names) = (Names::default(), Names::of([*name]));
                let (vanished, newly_skipped) =
                    if *what == "gone" { (names.clone(), none) } else { (none, names.clone()) };
                if *what == "failed" {
                    (counts.failures, counts.failed) = (1, names);
                } else {
                    let (with, tests) = (Earlier::Baseline, counts.tests);
                    counts.compared = Some(Comparison { with, tests, vanished, newly_skipped });
                }
                rest
            }
            ["caught", name, rest @ ..] => {
                result.caught = Some(Names::of([*name]));
                rest
            }
            ["no-control", rest @ ..] => {
                result.broken_tests = None;
                rest
            }
            // `stays-green a`: though it was broken.
            ["stays-green", name, rest @ ..] => {
                let green = Names::of([*name]);
                let statement = Breakings { broken: 3, red: 2, green, ..Breakings::default() };
                let excerpt = "3 passed".to_owned();
                result.broken_tests = Some(BrokenTests { statement, excerpt, ..BrokenTests::default() });
                rest
            }
            ["control", exit, rest @ ..] => {
                result.control = Some(control(exit));
                rest
            }
            other => panic!("a check is not measured by {other:?}"),
        };
    }
}

fn counts(tests: u32) -> Counts {
    Counts {
        tests,
        failures: 0,
        errors: 0,
        skipped: 0,
        failed: Names::default(),
        names: BlobId::new(format!("names-{tests}")),
        compared: None,
    }
}

fn control(exit: &str) -> Control {
    let exit_code = exit.parse().ok();
    Control {
        exit_code,
        signal: (exit == "signal").then_some(9),
        timed_out: exit == "timeout",
        duration_ms: Millis(10),
        output: BlobId::new("output"),
        excerpt: "the control says this".to_owned(),
    }
}

/// `review reject bug a.rs "off by one" pending "add a test"`.
pub fn review(words: &[&str]) -> Input {
    let mut told = finished(AttemptEnd::Normal);
    told.report = match words {
        ["accept", rest @ ..] => Report::Review(Ok(verdict(Verdict::Accept, rest))),
        ["reject", rest @ ..] => Report::Review(Ok(verdict(Verdict::Reject, rest))),
        ["changed-tree"] => {
            told.tree_changed = true;
            told.left = vec![Evidence {
                touch: Some(Touch::Edited),
                ..Evidence::new(Rule::ReviewerChangedTree, "a.rs")
            }];
            Report::Review(Ok(verdict(Verdict::Accept, &[])))
        }
        ["says-nothing"] => Report::None,
        ["claims", "complete"] => Report::Author(Claim { status: ClaimStatus::Complete, ..Claim::default() }),
        [why] => Report::Review(Err(no_verdict(why))),
        other => panic!("a review is not {other:?}"),
    };
    Input::AgentFinished(Box::new(told))
}

fn no_verdict(why: &str) -> NoVerdict {
    match why {
        "none" => NoVerdict::NoReport,
        "wrong-nonce" => NoVerdict::WrongNonce,
        "unreadable" => NoVerdict::Unreadable { what: "line 1: not JSON".to_owned() },
        "two" => NoVerdict::TwoVerdicts,
        why => panic!("a review cannot fail as {why}"),
    }
}

fn verdict(verdict: Verdict, mut rest: &[&str]) -> Review {
    let summary = match verdict {
        Verdict::Accept => "it holds",
        Verdict::Reject => "not yet",
    };
    let mut review = Review {
        verdict,
        summary: summary.to_owned(),
        criteria: Vec::new(),
        findings: Vec::new(),
        resolved: Vec::new(),
        pending: Vec::new(),
        blocker: String::new(),
    };
    while let [key, value, after @ ..] = rest {
        rest = after;
        match *key {
            "bug" | "warning" => {
                let severity = if *key == "bug" { Severity::Bug } else { Severity::Warning };
                let (description, after) = rest.split_first().expect("a finding is described");
                review.findings.push(finding(severity, value, description));
                rest = after;
            }
            "resolved" => review.resolved.push(FindingId::new(*value)),
            "pending" => review.pending.push((*value).to_owned()),
            "blocker" => review.blocker = (*value).to_owned(),
            "met" => review.criteria.push(criterion(value, Met::Yes)),
            "unmet" => review.criteria.push(criterion(value, Met::No)),
            "unsure" => review.criteria.push(criterion(value, Met::Unknown)),
            key => panic!("a review has no {key}"),
        }
    }
    review
}

fn criterion(text: &str, met: Met) -> Criterion {
    Criterion { text: text.to_owned(), met, place: String::new() }
}

fn finding(severity: Severity, file: &str, description: &str) -> ReportedFinding {
    let (file, description) = (file.to_owned(), description.to_owned());
    ReportedFinding { file, line: 7, severity, description, scenario: String::new() }
}

pub fn command(words: &[&str]) -> Command {
    let task = |id: &str| TaskId::new(id);
    match words {
        ["pause"] => Command::Pause,
        ["resume"] => Command::Resume,
        ["cancel"] => Command::Cancel,
        ["restart"] => Command::Restart,
        ["unblock", id] => Command::Unblock { task: task(id) },
        ["waive", id, why] => Command::WaiveTask { task: task(id), why: (*why).to_owned() },
        ["waive-finding", id, why] => {
            Command::WaiveFinding { finding: FindingId::new(*id), why: (*why).to_owned() }
        }
        ["steer", text] => Command::Steer { text: (*text).to_owned() },
        ["approve", tree] => Command::Approve { tree: TreeId::new(*tree) },
        ["reject", why] => Command::Reject { why: (*why).to_owned() },
        ["note", text] => Command::Note { text: (*text).to_owned() },
        other => panic!("an operator cannot ask {other:?}"),
    }
}

pub fn fault(name: &str, detail: &str) -> Input {
    let reason = Reason::ALL.iter().find(|reason| reason.name() == name);
    let reason = *reason.unwrap_or_else(|| panic!("there is no reason {name}"));
    Input::EffectFailed(Fault { reason, detail: detail.to_owned() })
}

fn finished(end: AttemptEnd) -> AgentFinished {
    let mut told = AgentFinished::ended(end);
    told.result.duration_ms = Millis(1000);
    told
}
