//! A policy in force that gets other values: what is written is set on top of
//! it, and how two policies differ is told key by key.

use std::path::Path;

use serde_json::Value;
use windlass_core::policy::{BriefPart, Policy, Role};
use windlass_core::revision::KeyChange;

use super::explain::shows_checks;
use super::format::{KeyLookup, PolicyFormat};
use super::layer::{Sources, read_layers};
use super::problem::ConfigError;
use super::resolve::Resolved;

impl PolicyFormat {
    /// The policy with what a file and single keys say instead; the project's
    /// and the user's file are not read.
    pub fn revise(
        &self,
        policy: &Policy,
        policy_file: Option<&Path>,
        set: &[String],
    ) -> Result<Resolved, ConfigError> {
        let sources =
            Sources { policy_file: policy_file.map(Path::to_owned), set: set.to_vec(), ..Sources::default() };
        let mut layers = read_layers(&sources)?;
        layers.retain(|layer| layer.kind.is_of_the_request());
        let mut revised = self.resolve_onto(policy.clone(), layers)?;
        forget_other_files(policy, &mut revised.policy);
        Ok(revised)
    }

    /// Every key with another value, in the order of the file.
    pub fn changes(&self, before: &Policy, after: &Policy) -> Vec<KeyChange> {
        let has_role = |role: Role| before.roles.contains_key(&role) || after.roles.contains_key(&role);
        let is_told = |name: &String| match self.find(name) {
            KeyLookup::Agent(Some(role), _) => has_role(role),
            KeyLookup::Policy(_) | KeyLookup::Agent(None, _) => true,
            KeyLookup::Table | KeyLookup::Later | KeyLookup::Unknown => false,
        };
        let names = self.all_names().into_iter().filter(|name| !shows_checks(name) && is_told(name));
        let mut changes: Vec<KeyChange> = names.filter_map(|name| self.change(name, before, after)).collect();
        for part in BriefPart::ALL {
            let texts = [before, after].map(|policy| policy.brief.part(part));
            if let [Some(old), Some(new)] = texts
                && old.file == new.file
                && old.text != new.text
            {
                changes.push(KeyChange {
                    key: part.key().to_owned(),
                    before: format!("the text of {}", old.file),
                    after: "what is in it now".to_owned(),
                });
            }
        }
        let [old, new] = [before, after].map(|policy| &policy.gate.hidden);
        if old.dir == new.dir && old.files != new.files {
            changes.push(KeyChange {
                key: "gate.hidden_dir".to_owned(),
                before: format!("the files of {}", old.dir),
                after: "what is in it now".to_owned(),
            });
        }
        changes
    }

    fn change(&self, key: String, before: &Policy, after: &Policy) -> Option<KeyChange> {
        let (before, after) = (self.show(&key, before)?, self.show(&key, after)?);
        (before != after).then_some(KeyChange { key, before, after })
    }
}

/// A policy with what differs between two readings of its files; everything else stays as it is.
pub fn with_edits(policy: &Policy, before: &Policy, after: &Policy) -> Policy {
    let [mut edited, before, after] =
        [policy, before, after].map(|policy| serde_json::to_value(policy).expect("a policy is plain data"));
    edit(&mut edited, &before, &after);
    let mut edited = serde_json::from_value(edited).expect("made of parts of policies");
    forget_other_files(policy, &mut edited);
    edited
}

/// Tables are compared key by key, anything else as a whole.
fn edit(value: &mut Value, before: &Value, after: &Value) {
    match (value, before, after) {
        (Value::Object(value), Value::Object(before), Value::Object(after)) => {
            for key in before.keys().filter(|key| !after.contains_key(*key)) {
                value.remove(key);
            }
            for (key, after) in after.iter().filter(|(key, after)| before.get(*key) != Some(after)) {
                let before = before.get(key).unwrap_or(&Value::Null);
                edit(value.entry(key).or_insert(Value::Null), before, after);
            }
        }
        (value, _, after) => *value = after.clone(),
    }
}

/// The text of another file is another.
fn forget_other_files(before: &Policy, after: &mut Policy) {
    for part in BriefPart::ALL {
        let files = [before, &*after].map(|policy| policy.brief.part(part).map(|own| own.file.clone()));
        if files[1].is_some() && files[0] != files[1] {
            after.brief.part_mut(part).text.clear();
        }
    }
    let hidden = &mut after.gate.hidden;
    hidden.files.take_if(|_| hidden.dir != before.gate.hidden.dir);
}

#[cfg(test)]
mod tests {
    use super::super::format::AgentNames;
    use super::super::layer::{Layer, LayerKind};
    use super::*;

    fn format() -> PolicyFormat {
        PolicyFormat::new(&AgentNames { known: vec!["codex"], adapters: vec!["codex", "command"] })
    }

    fn policy(text: &str) -> Policy {
        format().resolve(vec![Layer::new(LayerKind::Project, "windlass.toml", text)]).unwrap().policy
    }

    fn revised(policy: &Policy, set: &[&str]) -> Policy {
        let set: Vec<String> = set.iter().map(|&word| word.to_owned()).collect();
        format().revise(policy, None, &set).unwrap().policy
    }

    fn shown(before: &Policy, after: &Policy) -> Vec<String> {
        let changes = format().changes(before, after);
        changes.iter().map(|c| format!("{}: {} -> {}", c.key, c.before, c.after)).collect()
    }

    const AGENTS: &str = "[agent]\nuse = \"command\"\ncommand = [\"a\"]\ntimeout = \"5m\"\n\
        [role.reviewer]\ncommand = [\"b\"]\n[role.finisher]\nuse = \"codex\"\n";

    #[test]
    fn only_what_is_set_becomes_another() {
        let before = policy("[loop]\nmax_iterations = 3\n[review]\nfinal = false\n");
        let after = revised(&before, &["loop.max_iterations=9"]);
        assert_eq!(shown(&before, &after), ["loop.max_iterations: 3 -> 9"]);
        assert_eq!(shown(&before, &revised(&before, &["loop.max_iterations=3"])), Vec::<String>::new());
        assert_eq!(revised(&after, &["loop.max_iterations=3"]), before);
    }

    #[test]
    fn a_role_follows_what_it_has_of_the_agent() {
        let before = policy(AGENTS);
        let after = revised(&before, &["agent.timeout=7m"]);
        assert_eq!(after, policy(&AGENTS.replace("5m", "7m")));
        let own = revised(&before, &["role.reviewer.timeout=1m"]);
        let follows = revised(&own, &["agent.timeout=7m", "agent.command=[\"c\"]"]);
        let reviewer = follows.agent_for(Role::Reviewer);
        assert_eq!(
            (reviewer.timeout, &reviewer.command),
            (own.agent_for(Role::Reviewer).timeout, &vec!["b".to_owned()])
        );
        assert!(follows.agent_for(Role::Finisher).command.is_empty());
        assert_eq!(follows.agent_for(Role::Finisher).adapter, "codex");
    }

    #[test]
    fn what_cannot_be_written_cannot_be_set() {
        let before = policy("");
        for (set, said) in [
            ("loop.max_iteration=9", "did you mean `loop.max_iterations`?"),
            ("loop.max_iterations=many", "max_iterations"),
            ("nonsense", "there is no `=` in it"),
        ] {
            let refused = format().revise(&before, None, &[set.to_owned()]).unwrap_err().to_string();
            assert!(refused.contains(said), "{set}: {refused}");
        }
    }

    #[test]
    fn another_template_has_another_text() {
        let mut before = policy("[brief]\nrules = \"a.md\"\nfix = \"f.md\"\n");
        before.brief.part_mut(BriefPart::Rules).text = "old".to_owned();
        before.brief.part_mut(BriefPart::Fix).text = "fix".to_owned();
        let after = revised(&before, &["brief.rules=b.md"]);
        assert_eq!(after.brief.part(BriefPart::Rules).unwrap().text, "");
        assert_eq!(after.brief.part(BriefPart::Fix).unwrap().text, "fix");
        let mut reread = before.clone();
        reread.brief.part_mut(BriefPart::Rules).text = "new".to_owned();
        assert_eq!(shown(&before, &reread), ["brief.rules: the text of a.md -> what is in it now"]);
    }

    #[test]
    fn what_was_edited_comes_and_what_was_set_stays() {
        let before = policy(AGENTS);
        let after = policy(&AGENTS.replace("5m", "7m").replace("[\"b\"]", "[\"c\"]"));
        let set = revised(&before, &["loop.max_iterations=9"]);
        let edited = with_edits(&set, &before, &after);
        assert_eq!(edited, revised(&after, &["loop.max_iterations=9"]));
        assert_eq!(with_edits(&set, &before, &before), set);
        let without = policy("[agent]\nuse = \"command\"\ncommand = [\"a\"]\ntimeout = \"5m\"\n");
        assert_eq!(with_edits(&before, &before, &without), without);
        assert_eq!(with_edits(&without, &without, &before), before);
    }
}
