//! What keeps programs within their reach and secrets out of the records, made
//! from the policy. That may change while a loop is driven: before an effect is
//! performed, they are those of the policy in force.

use std::collections::BTreeMap;
use std::path::Path;

use windlass_core::hidden::HiddenPolicy;
use windlass_core::policy::{AgentPolicy, Policy, ProvenSandbox, Role, SandboxPolicy};
use windlass_process::Spawner;
use windlass_redact::Redactor;

use crate::confine::{Confine, check_records, prove};
use crate::drive_loop::DriveLoopError;
use crate::hidden;
use crate::surroundings::Surroundings;
use crate::weaken::Defence;

pub struct Safeguards {
    pub confine: Confine,
    /// What this machine was shown to do about it.
    pub proven: ProvenSandbox,
    /// Whether checks can run on a throwaway layer over the clean tree.
    pub overlay: bool,
    pub redactor: Redactor,
    made_from: PolicyParts,
}

/// What safeguards follow from.
#[derive(Clone, Debug, PartialEq)]
struct PolicyParts {
    sandbox: SandboxPolicy,
    agent: AgentPolicy,
    roles: BTreeMap<Role, AgentPolicy>,
    hidden: HiddenPolicy,
}

/// The machine that programs run on.
pub struct Machine<'a> {
    pub spawner: &'a Spawner,
    pub surroundings: &'a Surroundings,
    /// Where the sandbox is put to the test.
    pub proofs: &'a Path,
    pub checkout: &'a Path,
}

impl Safeguards {
    /// Proves the sandbox by attack; never one below the minimum.
    pub fn make(policy: &Policy, machine: &Machine<'_>) -> Result<Self, DriveLoopError> {
        let Machine { spawner, surroundings, proofs, checkout } = machine;
        check_records(&policy.sandbox, surroundings)?;
        let choice = prove(&policy.sandbox, spawner, surroundings, proofs)?;
        let mut confine = Confine::new(&choice, &policy.sandbox, surroundings);
        confine.hide(hidden::places(policy, surroundings));
        let overlay = confine.may_have_tree()
            && spawner.probe(checkout).overlay
            && !surroundings.is_weak(Defence::Layer);
        if overlay {
            confine.layer_package_dirs(surroundings);
        }
        Ok(Self {
            confine,
            proven: choice.proven,
            overlay,
            redactor: surroundings.redactor(policy),
            made_from: PolicyParts::of(policy),
        })
    }

    /// Whether this policy asks for the same.
    pub fn are_of(&self, policy: &Policy) -> bool {
        self.made_from == PolicyParts::of(policy)
    }
}

impl PolicyParts {
    fn of(policy: &Policy) -> Self {
        let (sandbox, agent) = (policy.sandbox.clone(), policy.agent.clone());
        Self { sandbox, agent, roles: policy.roles.clone(), hidden: policy.gate.hidden.clone() }
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::policy::{SandboxLevel, WantedLevel};

    use super::*;

    const SECRET: &str = "kq7-lv2-zz9-unguessable-4711";

    fn unconfined() -> Policy {
        let mut policy = Policy::default();
        policy.sandbox.level = WantedLevel::None;
        policy.sandbox.minimum = SandboxLevel::None;
        policy
    }

    fn made(policy: &Policy) -> Result<Safeguards, DriveLoopError> {
        let root = tempfile::tempdir().unwrap();
        let surroundings = Surroundings {
            vars: [("DEPLOY".into(), SECRET.into()), ("PATH".into(), "/usr/bin:/bin".into())].into(),
            project: root.path().join("project"),
            state: root.path().join("state"),
        };
        let machine = Machine {
            spawner: &Spawner::new(),
            surroundings: &surroundings,
            proofs: &root.path().join("state/proofs"),
            checkout: root.path(),
        };
        Safeguards::make(policy, &machine)
    }

    #[test]
    fn a_policy_that_lends_another_variable_or_confines_otherwise_needs_others() {
        let policy = unconfined();
        let safeguards = made(&policy).unwrap();
        let mut other_limits = policy.clone();
        other_limits.limits.max_iterations += 1;
        assert!(safeguards.are_of(&other_limits));
        let mut lends = policy.clone();
        lends.agent.env.push("DEPLOY".to_owned());
        let mut lends_reviewer = policy.clone();
        lends_reviewer.roles.insert(Role::Reviewer, lends.agent.clone());
        let mut writes = policy.clone();
        writes.sandbox.extra_write.push("/elsewhere".to_owned());
        let mut raised = policy.clone();
        raised.sandbox.minimum = SandboxLevel::Landlock;
        for other in [&lends, &lends_reviewer, &writes, &raised] {
            assert!(!safeguards.are_of(other), "{other:?}");
        }
        assert!(safeguards.redactor.text(SECRET).contains(SECRET), "nobody is lent it");
        let fresh = made(&lends).unwrap();
        assert!(fresh.are_of(&lends) && !fresh.redactor.text(SECRET).contains(SECRET));
    }

    #[test]
    fn a_policy_that_cannot_be_held_makes_none() {
        let mut policy = unconfined();
        policy.sandbox.minimum = SandboxLevel::Namespaces;
        assert!(matches!(made(&policy), Err(DriveLoopError::Sandbox(_))));
        let mut policy = unconfined();
        policy.sandbox.extra_write.push("/".to_owned());
        assert!(matches!(made(&policy), Err(DriveLoopError::Exposed(_))));
    }
}
