//! What shows that a check can fail: when it is asked for, and of which check.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::gate::Purpose;
use crate::policy::{CheckPolicy, GatePolicy};

/// When windlass breaks the tests of a tree, to see each of them turn red.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ControlWhen {
    /// At the last look at the whole work.
    #[default]
    Final,
    /// Before anything lands.
    Landing,
    Off,
}

impl ControlWhen {
    pub(crate) fn before() -> Self {
        Self::Off
    }
}

/// What shows that a check can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckControl<'c> {
    /// Its tests, broken by windlass.
    Tests,
    /// A command that must fail.
    Command(&'c str),
    Off,
}

impl CheckPolicy {
    pub fn control(&self) -> CheckControl<'_> {
        match self.control.as_str() {
            "" | "auto" => CheckControl::Tests,
            "off" => CheckControl::Off,
            command => CheckControl::Command(command),
        }
    }
}

impl GatePolicy {
    /// Whether the tests of this check are broken at such a run of the gate.
    pub fn breaks_tests(&self, check: &CheckPolicy, purpose: Purpose) -> bool {
        let due = match (self.control, purpose) {
            (ControlWhen::Off, _) | (_, Purpose::Baseline) => false,
            (ControlWhen::Final, purpose) => purpose == Purpose::Final,
            (ControlWhen::Landing, _) => true,
        };
        due && check.control() == CheckControl::Tests
    }
}
