//! How much of a machine one program may use.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How much one attempt or check may use; 0 is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ResourcePolicy {
    pub memory_bytes: u64,
    pub processes: u64,
    pub open_files: u64,
    /// One file.
    pub file_bytes: u64,
    /// The whole workspace, and what the program writes beside it.
    pub workspace_bytes: u64,
    /// Of the machine's memory, where `memory_bytes` says nothing: a policy means the same on every machine.
    pub memory_percent: u64,
}

impl ResourcePolicy {
    /// Where a policy says nothing. A build with many jobs, a browser and the services of a test stay far below; what
    /// runs away is ended before the machine is.
    pub fn usual() -> Self {
        Self { memory_percent: 75, processes: 4096, workspace_bytes: 20 << 30, ..Self::default() }
    }

    /// In bytes, on a machine with this much memory.
    pub fn on_machine(self, memory: u64) -> Self {
        let share = u128::from(memory) * u128::from(self.memory_percent) / 100;
        let share = u64::try_from(share).unwrap_or(u64::MAX);
        let memory_bytes = if self.memory_bytes == 0 { share } else { self.memory_bytes };
        Self { memory_bytes, memory_percent: 0, ..self }
    }
}
