//! The tests that a lie would be about, broken alone: those that fail on the base, which the work has to mend, and
//! those that failed though others were broken.
//!
//! A product may hide a failure as long as it is the only one, or tell by the clock which run it is in. So each of these
//! tests has runs of its own, and in between the check is run on the honest tree, in an order that is drawn by lot: a lie
//! in the wrong run leaves a broken test green, and the truth in the wrong run shows the honest tree red.

use windlass_control::Breakage;
use windlass_core::time::Millis;

use super::hunt::{NoAnswer, RunEnding, TestId};

/// How often the honest tree is run again.
#[derive(Clone, Copy, Debug)]
pub struct Steadiness {
    runs: u32,
    /// Fewer, where the runs take longer than this.
    longest: Millis,
    fewest: u32,
}

/// So many tests are broken alone, however long that takes.
const FEWEST_ALONE: u32 = 3;

impl Steadiness {
    /// A test was red that was not broken.
    pub const SUSPECTED: Self = Self { runs: 8, longest: Millis::minutes(10), fewest: 3 };
    pub const FEW_TESTS: Self = Self { runs: 8, longest: Millis::seconds(30), fewest: 1 };
    /// The runs with tests broken alone are to be among others.
    pub const MIXED: Self = Self { runs: 2, longest: Millis::minutes(5), fewest: 1 };
}

/// One more run of the check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Turn {
    Honest,
    Alone(TestId, Breakage),
}

/// What such a run came to, and how long it took.
pub struct TimedRun {
    pub ending: RunEnding,
    pub took: Millis,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Singled {
    /// It stayed green though it was broken, and nothing else was.
    pub green: Option<(TestId, Breakage)>,
    /// The honest tree was red more often in a row than is forgiven.
    pub unsteady: bool,
}

/// In an order that `random` draws.
pub fn turns(
    alone: Vec<(TestId, Breakage)>,
    honest: Steadiness,
    mut random: impl FnMut() -> u64,
) -> Vec<Turn> {
    let honest = (0..honest.runs).map(|_| Turn::Honest);
    let all = alone.into_iter().map(|(test, breakage)| Turn::Alone(test, breakage)).chain(honest);
    let mut drawn: Vec<(u64, Turn)> = all.map(|turn| (random(), turn)).collect();
    drawn.sort_by_key(|(lot, _)| *lot);
    drawn.into_iter().map(|(_, turn)| turn).collect()
}

/// Until one of them shows a lie. A policy that lets a red check run again lets as many red runs pass here as well.
pub fn single_out(
    turns: Vec<Turn>,
    honest: Steadiness,
    forgiven: u32,
    mut run: impl FnMut(&Turn) -> Result<TimedRun, NoAnswer>,
) -> Result<Singled, NoAnswer> {
    let (mut in_a_row, mut took) = (0, 0_u64);
    let (mut ran_honest, mut ran_alone) = (0, 0);
    for turn in turns {
        let due = match turn {
            Turn::Honest => ran_honest < honest.fewest,
            Turn::Alone(..) => ran_alone < FEWEST_ALONE,
        };
        if !due && took > honest.longest.0 {
            continue;
        }
        let ran = run(&turn)?;
        took = took.saturating_add(ran.took.0);
        let is_green = match ran.ending {
            RunEnding::Green => true,
            RunEnding::Failed | RunEnding::Unclear => false,
        };
        match turn {
            Turn::Alone(test, breakage) if is_green => {
                return Ok(Singled { green: Some((test, breakage)), unsteady: false });
            }
            Turn::Alone(..) => ran_alone += 1,
            Turn::Honest => {
                ran_honest += 1;
                in_a_row = if is_green { 0 } else { in_a_row + 1 };
            }
        }
        if in_a_row > forgiven {
            return Ok(Singled { green: None, unsteady: true });
        }
    }
    Ok(Singled::default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(name: &str) -> TestId {
        TestId { file: "t".to_owned(), name: name.to_owned(), nth: 0 }
    }

    fn alone(names: &[&str]) -> Vec<(TestId, Breakage)> {
        names.iter().map(|name| (id(name), Breakage::FailingStatement)).collect()
    }

    fn drawn(names: &[&str], honest: Steadiness) -> Vec<Turn> {
        let mut lots = (1_u64..).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 7);
        turns(alone(names), honest, || lots.next().unwrap_or_default())
    }

    /// Whether the honest tree is unsteady, and after how many runs that is known. `g` is a green run, `r` a red one;
    /// after the last of them all are as that.
    fn asked(endings: &str, forgiven: u32, minutes: u64) -> (bool, usize) {
        let mut runs = 0;
        let honest = Steadiness::SUSPECTED;
        let found = single_out(drawn(&[], honest), honest, forgiven, |_| {
            let ending = match endings.chars().nth(runs).or(endings.chars().last()) {
                Some('g') => RunEnding::Green,
                Some(_) | None => RunEnding::Failed,
            };
            runs += 1;
            Ok(TimedRun { ending, took: Millis::minutes(minutes) })
        });
        (found.ok().unwrap().unsteady, runs)
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
        let honest = Steadiness::FEW_TESTS;
        let answer = single_out(drawn(&["a"], honest), honest, 0, |_| Err(NoAnswer::Cancelled));
        assert!(matches!(answer, Err(NoAnswer::Cancelled)));
    }

    fn singled(names: &[&str], green: impl Fn(usize, &Turn) -> bool) -> Singled {
        let (honest, mut nth) = (Steadiness::MIXED, 0);
        let found = single_out(drawn(names, honest), honest, 0, |turn| {
            nth += 1;
            let ending = if green(nth, turn) { RunEnding::Green } else { RunEnding::Failed };
            Ok(TimedRun { ending, took: Millis(1) })
        });
        found.ok().unwrap()
    }

    #[test]
    fn an_honest_check_is_green_on_the_honest_tree_alone() {
        assert_eq!(singled(&["a", "b"], |_, turn| *turn == Turn::Honest), Singled::default());
    }

    #[test]
    fn a_failure_that_is_hidden_while_it_is_the_only_one_is_found() {
        assert_eq!(singled(&["a"], |_, _| true).green, Some((id("a"), Breakage::FailingStatement)));
    }

    #[test]
    fn a_product_that_counts_runs_lies_in_the_wrong_one() {
        // Two green runs are wanted among five; of all the ways to place them one is right.
        let mut ways_through = 0;
        for lies in 0_u32..32 {
            let found = singled(&["a", "b", "c"], |nth, _| lies & (1 << (nth - 1)) != 0);
            ways_through += u32::from(found == Singled::default());
        }
        assert_eq!(ways_through, 1);
    }

    #[test]
    fn three_tests_are_broken_alone_however_long_it_takes() {
        let honest = Steadiness::MIXED;
        let mut ran = Vec::new();
        let all = drawn(&["a", "b", "c", "d", "e"], honest);
        let found = single_out(all, honest, 0, |turn| {
            ran.push(turn.clone());
            let ending = if *turn == Turn::Honest { RunEnding::Green } else { RunEnding::Failed };
            Ok(TimedRun { ending, took: Millis::minutes(30) })
        });
        assert_eq!(found.ok().unwrap(), Singled::default());
        let honest = ran.iter().filter(|turn| **turn == Turn::Honest).count();
        assert_eq!((honest, ran.len() - honest), (1, 3));
    }
}
