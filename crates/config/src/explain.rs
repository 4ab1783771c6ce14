//! What a key means, what it is set to, and who set it.

use std::fmt;

use windlass_core::nearest::nearest;
use windlass_core::policy::{CheckPolicy, Policy, Role};

use super::format::{KeyLookup, PolicyFormat};
use super::key::PolicyKey;
use super::kind::checks::{self, CHECK_KEYS, CheckDraft};
use super::read::ValueOrigin;
use super::resolve::Resolved;

/// One key, as the reference describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyDoc {
    pub name: String,
    /// What it accepts.
    pub kind: String,
    /// As written in a file; none where it comes from elsewhere or must be given.
    pub default: Option<String>,
    pub doc: &'static str,
}

/// One key under one policy.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    pub key: KeyDoc,
    pub value: String,
    pub origin: Option<ValueOrigin>,
    /// The key of `[agent]` a role takes the value from.
    pub inherited: Option<String>,
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("there is no key `{name}`{}", .nearest.as_ref().map_or(String::new(), |key| format!("; did you mean `{key}`?")))]
pub struct UnknownKey {
    pub name: String,
    pub nearest: Option<String>,
}

impl PolicyFormat {
    /// Every key there is, in the order of the file.
    pub fn keys(&self) -> Vec<KeyDoc> {
        self.all_names().iter().filter_map(|name| self.describe(name)).collect()
    }

    /// Explains a key, every key of a table, or every key there is.
    pub fn explain(&self, resolved: &Resolved, name: Option<&str>) -> Result<Vec<Explanation>, UnknownKey> {
        let names = self.all_names();
        let wanted: Vec<&str> = match name {
            None => names.iter().map(String::as_str).collect(),
            Some(name) if matches!(self.find(name), KeyLookup::Policy(_) | KeyLookup::Agent(..)) => {
                vec![name]
            }
            Some(name) => {
                let below = format!("{name}.");
                let wanted = names.iter().filter(|key| *key == name || key.starts_with(&below));
                wanted.map(String::as_str).collect()
            }
        };
        let found: Vec<Explanation> =
            wanted.into_iter().filter_map(|name| self.explain_one(resolved, name)).collect();
        match name {
            Some(name) if found.is_empty() => {
                let nearest = nearest(name, names.iter().map(String::as_str)).map(str::to_owned);
                Err(UnknownKey { name: name.to_owned(), nearest })
            }
            Some(_) | None => Ok(found),
        }
    }

    fn explain_one(&self, resolved: &Resolved, name: &str) -> Option<Explanation> {
        let key = self.describe(name)?;
        let value = self.show(name, &resolved.policy)?;
        let origin = resolved.origin(name).or_else(|| check_key(name).and(resolved.origin("gate.check")));
        let (origin, inherited) = match (origin, self.find(name)) {
            (None, KeyLookup::Agent(Some(role), field)) => self.inherited(resolved, role, field.name),
            (origin, _) => (origin, None),
        };
        Some(Explanation { key, value, origin: origin.cloned(), inherited })
    }

    /// A role takes what it does not set from `[agent]`, unless that is of
    /// another kind.
    fn inherited<'r>(
        &self,
        resolved: &'r Resolved,
        role: Role,
        field: &str,
    ) -> (Option<&'r ValueOrigin>, Option<String>) {
        let from = format!("agent.{field}");
        let own = self.show(&format!("role.{}.{field}", role.name()), &resolved.policy);
        let is_the_same = own == self.show(&from, &resolved.policy);
        if is_the_same { (resolved.origin(&from), Some(from)) } else { (None, None) }
    }

    fn describe(&self, name: &str) -> Option<KeyDoc> {
        let (kind, doc, default) = match (check_key(name), self.find(name)) {
            (Some(key), _) => (key.takes(), key.doc, checks::default_of(key)),
            (None, KeyLookup::Policy(key)) => (key.takes(), key.doc, Some(key.show(&Policy::default()))),
            (None, KeyLookup::Agent(None, key)) => {
                (key.takes(), key.doc, Some(key.show(&Policy::default().agent)))
            }
            (None, KeyLookup::Agent(Some(_), key)) => (key.takes(), key.doc, None),
            (None, KeyLookup::Table | KeyLookup::Later | KeyLookup::Unknown) => return None,
        };
        Some(KeyDoc { name: name.to_owned(), kind, default, doc })
    }

    pub(crate) fn show(&self, name: &str, policy: &Policy) -> Option<String> {
        if let Some(key) = check_key(name) {
            let values = policy.gate.checks.iter().map(|check: &CheckPolicy| checks::show_key(check, key));
            return Some(format!("[{}]", values.collect::<Vec<_>>().join(", ")));
        }
        match self.find(name) {
            KeyLookup::Policy(key) => Some(key.show(policy)),
            KeyLookup::Agent(None, key) => Some(key.show(&policy.agent)),
            KeyLookup::Agent(Some(role), key) => Some(key.show(policy.agent_for(role))),
            KeyLookup::Table | KeyLookup::Later | KeyLookup::Unknown => None,
        }
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} = {}", self.key.name, self.value)?;
        writeln!(f, "  {}", self.key.doc)?;
        writeln!(f, "  takes: {}", self.key.kind)?;
        if let Some(from) = &self.inherited {
            writeln!(f, "  inherited from: {from}")?;
        }
        match &self.origin {
            Some(ValueOrigin { layer, line, column, .. }) => {
                writeln!(f, "  set by: {}:{line}:{column} ({})", layer.name, layer.kind.describe())?;
            }
            None => writeln!(f, "  set by: nothing; this is the default")?,
        }
        match &self.key.default {
            Some(default) => writeln!(f, "  default: {default}"),
            None => Ok(()),
        }
    }
}

/// A name that stands for one word of every check.
pub(crate) fn shows_checks(name: &str) -> bool {
    check_key(name).is_some()
}

fn check_key(name: &str) -> Option<&'static PolicyKey<CheckDraft>> {
    let word = name.strip_prefix("gate.check.")?;
    CHECK_KEYS.iter().find(|key| key.name == word)
}
