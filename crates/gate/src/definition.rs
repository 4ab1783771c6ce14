//! What a gate is, as text: two gates of equal definition judge equally.

use windlass_core::policy::GatePolicy;

/// Begins every definition; changed whenever the same policy comes to mean something else, so that no result
/// is taken for one of the other meaning.
const MEANING: &str = "windlass gate 1";

/// Canonical, for hashing. Order matters, as it does in the policy.
pub fn definition(gate: &GatePolicy) -> String {
    let policy = serde_json::to_string(gate).expect("a policy is plain data");
    format!("{MEANING}\n{policy}\n")
}

#[cfg(test)]
mod tests {
    use windlass_core::policy::{CheckPolicy, CheckWhen};
    use windlass_core::time::Millis;

    use super::*;

    #[test]
    fn a_definition_changes_with_anything_that_judges() {
        let check = |run: &str, timeout| CheckPolicy {
            name: "test".to_owned(),
            run: run.to_owned(),
            when: CheckWhen::Both,
            timeout: Millis(timeout),
            ..CheckPolicy::default()
        };
        let gate = |protect: &str, checks| GatePolicy {
            protect: vec![protect.to_owned()],
            checks,
            ..GatePolicy::default()
        };
        let gates = [
            gate("a", vec![check("x", 1)]),
            gate("b", vec![check("x", 1)]),
            gate("a", vec![check("y", 1)]),
            gate("a", vec![check("x", 2)]),
            gate("a", vec![check("x", 1), check("y", 1)]),
            gate("a", vec![check("y", 1), check("x", 1)]),
        ];
        let mut texts: Vec<String> = gates.iter().map(definition).collect();
        assert_eq!(texts[0], definition(&gates[0].clone()));
        assert_eq!(
            texts[0],
            "windlass gate 1\n{\"timeout\":300000,\"protect\":[\"a\"],\"control\":\"final\",\"checks\":[{\"name\":\"test\",\"run\":\"x\",\"when\":\"both\",\"timeout\":1}]}\n"
        );
        texts.sort();
        texts.dedup();
        assert_eq!(texts.len(), gates.len());
    }
}
