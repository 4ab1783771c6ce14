//! What a loop may still use: every key of `[loop]` and `[budget]`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::policy::{Budget, LoopLimits};
use crate::state::{State, TaskState};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LimitView {
    /// As windlass.toml has it, such as `loop.max_iterations`.
    pub key: String,
    pub scope: LimitScope,
    pub unit: LimitUnit,
    pub used: u64,
    /// None when the limit is off.
    pub max: Option<u64>,
    /// None when the limit is off.
    pub left: Option<u64>,
}

/// What a limit counts over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LimitScope {
    /// The task at work; nothing is used while there is none.
    Task,
    /// The open run.
    Run,
    /// The whole life of the loop.
    Loop,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LimitUnit {
    Count,
    Milliseconds,
    Tokens,
    /// Millionths of a dollar. Attempts that do not say what they cost are not in it.
    MicroUsd,
}

pub(super) fn limits(state: &State) -> Vec<LimitView> {
    let LoopLimits {
        max_iterations,
        max_task_failures,
        max_gate_failures,
        max_no_progress,
        max_rejections,
        max_review_failures,
        max_agent_failures,
        max_stalls,
        max_transient,
        max_final_fixes,
    } = state.policy().limits;
    let Budget { wall, cost_micro_usd, tokens } = state.policy().budget;
    let at_work = state.current.as_ref().and_then(|current| state.task(current.task.as_ref()?));
    let of_task = |count: fn(&TaskState) -> u32| at_work.map_or(0, count);
    let (run, used) = (&state.run, &state.ledger.total);
    let task = |key, used, max| counted(key, LimitScope::Task, used, max);
    let in_run = |key, used, max| counted(key, LimitScope::Run, used, max);
    vec![
        in_run("loop.max_iterations", run.iterations, max_iterations),
        task("loop.max_task_failures", of_task(|task| task.failures), max_task_failures),
        in_run("loop.max_gate_failures", run.gate_failures, max_gate_failures),
        task("loop.max_no_progress", of_task(|task| task.no_progress), max_no_progress),
        task("loop.max_rejections", of_task(|task| task.rejections), max_rejections),
        in_run("loop.max_review_failures", run.review_failures, max_review_failures),
        in_run("loop.max_agent_failures", run.agent_failures, max_agent_failures),
        in_run("loop.max_stalls", run.stalls, max_stalls),
        in_run("loop.max_transient", run.transient, max_transient),
        in_run("loop.max_final_fixes", run.final_fixes, max_final_fixes),
        budget("budget.wall", LimitUnit::Milliseconds, state.worked.0, wall.0),
        budget("budget.cost_usd", LimitUnit::MicroUsd, used.cost_micro_usd.unwrap_or(0), cost_micro_usd),
        budget("budget.tokens", LimitUnit::Tokens, used.tokens(), tokens),
    ]
}

fn counted(key: &str, scope: LimitScope, used: u32, max: u32) -> LimitView {
    LimitView { scope, ..budget(key, LimitUnit::Count, used.into(), max.into()) }
}

/// 0 is off.
fn budget(key: &str, unit: LimitUnit, used: u64, max: u64) -> LimitView {
    let max = (max != 0).then_some(max);
    let left = max.map(|max| max.saturating_sub(used));
    LimitView { key: key.to_owned(), scope: LimitScope::Loop, unit, used, max, left }
}
