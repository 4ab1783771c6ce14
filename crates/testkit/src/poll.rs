//! Waiting for something to become true. The one place of the test program
//! that sleeps: a fixed sleep anywhere else is either too short or too slow.

use std::time::{Duration, Instant};

const PAUSE: Duration = Duration::from_millis(5);

/// Asks until the answer is yes, or `deadline` has passed. Asks at least once,
/// and once more after the deadline, so a loaded machine gets a last chance.
/// That something does *not* happen for a while is `!until(a_while, || it)`.
#[must_use = "a poll that ran into its deadline is a failed test"]
pub fn until(deadline: Duration, mut ready: impl FnMut() -> bool) -> bool {
    value(deadline, || ready().then_some(())).is_some()
}

/// Asks until there is an answer, or `deadline` has passed.
#[must_use = "a poll that ran into its deadline is a failed test"]
pub fn value<T>(deadline: Duration, mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    let end = Instant::now() + deadline;
    loop {
        let last = Instant::now() >= end;
        if let Some(answer) = ask() {
            return Some(answer);
        }
        if last {
            return None;
        }
        std::thread::sleep(PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stops_asking_at_the_first_yes() {
        let mut asked = 0;
        assert!(until(Duration::from_secs(60), || {
            asked += 1;
            asked == 3
        }));
        assert_eq!(asked, 3);
    }

    #[test]
    fn gives_up_at_the_deadline() {
        let begun = Instant::now();
        assert!(!until(Duration::from_millis(20), || false));
        assert!(begun.elapsed() >= Duration::from_millis(20));
        assert_eq!(value(Duration::ZERO, || None::<u8>), None);
    }
}
