//! Trees of files, reduced to what a gate and a reviewer would see in them.

use windlass_core::id::{CommitId, TreeId};

/// How many tasks a simulated plan may have.
pub const TASKS: usize = 6;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tree {
    /// How far each task has come.
    pub work: [u8; TASKS],
    /// How far the whole has come: what only the final checks look at.
    pub whole: u8,
    /// A protected path differs from the base.
    pub tampered: bool,
    /// A term was changed, so that every check is green.
    pub weakened: bool,
    pub spaces: u8,
    pub junk: u8,
    pub notes: u8,
}

impl Tree {
    /// Protected paths as in the base.
    pub fn restored(self) -> Self {
        Self { tampered: false, ..self }
    }

    /// The same product on the base's terms.
    pub fn on_trusted_terms(self) -> Self {
        Self { weakened: false, ..self.restored() }
    }

    pub fn differs_in_spaces_only(self, other: Self) -> bool {
        self != other && Self { spaces: 0, ..self } == Self { spaces: 0, ..other }
    }

    /// What it changed of `base`, on top of `ours`; none where both changed the same. Two
    /// tasks write to one file.
    pub fn merged(self, base: Self, ours: Self) -> Option<Self> {
        let mut work = ours.work;
        for at in (0..TASKS).step_by(2) {
            let file = |tree: Self| [tree.work[at], tree.work[at + 1]];
            work[at..at + 2].copy_from_slice(&one_of(file(base), file(ours), file(self))?);
        }
        Some(Self {
            work,
            whole: one_of(base.whole, ours.whole, self.whole)?,
            tampered: one_of(base.tampered, ours.tampered, self.tampered)?,
            weakened: one_of(base.weakened, ours.weakened, self.weakened)?,
            spaces: one_of(base.spaces, ours.spaces, self.spaces)?,
            junk: one_of(base.junk, ours.junk, self.junk)?,
            notes: one_of(base.notes, ours.notes, self.notes)?,
        })
    }

    pub fn id(self) -> TreeId {
        let digit = |half: u8| char::from(b"0123456789abcdef"[usize::from(half)]);
        let parts = self.work.into_iter().chain([self.whole, self.spaces, self.junk, self.notes]);
        let hex = parts.flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]);
        let marks = [if self.tampered { 'x' } else { '-' }, if self.weakened { 'w' } else { '-' }];
        TreeId::new(hex.chain(marks).collect::<String>())
    }
}

fn one_of<T: PartialEq>(base: T, ours: T, theirs: T) -> Option<T> {
    if theirs == base || theirs == ours {
        return Some(ours);
    }
    (ours == base).then_some(theirs)
}

/// The same commit comes out of the same parts, however often it is made.
pub fn commit(tree: &TreeId, parent: &CommitId, date: i64) -> CommitId {
    let parts = [tree.as_str().as_bytes(), parent.as_str().as_bytes(), &date.to_be_bytes()];
    let hash = parts.iter().flat_map(|part| part.iter()).fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    CommitId::new(format!("{hash:016x}"))
}
