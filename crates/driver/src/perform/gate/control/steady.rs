//! Whether a check is green on one and the same tree however often it is run.

use windlass_core::time::Millis;

use super::hunt::{NoAnswer, RunEnding};

/// How often it is run again.
#[derive(Clone, Copy, Debug)]
pub struct Steadiness {
    runs: u32,
    /// Fewer, where the runs take longer than this.
    longest: Millis,
    fewest: u32,
}

/// What one more run on the honest tree came to, and how long it took.
pub struct HonestRun {
    pub ending: RunEnding,
    pub took: Millis,
}

impl Steadiness {
    /// A test was red that was not broken.
    pub const SUSPECTED: Self = Self { runs: 8, longest: Millis::minutes(10), fewest: 3 };
    pub const FEW_TESTS: Self = Self { runs: 8, longest: Millis::seconds(30), fewest: 1 };

    /// True at more red runs in a row than are forgiven.
    pub fn is_missing(
        self,
        forgiven: u32,
        mut run: impl FnMut() -> Result<HonestRun, NoAnswer>,
    ) -> Result<bool, NoAnswer> {
        let (mut in_a_row, mut took) = (0, 0_u64);
        for nth in 0..self.runs {
            if nth >= self.fewest && took > self.longest.0 {
                break;
            }
            let ran = run()?;
            took = took.saturating_add(ran.took.0);
            in_a_row = match ran.ending {
                RunEnding::Green => 0,
                RunEnding::Failed | RunEnding::Unclear => in_a_row + 1,
            };
            if in_a_row > forgiven {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether it is unsteady, and after how many runs that is known. `g` is a green run, `r` a red one; after the
    /// last of them all are as that.
    fn asked(endings: &str, forgiven: u32, minutes: u64) -> (bool, usize) {
        let mut runs = 0;
        let found = Steadiness::SUSPECTED.is_missing(forgiven, || {
            let ending = match endings.chars().nth(runs).or(endings.chars().last()) {
                Some('g') => RunEnding::Green,
                Some(_) | None => RunEnding::Failed,
            };
            runs += 1;
            Ok(HonestRun { ending, took: Millis::minutes(minutes) })
        });
        (found.ok().unwrap(), runs)
    }

    #[test]
    fn one_red_run_is_enough_and_eight_green_ones_are() {
        assert_eq!(asked("g", 0, 0), (false, 8));
        assert_eq!(asked("gggr", 0, 0), (true, 4));
        assert_eq!(asked("gggggggr", 0, 0), (true, 8));
    }

    #[test]
    fn a_retry_forgives_as_many_in_a_row_and_no_more() {
        assert_eq!(asked("rgrgrgrg", 1, 0), (false, 8));
        assert_eq!(asked("rgrr", 1, 0), (true, 4));
        assert_eq!(asked("rrgrrr", 2, 0), (true, 6));
    }

    #[test]
    fn slow_runs_are_fewer_and_at_least_three() {
        assert_eq!(asked("g", 0, 2), (false, 6));
        assert_eq!(asked("g", 0, 30), (false, 3));
        assert_eq!(asked("ggr", 0, 30), (true, 3));
    }

    #[test]
    fn a_run_that_is_cancelled_answers_nothing() {
        let answer = Steadiness::FEW_TESTS.is_missing(0, || Err(NoAnswer::Cancelled));
        assert!(matches!(answer, Err(NoAnswer::Cancelled)));
    }
}
