//! The tokens of a turn, in the three shapes that agents tell them in beside the answer to a prompt.

use serde_json::Value;
use windlass_core::usage::{ModelUsage, Usage};

use crate::bound;
use crate::cli::line::{count, count_or_zero, words};

pub struct ReportedTokens {
    pub models: Vec<ModelUsage>,
    /// Where each model is told with its total, all of it is. One sum alone may be that of the last message, as
    /// OpenCode's is; without a total the thoughts are missing, as Gemini's are.
    pub is_whole: bool,
}

pub fn of(result: &Value, model: &str) -> ReportedTokens {
    let models = result.pointer("/_meta/quota/model_usage").and_then(Value::as_array).into_iter().flatten();
    let by_model = models.filter_map(|told| {
        let usage = usage(&told["token_count"])?;
        Some(ModelUsage { model: bound::shown_line(words(told, "/model")), usage, messages: 0 })
    });
    let by_model: Vec<ModelUsage> = by_model.take(100).collect();
    if !by_model.is_empty() {
        let mut told = result["_meta"]["quota"]["model_usage"].as_array().into_iter().flatten();
        let is_whole = told.all(|told| count(told, "/token_count/totalTokens").is_some());
        return ReportedTokens { models: by_model, is_whole };
    }
    let sum = usage(&result["usage"]).filter(|usage| usage.tokens() > 0);
    let models = sum.map(|usage| ModelUsage { model: model.to_owned(), usage, messages: 0 });
    ReportedTokens { models: models.into_iter().collect(), is_whole: false }
}

/// Whether thoughts are part of the output, and cached tokens part of the input, is seen by the total.
fn usage(told: &Value) -> Option<Usage> {
    told.as_object()?;
    let first = |keys: &[&str]| {
        let named = keys.iter().find(|key| told.pointer(key).is_some_and(|value| !value.is_null()));
        named.map_or(Some(0), |key| count_or_zero(told, key))
    };
    let input = first(&["/inputTokens", "/input_tokens"])?;
    let output = first(&["/outputTokens", "/output_tokens"])?;
    let thoughts = first(&["/thoughtTokens", "/reasoningOutputTokens"])?;
    let read = first(&["/cachedReadTokens", "/cachedInputTokens"])?;
    let written = first(&["/cachedWriteTokens", "/cacheWriteInputTokens"])?;
    let total = count(told, "/totalTokens");
    let sum = |parts: &[u64]| parts.iter().try_fold(0_u64, |sum, part| sum.checked_add(*part));
    let apart = total == sum(&[input, output, thoughts, read, written]);
    let cached_inside = total.is_some() && total == sum(&[input, output]);
    Some(Usage {
        input_tokens: if cached_inside { input.checked_sub(read)?.checked_sub(written)? } else { input },
        output_tokens: if apart { output } else { output.checked_sub(thoughts)? },
        reasoning_tokens: thoughts,
        cache_read_tokens: read,
        cache_write_tokens: written,
        ..Usage::default()
    })
}
