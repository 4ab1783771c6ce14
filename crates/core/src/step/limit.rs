//! Limits. 0 is off for every one of them.

use crate::outcome::Reason;
use crate::state::{State, TaskState};

/// Whether a count has reached its limit.
pub(super) fn reached(count: u32, limit: u32) -> bool {
    limit != 0 && count >= limit
}

/// What forbids another iteration: checked before it is opened.
pub(super) fn before_iteration(state: &State) -> Option<(Reason, String)> {
    let limits = &state.policy().limits;
    if reached(state.run.iterations, limits.max_iterations) {
        let detail = format!("{} iterations of {}", state.run.iterations, limits.max_iterations);
        return Some((Reason::MaxIterations, detail));
    }
    budget_spent(state)
}

/// What forbids another attempt: checked before it is launched.
pub(super) fn budget_spent(state: &State) -> Option<(Reason, String)> {
    let budget = &state.policy().budget;
    let total = &state.ledger.total;
    if !budget.wall.is_zero() && state.worked >= budget.wall {
        return Some((Reason::Wall, format!("{} of {} worked", state.worked, budget.wall)));
    }
    if budget.tokens != 0 && total.tokens() >= budget.tokens {
        return Some((Reason::Tokens, format!("{} of {} tokens", total.tokens(), budget.tokens)));
    }
    if budget.cost_micro_usd != 0 && total.cost_micro_usd.unwrap_or(0) >= budget.cost_micro_usd {
        let detail = format!("{:.2} of {:.2} USD", total.cost_usd(), budget.cost_micro_usd as f64 / 1e6);
        return Some((Reason::Cost, detail));
    }
    None
}

/// Consecutive failures, over all tasks, that end the run.
pub(super) fn run_spent(state: &State) -> Option<(Reason, String)> {
    let limits = &state.policy().limits;
    if reached(state.run.review_failures, limits.max_review_failures) {
        return Some((Reason::ReviewFailed, count(state.run.review_failures, "unusable reviews in a row")));
    }
    if reached(state.run.agent_failures, limits.max_agent_failures) {
        return Some((Reason::AgentFailed, count(state.run.agent_failures, "failed attempts in a row")));
    }
    if reached(state.run.gate_failures, limits.max_gate_failures) {
        return Some((Reason::GateFailed, count(state.run.gate_failures, "red gates in a row")));
    }
    None
}

/// The limit of its own that a task has reached.
pub(super) fn task_spent(state: &State, task: &TaskState) -> Option<(Reason, String)> {
    let limits = &state.policy().limits;
    if reached(task.no_progress, limits.max_no_progress) {
        return Some((Reason::NoProgress, count(task.no_progress, "iterations without progress")));
    }
    if reached(task.failures, limits.max_task_failures) {
        return Some((Reason::Failing, count(task.failures, "failed iterations in a row")));
    }
    if reached(task.rejections, limits.max_rejections) {
        return Some((Reason::Rejected, count(task.rejections, "rejected reviews")));
    }
    None
}

fn count(number: u32, what: &str) -> String {
    format!("{number} {what}")
}
