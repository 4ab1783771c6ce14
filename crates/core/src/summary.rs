//! What an attempt did, as its adapter heard it: commands with their exit
//! codes, files, errors, refused calls. Made from the agent's own stream, so it
//! is told to the next agent and to people, and judges nothing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How many of each a summary keeps: the last ones.
const ITEMS: usize = 20;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<Ran>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub created: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edited: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub read: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<String>,
    /// Calls that the agent's program or windlass did not let through.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<String>,
}

/// One command or tool call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ran {
    pub what: String,
    /// None when the agent's program did not say.
    pub exit: Option<i32>,
    pub ok: bool,
}

impl Summary {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Adds to a list that keeps its last items, each once.
    pub fn keep(list: &mut Vec<String>, item: String) {
        list.retain(|known| *known != item);
        list.push(item);
        if list.len() > ITEMS {
            list.remove(0);
        }
    }

    pub fn ran(&mut self, ran: Ran) {
        self.commands.push(ran);
        if self.commands.len() > ITEMS {
            self.commands.remove(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_ones_are_kept_each_once() {
        let mut list = Vec::new();
        for item in (0..30).chain([15]) {
            Summary::keep(&mut list, item.to_string());
        }
        assert_eq!((list.len(), list[0].as_str(), list[19].as_str()), (ITEMS, "10", "15"));
        let mut summary = Summary::default();
        assert!(summary.is_empty());
        for exit in 0..30 {
            summary.ran(Ran { exit: Some(exit), ..Ran::default() });
        }
        assert_eq!((summary.commands.len(), summary.commands[0].exit), (ITEMS, Some(10)));
    }
}
