//! Changes of a text that leave every other byte as it was.

use crate::broken::{Edit, Plan};

pub(crate) struct Edits<'p>(Vec<&'p Edit>);

impl<'p> Edits<'p> {
    pub fn of(plans: &'p [Plan]) -> Self {
        let mut edits: Vec<&Edit> = plans.iter().flat_map(|plan| &plan.edits).collect();
        edits.sort_by_key(|edit| (edit.from, edit.to));
        // Two plans for one function have the same edits, so that either does without the other.
        edits.dedup();
        Self(edits)
    }

    /// An edit within the range of an earlier one is left out: nested tests have nested
    /// bodies, but never nested edits.
    pub fn apply(&self, text: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(text.len() + self.0.len() * 64);
        let mut done = 0;
        for edit in &self.0 {
            if edit.from < done || edit.to > text.len() {
                continue;
            }
            out.extend_from_slice(&text[done..edit.from]);
            out.extend_from_slice(edit.text.as_bytes());
            done = edit.to;
        }
        out.extend_from_slice(&text[done..]);
        out
    }
}
