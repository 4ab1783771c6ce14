//! What a loop may still use: every key of `[loop]` and `[budget]`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::limit::{LIMITS, LimitRow, LimitScope};
use crate::policy::Budget;
use crate::state::State;

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
    let at_work = state.current_task().and_then(|id| state.task(id));
    let counted = |row: &LimitRow| {
        let used = row.count(state, at_work).unwrap_or(0);
        let max = row.bound(&state.policy().limits);
        let of = budget(&format!("loop.{}", row.key), LimitUnit::Count, used.into(), max.into());
        LimitView { scope: row.scope(), ..of }
    };
    let Budget { wall, cost_micro_usd, tokens } = state.policy().budget;
    let used = &state.ledger.total;
    let budgets = [
        budget("budget.wall", LimitUnit::Milliseconds, state.worked.0, wall.0),
        budget("budget.cost_usd", LimitUnit::MicroUsd, used.cost_micro_usd.unwrap_or(0), cost_micro_usd),
        budget("budget.tokens", LimitUnit::Tokens, used.tokens(), tokens),
    ];
    LIMITS.iter().map(counted).chain(budgets).collect()
}

/// 0 is off.
fn budget(key: &str, unit: LimitUnit, used: u64, max: u64) -> LimitView {
    let max = (max != 0).then_some(max);
    let left = max.map(|max| max.saturating_sub(used));
    LimitView { key: key.to_owned(), scope: LimitScope::Loop, unit, used, max, left }
}
