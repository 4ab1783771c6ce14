//! Agents of every kind, as models: what a turn does to the workspace, and how
//! it says it ended.

use windlass_core::event::Phase;
use windlass_core::finding::Severity;
use windlass_core::input::{AgentFinished, AttemptEnd, AttemptResult, Report};
use windlass_core::policy::Role;
use windlass_core::state::State;
use windlass_core::time::{Millis, Timestamp};
use windlass_core::usage::Usage;
use windlass_core::verdict::{Claim, ClaimStatus, NoVerdict, ReportedFinding, Review, Verdict};

use crate::chance::Chance;
use crate::facts::Facts;
use crate::options::Agents;

/// One turn, begun and not yet reported.
pub(crate) struct Turn {
    role: Role,
    kind: Kind,
    pub(crate) took: Millis,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Honest,
    Idle,
    Flips,
    Spaces,
    Sloppy,
    Tampers,
    /// Changes a term so that every check is green.
    Weakens,
    Blocked,
    Crashes,
    Breaks,
    Refuses,
    Stalls,
    TimesOut,
    RateLimited,
    Overloaded,
    Network,
    Killed,
    UsageLimit,
    NotSignedIn,
    NoModel,
    Overflows,
    OutOfBudget,
    Rejects,
    Silent,
    Forges,
    Contradicts,
    ChangesTree,
}

const AUTHORS: &[Kind] = &[
    Kind::Idle,
    Kind::Flips,
    Kind::Spaces,
    Kind::Sloppy,
    Kind::Tampers,
    Kind::Weakens,
    Kind::Blocked,
    Kind::Crashes,
    Kind::Breaks,
    Kind::Refuses,
    Kind::Stalls,
    Kind::TimesOut,
    Kind::RateLimited,
    Kind::Overloaded,
    Kind::Network,
    Kind::Killed,
    Kind::UsageLimit,
    Kind::NotSignedIn,
    Kind::NoModel,
    Kind::Overflows,
    Kind::OutOfBudget,
];

const REVIEWERS: &[Kind] = &[
    Kind::Rejects,
    Kind::Silent,
    Kind::Forges,
    Kind::Contradicts,
    Kind::ChangesTree,
    Kind::Crashes,
    Kind::Stalls,
    Kind::RateLimited,
    Kind::Killed,
    Kind::UsageLimit,
    Kind::NotSignedIn,
    Kind::Overflows,
];

/// What a turn is drawn from.
pub(crate) struct Draw<'a> {
    pub(crate) agents: Agents,
    pub(crate) chance: &'a mut Chance,
}

/// A turn begins, and whatever it does to the workspace is done.
pub(crate) fn begin(facts: &mut Facts, state: &State, role: Role, drawn: Draw<'_>) -> Turn {
    let Draw { agents, chance } = drawn;
    let kind = match agents {
        Agents::Honest => Kind::Honest,
        Agents::Mixed if !chance.one_in(3) => Kind::Honest,
        Agents::Mixed => match role {
            Role::Reviewer => *chance.pick(REVIEWERS),
            Role::Author | Role::Finisher | Role::Planner => *chance.pick(AUTHORS),
        },
    };
    match role {
        Role::Author | Role::Planner => {
            facts.unrecorded = true;
            write(facts, state, kind);
        }
        Role::Finisher => {
            facts.unrecorded = true;
            finish(facts, kind);
        }
        Role::Reviewer if kind == Kind::ChangesTree => facts.workspace.junk += 1,
        Role::Reviewer => {}
    }
    Turn { role, kind, took: Millis::seconds(30 + chance.below(600)) }
}

/// How it ended, as its adapter reports it.
pub(crate) fn report(turn: &Turn, facts: &Facts, state: &State, chance: &mut Chance) -> AgentFinished {
    let end = end(turn.kind, facts.now, chance);
    let known = turn.kind == Kind::Honest || chance.one_in(2);
    let usage = Usage {
        input_tokens: 10 + chance.below(90),
        cost_micro_usd: chance.one_in(2).then_some(1),
        ..Usage::default()
    };
    let report = match turn.role {
        Role::Reviewer => Report::Review(review(turn.kind, facts, state)),
        Role::Author | Role::Finisher | Role::Planner => claim(turn.kind),
    };
    AgentFinished {
        report: if end == AttemptEnd::Normal { report } else { Report::None },
        result: AttemptResult {
            usage: known.then_some(usage),
            message: "done".to_owned(),
            duration_ms: turn.took,
            ..AttemptResult::ended(end)
        },
        tree_changed: turn.role == Role::Reviewer && turn.kind == Kind::ChangesTree,
        left: Vec::new(),
    }
}

fn write(facts: &mut Facts, state: &State, kind: Kind) {
    let task = state.current_task();
    let task = task.map(|id| facts.terms.task_index(id));
    let tree = &mut facts.workspace;
    match kind {
        Kind::Honest => {
            tree.junk = 0;
            tree.weakened = false;
            match task {
                Some(at) => tree.work[at] = (tree.work[at] + 1).min(facts.terms.full(at)),
                None => tree.whole = (tree.whole + 1).min(facts.terms.whole),
            }
        }
        Kind::Flips => tree.notes ^= 1,
        Kind::Spaces => tree.spaces = tree.spaces.wrapping_add(1),
        Kind::Sloppy | Kind::Crashes | Kind::Stalls | Kind::TimesOut => tree.junk = tree.junk.wrapping_add(1),
        Kind::Tampers => {
            tree.tampered = true;
            tree.junk = tree.junk.wrapping_add(2);
        }
        Kind::Weakens => {
            tree.weakened = true;
            tree.notes ^= 2;
        }
        Kind::Idle
        | Kind::Blocked
        | Kind::Breaks
        | Kind::Refuses
        | Kind::RateLimited
        | Kind::Overloaded
        | Kind::Network
        | Kind::Killed
        | Kind::UsageLimit
        | Kind::NotSignedIn
        | Kind::NoModel
        | Kind::Overflows
        | Kind::OutOfBudget
        | Kind::Rejects
        | Kind::Silent
        | Kind::Forges
        | Kind::Contradicts
        | Kind::ChangesTree => {}
    }
}

fn finish(facts: &mut Facts, kind: Kind) {
    if kind == Kind::Honest {
        facts.workspace.notes = facts.terms.notes * 2;
    } else if kind == Kind::Sloppy {
        facts.workspace.junk += 1;
    } else if kind == Kind::Tampers {
        facts.workspace.tampered = true;
    } else if kind == Kind::Weakens {
        facts.workspace.weakened = true;
    }
}

fn end(kind: Kind, now: Timestamp, chance: &mut Chance) -> AttemptEnd {
    let what = || "for a reason".to_owned();
    let later = |chance: &mut Chance| match chance.one_in(4) {
        true => Timestamp(now.0 - 1000),
        false => now.plus(Millis::minutes(chance.below(300))),
    };
    match kind {
        Kind::Crashes => AttemptEnd::Crashed { what: what() },
        Kind::Breaks => AttemptEnd::Protocol { what: what() },
        Kind::Refuses => AttemptEnd::Refused { what: what() },
        Kind::Stalls => AttemptEnd::Stalled,
        Kind::TimesOut => AttemptEnd::TimedOut,
        Kind::RateLimited => AttemptEnd::RateLimited { retry_at: chance.one_in(2).then(|| later(chance)) },
        Kind::Overloaded => AttemptEnd::Overloaded,
        Kind::Network => AttemptEnd::Network,
        Kind::Killed => AttemptEnd::Killed,
        Kind::UsageLimit => AttemptEnd::UsageLimit { reset_at: later(chance) },
        Kind::NotSignedIn => AttemptEnd::Auth { what: what() },
        Kind::NoModel => AttemptEnd::ModelNotFound { what: what() },
        Kind::Overflows => AttemptEnd::ContextOverflow,
        Kind::OutOfBudget => AttemptEnd::Budget,
        Kind::Honest
        | Kind::Idle
        | Kind::Flips
        | Kind::Spaces
        | Kind::Sloppy
        | Kind::Tampers
        | Kind::Weakens
        | Kind::Blocked
        | Kind::Rejects
        | Kind::Silent
        | Kind::Forges
        | Kind::Contradicts
        | Kind::ChangesTree => AttemptEnd::Normal,
    }
}

/// Whatever it did, an author says that it is done.
fn claim(kind: Kind) -> Report {
    let status = if kind == Kind::Blocked { ClaimStatus::Blocked } else { ClaimStatus::Complete };
    Report::Author(Claim { status, ..Claim::default() })
}

/// An honest reviewer accepts what has come as far as it may.
fn review(kind: Kind, facts: &Facts, state: &State) -> Result<Review, NoVerdict> {
    let task = state.current_task();
    let task = task.map(|id| facts.terms.task_index(id));
    let far = task.is_none_or(|at| facts.workspace.work[at] >= facts.terms.full(at));
    let whole = state.phase == Some(Phase::FinalReview);
    if kind == Kind::Silent {
        return Err(NoVerdict::NoReport);
    }
    if kind == Kind::Forges {
        return Err(NoVerdict::WrongNonce);
    }
    if kind == Kind::Contradicts {
        return Ok(Review { blocker: "but".to_owned(), ..verdict(Verdict::Accept) });
    }
    if (far || whole) && kind != Kind::Rejects {
        return Ok(verdict(Verdict::Accept));
    }
    Ok(Review { findings: vec![bug(facts)], ..verdict(Verdict::Reject) })
}

fn verdict(verdict: Verdict) -> Review {
    Review {
        verdict,
        summary: verdict.name().to_owned(),
        criteria: Vec::new(),
        findings: Vec::new(),
        resolved: Vec::new(),
        pending: Vec::new(),
        blocker: String::new(),
    }
}

fn bug(facts: &Facts) -> ReportedFinding {
    ReportedFinding {
        file: "a.rs".to_owned(),
        line: 1,
        severity: Severity::Bug,
        description: format!("not yet at {}", facts.workspace.id()),
        scenario: String::new(),
    }
}
