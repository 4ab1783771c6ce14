//! What attempts cost. A ledger of facts: unknown is not zero.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::policy::Role;

/// Five token buckets and the cost of one attempt, or a sum of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub reasoning_tokens: u64,
    pub cache_read_tokens: u64,
    pub cache_write_tokens: u64,
    /// Millionths of a dollar, so that sums are exact.
    pub cost_micro_usd: u64,
}

impl Usage {
    pub fn add(&mut self, other: &Self) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.reasoning_tokens = self.reasoning_tokens.saturating_add(other.reasoning_tokens);
        self.cache_read_tokens = self.cache_read_tokens.saturating_add(other.cache_read_tokens);
        self.cache_write_tokens = self.cache_write_tokens.saturating_add(other.cache_write_tokens);
        self.cost_micro_usd = self.cost_micro_usd.saturating_add(other.cost_micro_usd);
    }

    /// Every token an account is charged for.
    pub fn tokens(&self) -> u64 {
        [
            self.input_tokens,
            self.output_tokens,
            self.reasoning_tokens,
            self.cache_read_tokens,
            self.cache_write_tokens,
        ]
        .into_iter()
        .fold(0, u64::saturating_add)
    }

    pub fn cost_usd(&self) -> f64 {
        self.cost_micro_usd as f64 / 1e6
    }
}

/// The sum of what was reported, and how many attempts reported nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ledger {
    pub total: Usage,
    pub by_role: BTreeMap<Role, Usage>,
    pub attempts: u64,
    pub attempts_unknown: u64,
}

impl Ledger {
    pub fn record(&mut self, role: Role, usage: Option<&Usage>) {
        self.attempts += 1;
        match usage {
            Some(usage) => {
                self.total.add(usage);
                self.by_role.entry(role).or_default().add(usage);
            }
            None => self.attempts_unknown += 1,
        }
    }
}
