//! What a report says a turn cost.

use serde_json::Value;
use windlass_core::usage::Usage;

/// A dearer turn is a mistake of the reporter, and would end a loop that has a budget.
const MAX_COST_USD: f64 = 1e9;

/// The most that is believed of a count: sums of it are far from any end.
const MAX_COUNT: u64 = 9_000_000_000_000_000;

/// None when nothing is said, or when any of it is impossible: unknown is not zero.
pub fn of(value: Option<&Value>) -> Option<Usage> {
    let said = value?.as_object()?;
    let tokens = |key: &str| said.get(key).filter(|value| !value.is_null()).map_or(Some(0), count);
    let usage = Usage {
        input_tokens: tokens("input_tokens")?,
        output_tokens: tokens("output_tokens")?,
        reasoning_tokens: tokens("reasoning_tokens")?,
        cache_read_tokens: tokens("cache_read_tokens")?,
        cache_write_tokens: tokens("cache_write_tokens")?,
        cost_micro_usd: match said.get("cost_usd").filter(|value| !value.is_null()) {
            Some(value) => Some(cost(value)?),
            None => None,
        },
    };
    KEYS.iter().any(|key| said.get(*key).is_some_and(|value| !value.is_null())).then_some(usage)
}

const KEYS: [&str; 6] = [
    "input_tokens",
    "output_tokens",
    "reasoning_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "cost_usd",
];

/// Some programs write every number with a fraction. No turn has more than a fraction can hold exactly.
pub fn count(value: &Value) -> Option<u64> {
    let whole = |number: &f64| (0.0..=MAX_COUNT as f64).contains(number) && number.fract() == 0.0;
    let said = value.as_u64().or_else(|| value.as_f64().filter(whole).map(|number| number as u64));
    said.filter(|count| *count <= MAX_COUNT)
}

fn cost(value: &Value) -> Option<u64> {
    let usd = value.as_f64().filter(|usd| (0.0..=MAX_COST_USD).contains(usd))?;
    Some((usd * 1e6).round() as u64)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn known_is_exact_and_impossible_is_unknown() {
        let all = json!({
            "input_tokens": 1, "output_tokens": 2.0, "reasoning_tokens": 3, "cache_read_tokens": 4,
            "cache_write_tokens": 5, "cost_usd": 0.0123456, "more": "ignored"
        });
        let usage = Usage {
            input_tokens: 1,
            output_tokens: 2,
            reasoning_tokens: 3,
            cache_read_tokens: 4,
            cache_write_tokens: 5,
            cost_micro_usd: Some(12_346),
        };
        assert_eq!(of(Some(&all)), Some(usage));
        let little = Usage { output_tokens: 7, ..Usage::default() };
        assert_eq!(of(Some(&json!({"output_tokens": 7, "cost_usd": null}))), Some(little));
        for unknown in [
            json!(null),
            json!({}),
            json!([]),
            json!(12),
            json!({"input_tokens": null}),
            json!({"input_tokens": -1}),
            json!({"input_tokens": 1.5}),
            json!({"input_tokens": "12"}),
            json!({"input_tokens": 1, "cost_usd": -0.5}),
            json!({"input_tokens": 1, "cost_usd": 1e12}),
            json!({"input_tokens": 1, "output_tokens": 1e40}),
            json!({"input_tokens": u64::MAX}),
            json!({"input_tokens": 9_000_000_000_000_001_u64}),
        ] {
            assert_eq!(of(Some(&unknown)), None, "{unknown}");
        }
        assert_eq!(of(None), None);
    }
}
