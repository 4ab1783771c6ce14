//! What attempts cost. A ledger of facts: unknown is not zero.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::policy::{Policy, Role};

/// Five token buckets that share no token, and the cost; of one attempt, or a
/// sum of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub reasoning_tokens: u64,
    pub cache_read_tokens: u64,
    pub cache_write_tokens: u64,
    /// Millionths of a dollar, so that sums are exact. None when nobody said:
    /// in a sum, when nobody said of any part.
    #[serde(default)]
    pub cost_micro_usd: Option<u64>,
}

impl Usage {
    pub fn add(&mut self, other: &Self) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.reasoning_tokens = self.reasoning_tokens.saturating_add(other.reasoning_tokens);
        self.cache_read_tokens = self.cache_read_tokens.saturating_add(other.cache_read_tokens);
        self.cache_write_tokens = self.cache_write_tokens.saturating_add(other.cache_write_tokens);
        self.cost_micro_usd = match (self.cost_micro_usd, other.cost_micro_usd) {
            (Some(one), Some(two)) => Some(one.saturating_add(two)),
            (one, two) => one.or(two),
        };
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

    /// As far as it is known.
    pub fn cost_usd(&self) -> f64 {
        self.cost_micro_usd.unwrap_or(0) as f64 / 1e6
    }
}

/// What one model used in one attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelUsage {
    /// As the agent's program names it; empty when it does not.
    pub model: String,
    pub usage: Usage,
    /// Answers of the model, where they can be counted.
    #[serde(default)]
    pub messages: u64,
}

/// A conversation that an attempt left and a later one may go on with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Session {
    pub id: String,
    /// What all of its turns used: some programs tell only that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub total: Vec<ModelUsage>,
}

/// The sum over models. Its cost is known only where every part's is: half a
/// bill is not a bill.
pub fn sum(models: &[ModelUsage]) -> Option<Usage> {
    let mut total = Usage::default();
    models.iter().for_each(|part| total.add(&part.usage));
    if models.iter().any(|part| part.usage.cost_micro_usd.is_none()) {
        total.cost_micro_usd = None;
    }
    (!models.is_empty()).then_some(total)
}

/// Section `[price."<model>"]`: millionths of a dollar for a million tokens,
/// which is the number of dollars times a million.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Price {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
}

impl Price {
    /// Reasoning is charged as output.
    pub fn of(&self, usage: &Usage) -> u64 {
        let parts = [
            (usage.input_tokens, self.input),
            (usage.output_tokens, self.output),
            (usage.reasoning_tokens, self.output),
            (usage.cache_read_tokens, self.cache_read),
            (usage.cache_write_tokens, self.cache_write),
        ];
        let part = |(tokens, price): (u64, u64)| u128::from(tokens) * u128::from(price);
        let sum = parts.into_iter().map(part).fold(0, u128::saturating_add);
        u64::try_from(sum.saturating_add(500_000) / 1_000_000).unwrap_or(u64::MAX)
    }
}

/// What several attempts used, and how many of them it knows nothing of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UsageSum {
    #[serde(flatten)]
    pub used: Usage,
    pub attempts: u64,
    /// Attempts that did not say what they used: not zero, unknown.
    pub attempts_unknown: u64,
    /// Attempts that said what they used, but not what it cost.
    pub costs_unknown: u64,
}

impl UsageSum {
    pub fn add(&mut self, used: Option<&Usage>) {
        self.attempts += 1;
        match used {
            Some(used) => {
                self.used.add(used);
                self.costs_unknown += u64::from(used.cost_micro_usd.is_none());
            }
            None => self.attempts_unknown += 1,
        }
    }

    /// Adds another sum.
    pub fn merge(&mut self, other: &Self) {
        self.used.add(&other.used);
        self.attempts += other.attempts;
        self.attempts_unknown += other.attempts_unknown;
        self.costs_unknown += other.costs_unknown;
    }
}

/// How many models are told apart. Their names are the agents' own words.
pub const MODELS: usize = 32;

pub const NOT_NAMED: &str = "not named";
const OTHER_MODELS: &str = "other models";

impl Policy {
    /// What a model used, with its cost where its agent did not say and the policy does.
    pub fn priced(&self, model: &str, used: &Usage) -> Usage {
        let price = || self.prices.get(model).map(|price| price.of(used));
        Usage { cost_micro_usd: used.cost_micro_usd.or_else(price), ..*used }
    }
}

/// The sum of what was reported, and how many attempts reported nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ledger {
    pub total: Usage,
    pub attempts: u64,
    pub attempts_unknown: u64,
    /// Attempts that said what they used, but not what it cost.
    #[serde(default)]
    pub costs_unknown: u64,
    pub by_role: BTreeMap<Role, UsageSum>,
    /// An attempt counts for each model it used.
    pub by_model: BTreeMap<String, UsageSum>,
}

impl Ledger {
    pub fn record(&mut self, role: Role, usage: Option<&Usage>, models: &[ModelUsage]) {
        let mut total = self.sum();
        total.add(usage);
        let UsageSum { used, attempts, attempts_unknown, costs_unknown } = total;
        (self.total, self.attempts) = (used, attempts);
        (self.attempts_unknown, self.costs_unknown) = (attempts_unknown, costs_unknown);
        self.by_role.entry(role).or_default().add(usage);
        for part in models {
            self.model(&part.model).add(Some(&part.usage));
        }
        if models.is_empty() {
            self.model("").add(usage);
        }
    }

    pub fn sum(&self) -> UsageSum {
        UsageSum {
            used: self.total,
            attempts: self.attempts,
            attempts_unknown: self.attempts_unknown,
            costs_unknown: self.costs_unknown,
        }
    }

    fn model(&mut self, name: &str) -> &mut UsageSum {
        let name = if name.is_empty() { NOT_NAMED } else { name };
        let has_room = self.by_model.len() < MODELS || self.by_model.contains_key(name);
        self.by_model.entry(if has_room { name } else { OTHER_MODELS }.to_owned()).or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_bill_is_not_a_bill() {
        let part = |cost| {
            let usage = Usage { input_tokens: 3, cost_micro_usd: cost, ..Usage::default() };
            ModelUsage { usage, ..ModelUsage::default() }
        };
        assert_eq!(sum(&[]), None);
        assert_eq!(sum(&[part(Some(2)), part(Some(5))]).unwrap().cost_micro_usd, Some(7));
        let unpriced = sum(&[part(Some(2)), part(None)]).unwrap();
        assert_eq!((unpriced.cost_micro_usd, unpriced.input_tokens), (None, 6));
    }

    #[test]
    fn no_sum_passes_its_end() {
        let most = u64::MAX;
        let used = Usage {
            input_tokens: most,
            output_tokens: most,
            reasoning_tokens: most,
            cache_read_tokens: most,
            cache_write_tokens: most,
            cost_micro_usd: Some(most),
        };
        let price = Price { input: most, output: most, cache_read: most, cache_write: most };
        assert_eq!((price.of(&used), used.tokens()), (most, most));
        let mut ledger = Ledger::default();
        ledger.record(Role::Author, Some(&used), &[]);
        ledger.record(Role::Author, Some(&used), &[]);
        assert_eq!((ledger.total, ledger.attempts), (used, 2));
    }

    #[test]
    fn only_so_many_models_are_told_apart() {
        let mut ledger = Ledger::default();
        let used = Usage { input_tokens: 1, ..Usage::default() };
        for number in 0..MODELS + 10 {
            let model = ModelUsage { model: format!("m{number}"), usage: used, messages: 1 };
            ledger.record(Role::Author, Some(&used), &[model]);
        }
        assert_eq!(ledger.by_model.len(), MODELS + 1);
        assert_eq!(ledger.by_model[OTHER_MODELS].used.input_tokens, 10);
        assert_eq!(ledger.total.input_tokens, MODELS as u64 + 10);
    }

    #[test]
    fn a_price_is_for_a_million_tokens() {
        let price =
            Price { input: 3_000_000, output: 15_000_000, cache_read: 300_000, cache_write: 3_750_000 };
        let usage = Usage {
            input_tokens: 2_000,
            output_tokens: 84,
            reasoning_tokens: 16,
            cache_read_tokens: 600,
            cache_write_tokens: 400,
            cost_micro_usd: None,
        };
        assert_eq!(price.of(&usage), 6_000 + 1_500 + 180 + 1_500);
        assert_eq!(Price { input: 1, ..price }.of(&Usage { input_tokens: 499_999, ..Usage::default() }), 0);
        let all = Usage { input_tokens: u64::MAX, ..Usage::default() };
        assert_eq!(Price { input: u64::MAX, ..price }.of(&all), u64::MAX);
    }
}
