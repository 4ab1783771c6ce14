//! What the server saw, and what it gave.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::Value;

use super::api::Api;
use super::tokens::Tokens;

/// One request and what became of it.
#[derive(Clone, Debug, Serialize)]
pub struct Seen {
    /// From 0, in the order of arrival.
    pub number: usize,
    /// Since the server began.
    pub at: Duration,
    pub method: String,
    pub path: String,
    /// None for probes, lists of models, and what is not understood.
    pub api: Option<Api>,
    pub model: Option<String>,
    /// A title, a summary: no tool was offered.
    pub side: bool,
    /// The rule that was played; None when none was for this request.
    pub rule: Option<String>,
    /// What was done, in a word or two.
    pub deed: String,
    /// 0 while there is none.
    pub status: u16,
    /// What this answer told of tokens. None when it told nothing, or was cut before it did.
    pub tokens: Option<Tokens>,
    /// Null where it is not JSON.
    pub body: Arc<Value>,
}

pub struct Records {
    began: Instant,
    seen: Mutex<Vec<Seen>>,
    log: Option<Mutex<File>>,
    forgetful: AtomicBool,
}

impl Records {
    pub fn new(log: Option<File>) -> Self {
        Self {
            began: Instant::now(),
            seen: Mutex::default(),
            log: log.map(Mutex::new),
            forgetful: AtomicBool::new(false),
        }
    }

    pub fn begin(&self, method: &str, path: &str, body: Arc<Value>) -> usize {
        let mut seen = self.lock();
        let number = seen.len();
        seen.push(Seen {
            number,
            at: self.began.elapsed(),
            method: method.to_owned(),
            path: path.to_owned(),
            api: None,
            model: None,
            side: false,
            rule: None,
            deed: String::new(),
            status: 0,
            tokens: None,
            body,
        });
        number
    }

    pub fn change(&self, number: usize, change: impl FnOnce(&mut Seen)) {
        change(&mut self.lock()[number]);
    }

    /// From here on bodies are not kept: a server that nobody asks would only grow.
    pub fn forget_bodies(&self) {
        self.forgetful.store(true, Ordering::Relaxed);
    }

    pub fn finish(&self, number: usize) {
        self.log(number);
        if self.forgetful.load(Ordering::Relaxed) {
            self.change(number, |seen| seen.body = Arc::default());
        }
    }

    /// A log that cannot be written is said on stderr, and the server goes on.
    fn log(&self, number: usize) {
        let Some(log) = &self.log else { return };
        let seen = self.lock()[number].clone();
        let line = serde_json::to_string(&seen).unwrap_or_else(|error| format!("{{\"error\":\"{error}\"}}"));
        let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = writeln!(log, "{line}") {
            eprintln!("the log of requests: {error}");
        }
    }

    pub fn all(&self) -> Vec<Seen> {
        self.lock().clone()
    }

    pub fn tokens(&self, counts: impl Fn(&Seen) -> bool) -> BTreeMap<String, Tokens> {
        let mut sums: BTreeMap<String, Tokens> = BTreeMap::new();
        for seen in self.lock().iter().filter(|seen| counts(seen)) {
            if let (Some(model), Some(tokens)) = (&seen.model, &seen.tokens) {
                sums.entry(model.clone()).or_default().add(tokens);
            }
        }
        sums
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Seen>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
