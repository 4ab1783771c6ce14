//! How much a task may change.

use crate::place::Placed;
use crate::proposal::quoted;

/// The limits a task sets for itself; what is not set is left to its mode.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskScope {
    pub files_changed: Option<Placed<u64>>,
    pub lines_written: Option<Placed<u64>>,
    pub files_read: Option<Placed<u64>>,
    /// Globs of the paths it must stay within; empty means anywhere.
    pub within: Vec<Placed<String>>,
}

impl TaskScope {
    /// As it may stand in front matter; none where it limits nothing.
    pub(crate) fn as_yaml(&self) -> Option<String> {
        let limits = [
            ("files_changed", &self.files_changed),
            ("lines_written", &self.lines_written),
            ("files_read", &self.files_read),
        ];
        let limit = |(key, of): (&str, &Option<Placed<u64>>)| Some(format!("{key}: {}", of.as_ref()?.value));
        let mut parts: Vec<String> = limits.into_iter().filter_map(limit).collect();
        if !self.within.is_empty() {
            let globs: Vec<String> = self.within.iter().map(|glob| quoted(&glob.value)).collect();
            parts.push(format!("within: [{}]", globs.join(", ")));
        }
        (!parts.is_empty()).then(|| format!("{{{}}}", parts.join(", ")))
    }
}
