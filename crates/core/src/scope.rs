//! How much a task may change and read: its limits, and what is over them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::finding::{Evidence, Rule};
use crate::policy::Policy;
use crate::task::Task;

/// Section `[scope.<mode>]`. 0 is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ScopeLimits {
    /// Files that differ from the task's base.
    pub files_changed: u64,
    /// Lines added to them.
    pub lines_written: u64,
    /// Different files that one attempt reads.
    pub files_read: u64,
}

/// What a task says for itself; the rest is left to its mode.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct OwnScope {
    pub files_changed: Option<u64>,
    pub lines_written: Option<u64>,
    pub files_read: Option<u64>,
    /// Globs of the paths it must stay within; empty means anywhere.
    pub within: Vec<String>,
}

impl OwnScope {
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// What an attempt came to, against the task's base.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MeasuredScope {
    pub files_changed: u64,
    pub lines_written: u64,
    /// None where the agent's own stream does not tell.
    pub files_read: Option<u64>,
}

impl Policy {
    /// The limits that hold for a task.
    pub fn scope_of(&self, task: &Task) -> ScopeLimits {
        let of_mode = self.scope.get(task.mode.name()).copied().unwrap_or_default();
        let own = &task.scope;
        ScopeLimits {
            files_changed: own.files_changed.unwrap_or(of_mode.files_changed),
            lines_written: own.lines_written.unwrap_or(of_mode.lines_written),
            files_read: own.files_read.unwrap_or(of_mode.files_read),
        }
    }
}

impl ScopeLimits {
    pub fn is_off(&self) -> bool {
        *self == Self::default()
    }

    /// What is over a limit, and what cannot be measured, each as a finding of the task.
    pub fn exceeded(&self, measured: &MeasuredScope, task: &Task) -> Vec<Evidence> {
        let rows = [
            ("files_changed", "files are changed", Some(measured.files_changed), self.files_changed),
            ("lines_written", "lines are added", Some(measured.lines_written), self.lines_written),
            ("files_read", "files were read", measured.files_read, self.files_read),
        ];
        let mode = task.mode.name();
        let limited = rows.into_iter().filter(|(_, _, _, max)| *max > 0);
        limited
            .filter_map(|(key, what, count, max)| match count {
                Some(count) if count > max => {
                    let detail = format!(
                        "{count} {what}, the limit is {max}: do less in this task, or let `scope.{mode}.{key}` \
                         or `scope` in the task file allow more"
                    );
                    Some(Evidence { detail, ..Evidence::new(Rule::ScopeExceeded, "") })
                }
                Some(_) => None,
                None => {
                    let detail = format!("`scope.{mode}.{key}` cannot be measured: this agent does not tell");
                    Some(Evidence { detail, ..Evidence::new(Rule::ScopeNotMeasured, "") })
                }
            })
            .collect()
    }
}

/// A path that the task was to leave alone.
pub fn outside(path: &str, within: &[String]) -> Evidence {
    let detail = format!("it is outside of what this task may change: {}", within.join(", "));
    Evidence { detail, ..Evidence::new(Rule::ScopeExceeded, path) }
}

#[cfg(test)]
mod tests {
    use crate::id::{BlobId, TaskId};
    use crate::task::TaskMode;

    use super::*;

    fn task(mode: TaskMode) -> Task {
        let plain = Task::plain(TaskId::new("a"), "Do a".to_owned(), BlobId::new("text"));
        Task { mode, ..plain }
    }

    #[test]
    fn a_task_has_the_limits_of_its_mode_and_its_own_come_first() {
        let mut policy = Policy::default();
        let limits = ScopeLimits { files_changed: 3, lines_written: 100, files_read: 9 };
        policy.scope.insert("implement".to_owned(), limits);
        let mut task = task(TaskMode::Implement);
        assert_eq!(policy.scope_of(&task), limits);
        task.scope = OwnScope { files_changed: Some(0), lines_written: Some(5), ..OwnScope::default() };
        assert_eq!(policy.scope_of(&task), ScopeLimits { files_changed: 0, lines_written: 5, files_read: 9 });
        let other = self::task(TaskMode::Own("port".to_owned()));
        assert!(policy.scope_of(&other).is_off());
    }

    #[test]
    fn only_what_is_over_a_limit_is_a_finding_and_what_nobody_tells_is_said() {
        let limits = ScopeLimits { files_changed: 3, lines_written: 100, files_read: 9 };
        let task = task(TaskMode::Implement);
        let found = |files_changed, lines_written, files_read| {
            let measured = MeasuredScope { files_changed, lines_written, files_read };
            limits
                .exceeded(&measured, &task)
                .into_iter()
                .map(|seen| (seen.rule, seen.words()))
                .collect::<Vec<_>>()
        };
        assert_eq!(found(3, 100, Some(9)), []);
        let over = found(4, 100, Some(10));
        assert_eq!(over.len(), 2, "{over:?}");
        assert!(over[0].1.starts_with("4 files are changed, the limit is 3: "), "{over:?}");
        assert!(over[1].1.contains("`scope.implement.files_read`"), "{over:?}");
        assert_eq!(found(0, 0, None)[0].0, Rule::ScopeNotMeasured);
        assert_eq!(
            ScopeLimits::default()
                .exceeded(&MeasuredScope { files_changed: 99, ..MeasuredScope::default() }, &task),
            []
        );
    }
}
