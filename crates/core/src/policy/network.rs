//! Which network agents and checks see.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which network a program sees.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NetworkPolicy {
    pub kind: NetworkKind,
    /// `host:port` of what may be reached, for [`NetworkKind::Allow`].
    pub allow: Vec<String>,
}

impl NetworkPolicy {
    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// A list of hosts without a word on the network means that list.
    pub fn meant(&self) -> NetworkKind {
        if self.kind == NetworkKind::Open && !self.allow.is_empty() { NetworkKind::Allow } else { self.kind }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NetworkKind {
    /// The machine's own.
    #[default]
    Open,
    /// A loopback of its own, and nothing else.
    Loopback,
    None,
    /// Listed hosts, through a proxy of ours.
    Allow,
}

impl NetworkKind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Loopback => "loopback",
            Self::None => "none",
            Self::Allow => "allow",
        }
    }
}
