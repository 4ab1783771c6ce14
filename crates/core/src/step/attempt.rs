//! An attempt ended. How it ended decides whether it is judged, tried again,
//! waited for, or counted.

use super::{Draft, execute, last, limit, propose, review, run};
use crate::event::{AttemptEvent, AttemptFinished, IterationResult, PauseEvent, Phase};
use crate::id::AttemptId;
use crate::input::{AgentFinished, AttemptEnd, AttemptResult, Report};
use crate::limit::Limit;
use crate::outcome::{Fault, OutcomeKind, Reason};
use crate::policy::Role;
use crate::time::{Millis, Timestamp};
use crate::usage::{self, ModelUsage};

const FIRST_BACKOFF: Millis = Millis::seconds(5);
const LONGEST_BACKOFF: Millis = Millis::minutes(10);
/// After a usage limit was lifted.
const LONGEST_JITTER: Millis = Millis::seconds(30);

pub(super) fn finished(draft: &mut Draft, attempt: AttemptId, role: Role, told: &AgentFinished) {
    record(draft, attempt, role, told);
    match role {
        // No loop calls a planner; what one left would be recorded as an author's.
        Role::Author | Role::Planner => execute::record_tree(draft),
        Role::Finisher => last::finisher_finished(draft, told),
        Role::Reviewer if draft.state.cancelling => run::end_cancelled(draft),
        Role::Reviewer if execute::waived(&draft.state) => run::give_up(draft),
        Role::Reviewer if told.result.end == AttemptEnd::Normal => review::finished(draft, attempt, told),
        Role::Reviewer => go_on(draft, &told.result.end),
    }
}

/// windlass itself failed at an attempt. Its agent may have run, so what it
/// left is recorded before anything else.
pub(super) fn faulted(draft: &mut Draft, attempt: AttemptId, role: Role, fault: &Fault) {
    finished(draft, attempt, role, &AgentFinished::ended(AttemptEnd::Faulted(fault.clone())));
    if fault.pauses() && !draft.state.cancelling && draft.state.outcome().is_none() {
        draft.pause(fault.reason, fault.detail.clone());
    }
}

/// An attempt that is on record and never ran still ends on record.
pub(super) fn never_started(draft: &mut Draft, attempt: AttemptId, role: Role) {
    record(draft, attempt, role, &AgentFinished::ended(AttemptEnd::Lost));
}

fn record(draft: &mut Draft, attempt: AttemptId, role: Role, told: &AgentFinished) {
    let mut claim = match &told.report {
        Report::Author(claim) => Some(claim.clone()),
        Report::None | Report::Review(_) => None,
    };
    let proposed = claim.as_mut().map(|claim| std::mem::take(&mut claim.amendments)).unwrap_or_default();
    let is_heard = role == Role::Author && told.result.end == AttemptEnd::Normal;
    let policy = draft.state.policy();
    let priced =
        |part: &ModelUsage| ModelUsage { usage: policy.priced(&part.model, &part.usage), ..part.clone() };
    let models: Vec<ModelUsage> = told.result.models.iter().map(priced).collect();
    let usage = usage::sum(&models).or(told.result.usage);
    let result = AttemptResult { usage, models, ..told.result.clone() };
    draft.emit(AttemptEvent::Finished(Box::new(AttemptFinished { attempt, role, claim, result })));
    if is_heard {
        propose::recorded(draft, attempt, &proposed);
    }
}

/// After an attempt that did not end by itself.
pub(super) fn go_on(draft: &mut Draft, end: &AttemptEnd) {
    match end {
        AttemptEnd::Normal | AttemptEnd::Interrupted | AttemptEnd::Lost => again(draft),
        AttemptEnd::Crashed { .. } | AttemptEnd::Protocol { .. } | AttemptEnd::Refused { .. } => {
            failed(draft)
        }
        AttemptEnd::ContextOverflow => overflowed(draft),
        AttemptEnd::TimedOut | AttemptEnd::Stalled => stalled(draft),
        AttemptEnd::Killed if draft.state.run.killed > 1 => failed(draft),
        AttemptEnd::RateLimited { retry_at } => transient(draft, *retry_at),
        AttemptEnd::Overloaded | AttemptEnd::Network | AttemptEnd::Killed => transient(draft, None),
        AttemptEnd::UsageLimit { reset_at } if *reset_at <= draft.at => transient(draft, None),
        AttemptEnd::UsageLimit { reset_at } => {
            let until = reset_at.plus(jitter(LONGEST_JITTER, draft.fresh.as_str()));
            draft.emit(PauseEvent::WaitStarted { until, why: Reason::UsageLimit });
            again(draft);
        }
        AttemptEnd::Auth { what } => unusable(draft, Reason::Auth, what),
        AttemptEnd::ModelNotFound { what } => unusable(draft, Reason::ModelNotFound, what),
        AttemptEnd::Faulted(fault) if fault.pauses() => again(draft),
        AttemptEnd::Faulted(fault) => {
            run::close_iteration(draft, IterationResult::Ended);
            draft.end(OutcomeKind::Failed, fault.reason, fault.detail.clone());
        }
        AttemptEnd::Budget => {
            run::close_iteration(draft, IterationResult::Ended);
            let spent = limit::budget_spent(&draft.state);
            let (reason, detail) = spent.unwrap_or((Reason::Wall, String::new()));
            draft.end(OutcomeKind::Limit, reason, detail);
        }
    }
}

/// The same phase of the same iteration, from the tree recorded last; Finish
/// begins from what is proven.
pub(super) fn again(draft: &mut Draft) {
    let tree = match draft.state.phase {
        Some(Phase::Review | Phase::FinalReview) => draft.state.tree_under_review().cloned(),
        Some(Phase::Finish) => None,
        Some(_) | None => draft.state.current_work().tree.clone(),
    };
    let tree = tree.unwrap_or_else(|| draft.state.head.tree.clone());
    draft.perform(crate::effect::Effect::PrepareWorkspace { tree });
}

fn failed(draft: &mut Draft) {
    if let Some(reached) = limit::count(draft, Limit::AgentFailures) {
        return limit::enforce(draft, reached);
    }
    match draft.state.phase {
        Some(Phase::Review | Phase::FinalReview) => again(draft),
        Some(_) | None => {
            run::close_iteration(draft, IterationResult::AgentFailed);
            run::choose(draft);
        }
    }
}

fn stalled(draft: &mut Draft) {
    match limit::count(draft, Limit::Stalls) {
        Some(reached) => limit::enforce(draft, reached),
        None => again(draft),
    }
}

/// Once more with a smaller brief; the second time it is a failure.
fn overflowed(draft: &mut Draft) {
    if draft.state.short_brief {
        return failed(draft);
    }
    draft.emit(AttemptEvent::BriefShortened);
    again(draft);
}

fn transient(draft: &mut Draft, retry_at: Option<Timestamp>) {
    if let Some(reached) = limit::count(draft, Limit::Transient) {
        limit::enforce(draft, reached);
    } else {
        let told = retry_at.filter(|until| *until > draft.at);
        let backoff = backoff(draft.state.run.transient, draft.fresh.as_str());
        let until = told.unwrap_or_else(|| draft.at.plus(backoff));
        draft.emit(PauseEvent::WaitStarted { until, why: Reason::Backoff });
    }
    again(draft);
}

/// The role's next agent takes over; without one, only the operator can help.
fn unusable(draft: &mut Draft, reason: Reason, what: &str) {
    let role = draft.state.attempt.as_ref().map(|attempt| attempt.role);
    let next = role.and_then(|role| Some((role, draft.state.next_fallback(role)?.to_owned())));
    match next {
        Some((role, by)) => draft.emit(AttemptEvent::AgentReplaced { role, by, why: what.to_owned() }),
        None => draft.pause(reason, what.to_owned()),
    }
    again(draft);
}

/// Doubles with every failure in a row, and up to a quarter more.
fn backoff(count: u32, fresh: &str) -> Millis {
    let doubled = FIRST_BACKOFF.0.saturating_mul(1 << count.saturating_sub(1).min(16));
    let span = doubled.min(LONGEST_BACKOFF.0);
    Millis(span + jitter(Millis(span / 4), fresh).0)
}

/// Drawn from the input's random text: many loops must not try at one moment.
fn jitter(longest: Millis, fresh: &str) -> Millis {
    let draw = fresh.bytes().fold(0u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte)));
    Millis(draw % longest.0.max(1))
}
