//! The only place that asks what time it is.
#![allow(clippy::disallowed_methods, reason = "this is the clock")]

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use windlass_core::id::Nonce;
use windlass_core::state::Deadline;
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
        let elapsed = self.stamped_before(now);
        self.last = Some(now);
        Stamp { at: wall(), elapsed, fresh: nonce() }
    }

    /// The wall clock, which anybody may set, is asked only for a moment that others named.
    pub fn has_passed(&self, deadline: Deadline) -> bool {
        match deadline {
            Deadline::At(moment) => wall() >= moment,
            Deadline::After(span) => self.stamped_before(Instant::now()) >= span,
        }
    }

    /// How long before this the last stamp was given.
    fn stamped_before(&self, now: Instant) -> Millis {
        let elapsed = self.last.map_or(0, |last| now.duration_since(last).as_millis());
        Millis(u64::try_from(elapsed).unwrap_or(u64::MAX))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_measured_from_the_last_stamp_and_a_moment_by_the_wall() {
        let mut clock = Clock::new();
        clock.stamp();
        let hour = Millis::seconds(3600);
        assert!(clock.has_passed(Deadline::After(Millis(0))) && !clock.has_passed(Deadline::After(hour)));
        clock.last = clock.last.and_then(|last| last.checked_sub(std::time::Duration::from_secs(3600)));
        assert!(clock.has_passed(Deadline::After(hour)));
        assert!(clock.stamp().elapsed >= hour, "what was waited is told with the next stamp");
        assert!(clock.has_passed(Deadline::At(wall())) && !clock.has_passed(Deadline::At(wall().plus(hour))));
    }
}
