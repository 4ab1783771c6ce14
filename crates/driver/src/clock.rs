//! The only place that asks what time it is.
#![allow(clippy::disallowed_methods, reason = "this is the clock")]

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use windlass_core::id::Nonce;
use windlass_core::time::{Millis, Timestamp};

use crate::world::Stamp;

/// Wall time for the record, monotonic time for every measure.
pub struct Clock {
    last: Option<Instant>,
}

impl Clock {
    pub fn new() -> Self {
        Self { last: None }
    }

    pub fn stamp(&mut self) -> Stamp {
        let now = Instant::now();
        let elapsed = self.last.map_or(0, |last| now.duration_since(last).as_millis());
        self.last = Some(now);
        Stamp { at: wall(), elapsed: Millis(u64::try_from(elapsed).unwrap_or(u64::MAX)), fresh: nonce() }
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::new()
    }
}

pub fn wall() -> Timestamp {
    timestamp(SystemTime::now())
}

pub fn timestamp(time: SystemTime) -> Timestamp {
    let since = time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
    Timestamp(i64::try_from(since).unwrap_or(i64::MAX))
}

pub fn now() -> Instant {
    Instant::now()
}

fn nonce() -> Nonce {
    Nonce::new(marker())
}

/// 128 random bits, as text.
pub fn marker() -> String {
    random_bytes::<16>().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A number that nobody can foresee.
pub fn random() -> u64 {
    u64::from_ne_bytes(random_bytes())
}

/// From the kernel.
fn random_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0u8; N];
    let mut filled = 0;
    while filled < bytes.len() {
        let got = rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty())
            .expect("the kernel has random numbers");
        filled += got;
    }
    bytes
}
