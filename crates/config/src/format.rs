//! The format of windlass.toml: which names mean what.

use windlass_core::nearest::nearest;
use windlass_core::policy::{AgentPolicy, Policy, Role};

use super::agent_keys::agent_keys;
use super::key::PolicyKey;
use super::keys::policy_keys;
use super::kind::checks::CHECK_KEYS;

/// Every key that a policy file may have.
pub struct PolicyFormat {
    pub(crate) policy_keys: Vec<PolicyKey<Policy>>,
    pub(crate) agent_keys: Vec<PolicyKey<AgentPolicy>>,
}

/// The agents that a policy may name. Whoever calls them knows them; this crate
/// is told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentNames {
    /// Programs that windlass knows how to call and to hear, the best first.
    pub known: Vec<&'static str>,
    /// Every word that `use` may have: the known programs, and such as `command`.
    pub adapters: Vec<&'static str>,
}

/// What a dotted name is.
pub enum KeyLookup<'a> {
    Policy(&'a PolicyKey<Policy>),
    /// A key of `[agent]`, or of a role's table.
    Agent(Option<Role>, &'a PolicyKey<AgentPolicy>),
    /// A table with keys in it.
    Table,
    /// A key only later versions know.
    Later,
    Unknown,
}

impl PolicyFormat {
    pub fn new(agents: &AgentNames) -> Self {
        Self { policy_keys: policy_keys(), agent_keys: agent_keys(agents) }
    }

    pub(crate) fn find(&self, name: &str) -> KeyLookup<'_> {
        if let Some(key) = self.policy_keys.iter().find(|key| key.name == name) {
            return KeyLookup::Policy(key);
        }
        if LATER.iter().any(|later| is_at_or_below(name, later)) {
            return KeyLookup::Later;
        }
        if let Some((role, rest)) = agent_table(name) {
            let key = self.agent_keys.iter().find(|key| key.name == rest);
            return match key {
                Some(key) => KeyLookup::Agent(role, key),
                None if rest.is_empty() => KeyLookup::Table,
                None => KeyLookup::Unknown,
            };
        }
        if name == "role" || self.policy_keys.iter().any(|key| is_below(key.name, name)) {
            return KeyLookup::Table;
        }
        KeyLookup::Unknown
    }

    /// What to say about a name that is not known.
    pub(crate) fn suggest(&self, name: &str) -> String {
        let (table, word) = name.rsplit_once('.').unwrap_or(("", name));
        let known = self.words_in(table);
        if let Some(meant) = nearest(word, known.iter().copied()) {
            return format!("did you mean `{meant}`?");
        }
        if let Some(elsewhere) =
            self.all_names().into_iter().find(|name| name.rsplit('.').next() == Some(word))
        {
            let (table, _) = elsewhere.rsplit_once('.').unwrap_or(("", word));
            return format!("`{word}` belongs to [{table}]");
        }
        match table {
            "" => format!("known tables: {}", known.join(", ")),
            _ if known.is_empty() => format!("known tables: {}", TABLES.join(", ")),
            table => format!("[{table}] has: {}", known.join(", ")),
        }
    }

    /// The key of the same table that was meant, dotted as an argument has it.
    pub(crate) fn nearest_in_table(&self, name: &str) -> Option<String> {
        let (table, word) = name.rsplit_once('.')?;
        let meant = nearest(word, self.words_in(table).iter().copied())?;
        Some(format!("{table}.{meant}"))
    }

    /// Every leaf, dotted; each role has the keys of `[agent]`.
    pub(crate) fn all_names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for table in TABLES {
            match table {
                "agent" => names.extend(self.agent_keys.iter().map(|key| format!("agent.{}", key.name))),
                "role" => {
                    for role in Role::ALL {
                        names.extend(
                            self.agent_keys.iter().map(|key| format!("role.{}.{}", role.name(), key.name)),
                        );
                    }
                }
                table => {
                    names.extend(
                        self.policy_keys
                            .iter()
                            .map(|key| key.name.to_owned())
                            .filter(|name| is_at_or_below(name, table)),
                    );
                }
            }
            if table == "gate" {
                names.extend(CHECK_KEYS.iter().map(|key| format!("gate.check.{}", key.name)));
            }
        }
        names
    }

    fn words_in(&self, table: &str) -> Vec<&'static str> {
        match (table, agent_table(table)) {
            ("", _) => TABLES.to_vec(),
            ("role", _) => Role::ALL.iter().map(|role| role.name()).collect(),
            ("gate.check", _) => CHECK_KEYS.iter().map(|key| key.name).collect(),
            (_, Some((_, ""))) => self.agent_keys.iter().map(|key| key.name).collect(),
            (_, Some(_) | None) => self
                .policy_keys
                .iter()
                .filter_map(|key| key.name.strip_prefix(table)?.strip_prefix('.'))
                .collect(),
        }
    }
}

/// The tables, in the order of the file.
pub const TABLES: [&str; 15] = [
    "loop",
    "budget",
    "agent",
    "role",
    "workspace",
    "plan",
    "gate",
    "review",
    "finish",
    "brief",
    "sandbox",
    "land",
    "stop",
    "scope",
    "price",
];

const LATER: [&str; 2] = ["hooks", "notify"];

/// The role of `role.<name>…` or none for `agent…`, and what follows.
fn agent_table(name: &str) -> Option<(Option<Role>, &str)> {
    let (table, rest) = name.split_once('.').unwrap_or((name, ""));
    match table {
        "agent" => Some((None, rest)),
        "role" => {
            let (word, rest) = rest.split_once('.').unwrap_or((rest, ""));
            let role = Role::ALL.into_iter().find(|role| role.name() == word)?;
            Some((Some(role), rest))
        }
        _ => None,
    }
}

fn is_below(name: &str, table: &str) -> bool {
    name.strip_prefix(table).is_some_and(|rest| rest.starts_with('.'))
}

fn is_at_or_below(name: &str, table: &str) -> bool {
    name == table || is_below(name, table)
}
