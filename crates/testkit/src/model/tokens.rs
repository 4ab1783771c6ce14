//! Token counts as the server hands them out. Buckets do not overlap, as in windlass's own ledger: `input`
//! is without what came from a cache, `output` without reasoning. Each API adds them up in its own way.

use serde::{Deserialize, Serialize};

use super::api::Api;
use super::ask::Ask;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Tokens {
    pub input: u64,
    pub output: u64,
    pub reasoning: u64,
    /// Read from a cache.
    pub cached: u64,
    /// Written to a cache; only Messages tells.
    pub cache_write: u64,
}

/// Thoughts of every answer.
const REASONING: u64 = 11;

impl Tokens {
    /// Four bytes a token; a third of a conversation that goes on comes from the cache. No two buckets are
    /// alike, so that one taken for another is seen.
    pub fn count(ask: &Ask, position: usize, answer_bytes: usize) -> Self {
        let asked = Self::of_bytes(ask.bytes);
        let cached = if position > 0 { asked / 3 } else { 0 };
        let cache_write = match ask.api {
            Api::Messages => asked / 8,
            Api::Responses | Api::Chat | Api::Gemini => 0,
        };
        let input = asked - cached - cache_write;
        Self { input, output: Self::of_bytes(answer_bytes), reasoning: REASONING, cached, cache_write }
    }

    pub fn of_bytes(bytes: usize) -> u64 {
        (bytes / 4 + 1) as u64
    }

    pub fn add(&mut self, other: &Self) {
        self.input += other.input;
        self.output += other.output;
        self.reasoning += other.reasoning;
        self.cached += other.cached;
        self.cache_write += other.cache_write;
    }

    /// What was sent to the model, from wherever it was read.
    pub fn asked(&self) -> u64 {
        self.input + self.cached + self.cache_write
    }

    pub fn answered(&self) -> u64 {
        self.output + self.reasoning
    }
}
