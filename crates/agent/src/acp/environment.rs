//! What the programs that are known are told beside the protocol: to leave updates to people, and retries to
//! windlass. What the operator set wins.

use std::ffi::OsString;

use serde_json::{Value, json};
use windlass_core::policy::AgentPolicy;

use crate::{cli, registry};

/// Where codex-acp 2 is given Codex's configuration, as JSON.
const CODEX_CONFIG: &str = "CODEX_CONFIG";

pub fn of(policy: &AgentPolicy) -> Vec<(OsString, OsString)> {
    let name = registry::behind(policy).map(|agent| agent.name);
    let fixed = if name == Some("claude") { cli::CLAUDE_ENVIRONMENT } else { &[] };
    let fixed = fixed.iter().map(|(name, value)| (name.into(), value.into()));
    let set = policy.extra.set.iter().map(|(variable, value)| {
        let fewer = Some(variable).filter(|variable| name == Some("codex") && *variable == CODEX_CONFIG);
        let value = fewer.and_then(|_| fewer_retries(value)).unwrap_or_else(|| value.clone());
        (variable.into(), value.into())
    });
    fixed.chain(set).collect()
}

/// A provider of the operator's is told to try less by itself. The built-in ones cannot be: Codex refuses every
/// key below their names.
fn fewer_retries(config: &str) -> Option<String> {
    let mut config: Value = serde_json::from_str(config).ok()?;
    let providers = config.get_mut("model_providers")?.as_object_mut()?;
    for provider in providers.values_mut().filter_map(Value::as_object_mut) {
        for (key, count) in [("request_max_retries", 2), ("stream_max_retries", 1)] {
            provider.entry(key).or_insert(json!(count));
        }
    }
    Some(config.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(program: &str, set: &[(&str, &str)]) -> Vec<(String, String)> {
        let mut policy = AgentPolicy {
            adapter: "acp".to_owned(),
            command: vec![program.to_owned()],
            ..AgentPolicy::default()
        };
        policy.extra.set = set.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        let text = |text: OsString| text.into_string().unwrap();
        of(&policy).into_iter().map(|(name, value)| (text(name), text(value))).collect()
    }

    #[test]
    fn known_programs_try_less_and_the_operator_wins() {
        let claude = environment("/opt/claude-agent-acp", &[("CLAUDE_CODE_MAX_RETRIES", "7")]);
        let retries: Vec<_> = claude.iter().filter(|(name, _)| name == "CLAUDE_CODE_MAX_RETRIES").collect();
        assert_eq!(retries.last().unwrap().1, "7", "the last one holds: {claude:?}");
        assert_eq!(retries[0].1, "2");
        let given = r#"{"model_providers":{"mine":{"name":"x","stream_max_retries":9}}}"#;
        let told = environment("codex-acp", &[(CODEX_CONFIG, given)]);
        let told: Value = serde_json::from_str(&told[0].1).unwrap();
        assert_eq!(
            told["model_providers"]["mine"],
            json!({"name": "x", "request_max_retries": 2, "stream_max_retries": 9})
        );
        for other in [r#"{"model":"x"}"#, "no JSON", r#"{"model_providers":7}"#] {
            assert_eq!(environment("codex-acp", &[(CODEX_CONFIG, other)])[0].1, other);
            assert_eq!(environment("some-agent", &[(CODEX_CONFIG, given)])[0].1, given, "nobody knows it");
        }
    }
}
