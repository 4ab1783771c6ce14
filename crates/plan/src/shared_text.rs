//! What a document says about all of its tasks goes below the text of each.

use std::path::Path;

use crate::error::PlanError;
use crate::link::Slot;

/// Of all texts of a plan together, so that a long preamble of many tasks
/// cannot fill the memory.
pub const MAX_TEXT_BYTES: usize = 64 * 1024 * 1024;

const HEADING: &str = "\n\n---\n\nAbout the whole plan, of which the above is one task:\n\n";

/// Adds the text to each task, unless all of that would be too much.
pub(crate) fn add_to_all(file: &Path, slots: &mut [Slot], shared: &str) -> Result<(), PlanError> {
    let shared = shared.trim();
    if shared.is_empty() {
        return Ok(());
    }
    let count = slots.len();
    if (shared.len() + HEADING.len()).saturating_mul(count) > MAX_TEXT_BYTES {
        return Err(PlanError::TooMuchContext { file: file.to_owned(), count });
    }
    for task in slots.iter_mut().filter_map(|slot| slot.task.as_mut()) {
        let own = task.text.trim_end().len();
        task.own_text = Some(task.text.clone());
        task.text.truncate(own);
        task.text.push_str(HEADING);
        task.text.push_str(shared);
        task.text.push('\n');
    }
    Ok(())
}
