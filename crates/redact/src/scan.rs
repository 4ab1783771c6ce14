//! One pass over bytes. A decision about a place looks at a bounded number of
//! bytes after it and two before it, and is only made when they are there.

use aho_corasick::{AhoCorasick, AhoCorasickKind, Match, MatchKind, StartKind};

use crate::format::{self, Swallow, WINDOW};
use crate::known::{Secret, SecretForm, forms};

/// Of a known value, what the search looks for; the rest is compared.
const ANCHOR: usize = 24;

pub struct Scanner {
    anchors: AhoCorasick,
    /// The longest first.
    forms: Vec<SecretForm>,
    /// How many bytes after a place decide about it.
    look: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputEnded {
    Yes,
    No,
}

pub enum ScanPiece<'a> {
    Keep(&'a [u8]),
    Hide(&'a str),
}

/// What a scan knows of the bytes before those it is given.
#[derive(Default)]
pub struct ScanState {
    before: [Option<u8>; 2],
    swallow: Option<Swallow>,
}

impl ScanState {
    fn pass(&mut self, bytes: &[u8]) {
        match bytes {
            [] => {}
            [only] => self.before = [self.before[1], Some(*only)],
            [.., second, last] => self.before = [Some(*second), Some(*last)],
        }
    }
}

/// What was found at a place: these bytes are hidden, and what `swallow` takes after them.
struct Hit<'a> {
    from: usize,
    to: usize,
    name: &'a str,
    swallow: Option<Swallow>,
}

impl Scanner {
    pub fn new(secrets: &[Secret]) -> Self {
        let forms = forms(secrets);
        let longest = forms.first().map_or(0, |form| form.bytes.len());
        let values = forms.iter().map(|form| form.bytes[..form.bytes.len().min(ANCHOR)].to_owned());
        let anchors = AhoCorasick::builder()
            .kind(Some(AhoCorasickKind::DFA))
            .start_kind(StartKind::Unanchored)
            .match_kind(MatchKind::LeftmostFirst)
            .build(values.chain(format::prefixes().map(|prefix| prefix.as_bytes().to_owned())))
            .expect("a few short patterns fit any automaton");
        Self { anchors, forms, look: WINDOW + longest }
    }

    /// Tells what becomes of the bytes, in order, and says how many of them are decided.
    pub fn advance(
        &self,
        state: &mut ScanState,
        bytes: &[u8],
        ended: InputEnded,
        tell: &mut dyn FnMut(ScanPiece<'_>),
    ) -> usize {
        let decidable = match ended {
            InputEnded::Yes => bytes.len(),
            InputEnded::No => bytes.len().saturating_sub(self.look),
        };
        let (mut kept, mut at) = (0, 0);
        loop {
            if let Some(swallow) = &mut state.swallow {
                at += swallow.take(&bytes[at..]);
                kept = at;
                if at == bytes.len() {
                    return at;
                }
                state.swallow = None;
            }
            let found = self.anchors.find(&bytes[at..]).filter(|found| at + found.start() < decidable);
            let Some(found) = found else {
                let end = decidable.max(at);
                tell(ScanPiece::Keep(&bytes[kept..end]));
                state.pass(&bytes[at..end]);
                return end;
            };
            let start = at + found.start();
            state.pass(&bytes[at..start]);
            at = start;
            match self.look_at(state, &bytes[start..], &found) {
                Some(hit) => {
                    tell(ScanPiece::Keep(&bytes[kept..start + hit.from]));
                    tell(ScanPiece::Hide(hit.name));
                    // A word may begin after a mark.
                    state.before = [None, None];
                    state.swallow = hit.swallow;
                    at = start + hit.to;
                    kept = at;
                }
                None => {
                    state.pass(&bytes[start..=start]);
                    at += 1;
                }
            }
        }
    }

    /// Anchors are listed as they are asked here, so that the first that fits is the one found.
    fn look_at(&self, state: &ScanState, ahead: &[u8], found: &Match) -> Option<Hit<'_>> {
        let anchor = found.pattern().as_usize();
        if anchor < self.forms.len()
            && let Some(form) = self.forms.iter().find(|form| ahead.starts_with(&form.bytes))
        {
            return Some(Hit { from: 0, to: form.bytes.len(), name: &form.name, swallow: None });
        }
        let window = &ahead[..ahead.len().min(WINDOW)];
        let found = format::find(window, state.before, anchor.saturating_sub(self.forms.len()))?;
        let to = self.past_values(ahead, found.from, found.to);
        Some(Hit { from: found.from, to, name: found.name, swallow: found.swallow })
    }

    /// A known value that begins inside what a format takes ends with it.
    fn past_values(&self, ahead: &[u8], from: usize, to: usize) -> usize {
        let ends = (from..to).flat_map(|at| {
            self.forms
                .iter()
                .filter(move |form| ahead[at..].starts_with(&form.bytes))
                .map(move |form| at + form.bytes.len())
        });
        ends.fold(to, usize::max)
    }
}
