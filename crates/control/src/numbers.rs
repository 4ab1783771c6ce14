//! Numbers that look like any others in a test, and are the same for the same seed.

use std::collections::BTreeSet;

/// Draws numbers that it has not drawn before.
#[derive(Clone, Debug)]
pub struct Numbers {
    state: u64,
    drawn: BTreeSet<u32>,
    round: Option<Round>,
}

/// One of several times that the literals of one tree are changed. Of the first two one makes a
/// test's literal larger and the other smaller, one in its first half and the other in its second,
/// where the literal allows it. The third turns an assertion over, where there is one. The three
/// that follow have what the first two left out, and another assertion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Round {
    /// Drawn once, and the same for all rounds: with which direction each test begins.
    pub lot: u64,
    /// From 0.
    pub nth: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Up,
    Down,
}

impl Direction {
    pub fn turned(self) -> Self {
        match self {
            Self::Up => Self::Down,
            Self::Down => Self::Up,
        }
    }
}

/// What is to become of a literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Aim {
    pub direction: Direction,
    /// In the first half of its elements or letters.
    pub is_first: bool,
}

/// Below this a number is likely to stand in a runner's output by chance.
const SMALLEST: u32 = 20_000;
const RANGE: u32 = 3_000_000;

impl Numbers {
    /// One for all files of a run: no two tests share a number then.
    pub fn from_seed(seed: u64) -> Self {
        Self { state: seed, drawn: BTreeSet::new(), round: None }
    }

    /// For one of several rounds. Without a round each test's direction is drawn by itself.
    #[must_use]
    pub fn in_round(mut self, round: Round) -> Self {
        self.round = Some(round);
        self
    }

    /// Before a test's literal is drawn. In one round a test is always changed in the same way, whichever tree it is
    /// of and whatever else is broken: what stays green on the base, too, is then the very same change.
    pub(crate) fn aim(&mut self, test: &str) -> Aim {
        let (bits, nth) = match self.round {
            Some(Round { lot, nth }) => {
                let of_test = mixed(lot ^ hash(test));
                self.state = mixed(of_test.wrapping_add(u64::from(nth)));
                (of_test, nth - nth / 3)
            }
            None => (self.next(), 0),
        };
        let is_up = (bits ^ u64::from(nth)) & 1 == 0;
        // Four rounds have each direction in each half.
        let is_first = (bits >> 1 ^ u64::from(nth) ^ u64::from(nth >> 1)) & 1 == 0;
        Aim { direction: if is_up { Direction::Up } else { Direction::Down }, is_first }
    }

    /// Also where there is a literal.
    pub(crate) fn turns_assertions(&self) -> bool {
        self.round.is_some_and(|round| round.nth % 3 == 2)
    }

    /// Of one of so many.
    pub(crate) fn index(&mut self, count: usize) -> usize {
        usize::try_from(self.below(count as u64)).unwrap_or(0)
    }

    pub(crate) fn pair(&mut self) -> Pair {
        Pair { left: self.draw(), right: self.draw() }
    }

    /// Any number that is smaller.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit.max(1)
    }

    fn draw(&mut self) -> u32 {
        // With every number taken, repeating some is better than no end.
        for _ in 0..1000 {
            let number = SMALLEST + (self.next() % u64::from(RANGE)) as u32;
            if self.drawn.insert(number) {
                return number;
            }
        }
        SMALLEST + (self.next() % u64::from(RANGE)) as u32
    }

    /// SplitMix64: every seed gives a good sequence, also 0 and 1.
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed(self.state)
    }
}

/// FNV-1a.
fn hash(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

fn mixed(state: u64) -> u64 {
    let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Two different numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pair {
    pub left: u32,
    pub right: u32,
}

impl Pair {
    /// One of several ways to write the same thing, so that no one way is a mark.
    pub fn choose<const N: usize>(self, ways: [String; N]) -> String {
        let at = (self.left ^ self.right.rotate_left(7)) as usize % N.max(1);
        ways.into_iter().nth(at).unwrap_or_default()
    }

    pub fn smaller(self) -> u32 {
        self.left.min(self.right)
    }

    pub fn larger(self) -> u32 {
        self.left.max(self.right)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_numbers_and_another_seed_others() {
        let draw = |seed| {
            let mut numbers = Numbers::from_seed(seed);
            (0..50).map(|_| numbers.draw()).collect::<Vec<_>>()
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
        assert_eq!(draw(7).into_iter().collect::<BTreeSet<_>>().len(), 50);
    }
}
