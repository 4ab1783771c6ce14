//! What happens in a turn, told as it happens and kept, bounded, for its summary.

use std::collections::{BTreeMap, BTreeSet};

use windlass_core::live::{FileAction, Live, RefusedCall, Retry, ToolCall, TouchedFile};
use windlass_core::summary::{Ran, Summary};
use windlass_core::usage::{ModelUsage, Usage};

use crate::bound;

/// A program that never finishes what it starts must not fill the memory.
const OPEN_TOOLS: usize = 1000;
/// How many different files are told from one another.
const READ_FILES: usize = 100_000;

#[derive(Default)]
pub struct Story {
    told: Vec<Live>,
    summary: Summary,
    open: BTreeMap<String, ToolCall>,
    read: BTreeSet<String>,
}

impl Story {
    /// What was told since the last time.
    pub fn drain(&mut self) -> Vec<Live> {
        std::mem::take(&mut self.told)
    }

    /// How many different files were read.
    pub fn files_read(&self) -> u64 {
        self.read.len() as u64
    }

    pub fn into_summary(self) -> Summary {
        self.summary
    }

    pub fn text(&mut self, text: &str) {
        if !text.trim().is_empty() {
            self.told.push(Live::Text { text: bound::shown_text(text) });
        }
    }

    /// All that is known of the turn so far, over all of its models.
    pub fn tokens(&mut self, models: &[ModelUsage]) {
        let mut all = Usage::default();
        models.iter().for_each(|model| all.add(&model.usage));
        if all.tokens() > 0 {
            self.told.push(Live::Tokens(all));
        }
    }

    pub fn retry(&mut self, retry: Retry) {
        self.told.push(Live::Retry(retry));
    }

    /// Told again under the same id it is the same call.
    pub fn tool_started(&mut self, id: &str, name: &str, what: &str) {
        let tool = ToolCall {
            id: bound::shown_line(id),
            name: bound::shown_line(name),
            what: bound::shown_line(what),
        };
        if self.open.contains_key(&tool.id) || self.open.len() >= OPEN_TOOLS {
            return;
        }
        self.open.insert(tool.id.clone(), tool.clone());
        self.told.push(Live::ToolStarted(tool));
    }

    /// The call that began under this id, or nothing that was ever begun.
    pub fn tool_finished(&mut self, id: &str, exit: Option<i32>, ok: bool) -> Option<ToolCall> {
        let tool = self.open.remove(&bound::shown_line(id))?;
        self.told.push(Live::ToolFinished { tool: tool.clone(), exit, ok });
        Some(tool)
    }

    pub fn open(&self, id: &str) -> Option<&ToolCall> {
        self.open.get(&bound::shown_line(id))
    }

    pub fn ran(&mut self, command: &str, exit: Option<i32>, ok: bool) {
        self.summary.ran(Ran { what: bound::shown_line(command), exit, ok });
    }

    pub fn touched(&mut self, path: &str, how: FileAction) {
        if path.is_empty() {
            return;
        }
        let path = bound::shown_line(path);
        let list = match how {
            FileAction::Created => &mut self.summary.created,
            FileAction::Edited | FileAction::Deleted => &mut self.summary.edited,
            FileAction::Read => &mut self.summary.read,
        };
        Summary::keep(list, path.clone());
        if how == FileAction::Read && self.read.len() < READ_FILES {
            self.read.insert(path.clone());
        }
        self.told.push(Live::Touched(TouchedFile { path, how }));
    }

    pub fn refused(&mut self, what: &str, why: &str) {
        let refused = RefusedCall { what: bound::shown_line(what), why: bound::shown_line(why) };
        let shown = format!("{}: {}", refused.what, refused.why);
        if !self.summary.refused.contains(&shown) {
            Summary::keep(&mut self.summary.refused, shown);
            self.told.push(Live::RefusedCall(refused));
        }
    }

    /// A refusal that is told again at the end, without its reason.
    pub fn denied(&mut self, what: &str) {
        let what = bound::shown_line(what);
        if !self.summary.refused.iter().any(|known| known.starts_with(&what)) {
            self.refused(&what, "the program's rules do not allow it");
        }
    }

    pub fn error(&mut self, what: &str) {
        let what = bound::shown_line(what);
        if !what.is_empty() {
            Summary::keep(&mut self.summary.errors, what);
        }
    }
}
