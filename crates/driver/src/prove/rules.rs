//! The policies of a loop, and how the gate changed with them.

use windlass_core::history::{History, PolicyRecord};
use windlass_core::policy::{CheckPolicy, GatePolicy};
use windlass_gate::definition;

use super::{Gate, PolicyProof};

pub(super) fn gate(gate: &GatePolicy) -> Gate {
    let definition = definition(gate);
    Gate {
        hash: blake3::hash(definition.as_bytes()).to_hex().to_string(),
        definition,
        checks: gate.checks_for(None),
    }
}

pub(super) fn policies(past: &History) -> Vec<PolicyProof> {
    let before = std::iter::once(None).chain(past.policies.iter().map(Some));
    let proof = |(of, before): (&PolicyRecord, Option<&PolicyRecord>)| PolicyProof {
        event: of.event,
        at: of.at,
        keys: of.keys.clone(),
        dropped: before.map_or_else(Vec::new, |before| dropped(&before.policy.gate, &of.policy.gate)),
        gate: gate(&of.policy.gate),
    };
    past.policies.iter().zip(before).map(proof).collect()
}

/// The first event after `from`, up to `to`, at which the gate became another than it was at `from`.
pub(super) fn gate_replaced(past: &History, from: u64, to: u64) -> Option<u64> {
    let then = past.policy_at(from)?;
    let later = past.policies.iter().filter(|of| of.event > from && of.event <= to);
    later.filter(|of| of.policy.gate != then.policy.gate).map(|of| of.event).next()
}

/// What a proof says of the policies, in one line.
pub(super) fn words(past: &History) -> String {
    let changes = || past.policies.iter().zip(past.policies.iter().skip(1));
    let other_gate =
        |(before, after): &(&PolicyRecord, &PolicyRecord)| before.policy.gate != after.policy.gate;
    let all: Vec<String> = changes().map(|(_, after)| after.event.to_string()).collect();
    let gates: Vec<String> = changes().filter(other_gate).map(|(_, after)| after.event.to_string()).collect();
    match (all.as_slice(), gates.as_slice()) {
        ([], _) => "the same from the beginning".to_owned(),
        (all, []) => format!("changed at event {}, but not its gate", all.join(", ")),
        (_, gates) => format!("its gate changed at event {}", gates.join(", ")),
    }
}

/// What the gate asked before and does not ask now.
fn dropped(before: &GatePolicy, after: &GatePolicy) -> Vec<String> {
    let check = |old: &CheckPolicy| match after.check(&old.name) {
        None => Some(format!("check {} is gone", old.name)),
        Some(new) if new != old => Some(format!("check {} is another", old.name)),
        Some(_) => None,
    };
    let pattern = |old: &&String| !after.protect.contains(old);
    let patterns = before.protect.iter().filter(pattern);
    let patterns = patterns.map(|pattern| format!("{pattern} is not protected"));
    before.checks.iter().filter_map(check).chain(patterns).collect()
}

#[cfg(test)]
mod tests {
    use windlass_core::event::{Decision, LoopEvent};
    use windlass_core::history::HistoryLimits;
    use windlass_core::policy::Policy;
    use windlass_core::revision::PolicyRevision;
    use windlass_core::time::{Millis, Timestamp};

    use super::*;

    fn policy(checks: &[&str], protect: &[&str]) -> Policy {
        let check = |name: &&str| CheckPolicy { name: (*name).to_owned(), ..CheckPolicy::default() };
        let mut policy = Policy::default();
        policy.gate.checks = checks.iter().map(check).collect();
        policy.gate.protect = protect.iter().map(|glob| (*glob).to_owned()).collect();
        policy
    }

    /// Each policy from event 1, 11, 21 and so on.
    fn past(policies: &[Policy]) -> History {
        let mut past = History::new(HistoryLimits::ALL);
        for (at, policy) in (0u64..).zip(policies) {
            let change = PolicyRevision { number: 1, keys: Vec::new(), policy: policy.clone() };
            let events = vec![LoopEvent::PolicyChanged(Box::new(change)).into()];
            let (elapsed, closes, effects) = (Millis(0), None, Vec::new());
            past.note(at * 10 + 1, &Decision { at: Timestamp(0), elapsed, closes, events, effects });
        }
        past
    }

    #[test]
    fn what_a_gate_no_longer_asks_is_named() {
        let mut other = policy(&["lint", "test"], &["a"]);
        other.gate.checks[0].run = "true".to_owned();
        let past =
            past(&[policy(&["lint", "test"], &["a", "b"]), other.clone(), policy(&["test", "more"], &["a"])]);
        let dropped: Vec<Vec<String>> = policies(&past).into_iter().map(|policy| policy.dropped).collect();
        assert_eq!(
            dropped,
            [vec![], vec!["check lint is another", "b is not protected"], vec!["check lint is gone"]]
        );
        assert_eq!(words(&past), "its gate changed at event 11, 21");
    }

    #[test]
    fn a_policy_with_the_same_gate_replaces_no_gate() {
        let mut same = policy(&["test"], &[]);
        same.limits.max_iterations = 7;
        let past = past(&[policy(&["test"], &[]), same, policy(&["more"], &[])]);
        assert_eq!((gate_replaced(&past, 1, 20), gate_replaced(&past, 1, 30)), (None, Some(21)));
        assert_eq!(gate_replaced(&past, 21, 99), None);
    }
}
