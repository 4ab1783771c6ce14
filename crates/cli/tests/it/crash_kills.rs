//! `kill -9` at random moments. The seed of a failed run is in its message.

use std::time::{Duration, Instant};

use windlass_testkit::{Scratch, capability, poll};

use crate::case::{Case, RUN};
use crate::crash::{ends_the_same, has_flock, three_tasks, undisturbed};

/// Together 40, or 1,000 with `--full`.
const LOTS: u64 = 4;

fn lot(number: u64) {
    if !has_flock() {
        return;
    }
    let kills = if capability::full() { 1_000 / LOTS } else { 40 / LOTS };
    let mut killed = 0;
    for seed in 0.. {
        if killed >= kills {
            return;
        }
        killed += round(number * 1_000_000 + seed);
    }
}

/// One loop, killed once or twice, the second time while it recovers.
fn round(seed: u64) -> u64 {
    let mut draw = Draw(seed);
    let case = three_tasks(Scratch::new(env!("CARGO_BIN_EXE_windlass")));
    let mut killed = kill_after(&case, draw.within(undisturbed().took));
    if draw.next().is_multiple_of(3) {
        killed += kill_after(&case, draw.within(undisturbed().took / 2));
    }
    ends_the_same(&case, &format!("seed {seed}, killed {killed} times"));
    killed
}

/// A run that ended before its moment was not killed.
fn kill_after(case: &Case, moment: Duration) -> u64 {
    let mut running = case.start();
    let end = Instant::now() + moment;
    let over = poll::until(RUN, || running.has_ended() || Instant::now() >= end);
    assert!(over, "the moment never came");
    let ended = running.has_ended();
    let ran = if ended { running.finish(RUN) } else { running.kill() };
    match ran.status.code() {
        None => 1,
        Some(0) => 0,
        Some(_) => panic!("neither killed nor done: {ran}"),
    }
}

/// The same numbers for the same seed, on every machine.
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn within(&mut self, span: Duration) -> Duration {
        let micros = u64::try_from(span.as_micros()).unwrap_or(u64::MAX).max(1);
        Duration::from_micros(self.next() % micros)
    }
}

#[test]
fn at_random_moments_first_lot() {
    lot(0);
}

#[test]
fn at_random_moments_second_lot() {
    lot(1);
}

#[test]
fn at_random_moments_third_lot() {
    lot(2);
}

#[test]
fn at_random_moments_fourth_lot() {
    lot(3);
}
