//! How much a task may change and read, by the name of its mode.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use toml::de::DeTable;
use windlass_core::nearest::nearest;
use windlass_core::scope::ScopeLimits;

use super::number::LARGE_LIMIT;
use super::{Setter, TomlValue, ValueKind, quoted, replace_all, wrong_type};
use crate::key::PolicyKey;
use crate::problem::TextProblem;

static SCOPE_KEYS: LazyLock<Vec<PolicyKey<ScopeLimits>>> = LazyLock::new(|| {
    vec![
        PolicyKey::new("files_changed", LARGE_LIMIT, |scope: &mut ScopeLimits| &mut scope.files_changed)
            .doc("Files that differ from the task's base."),
        PolicyKey::new("lines_written", LARGE_LIMIT, |scope: &mut ScopeLimits| &mut scope.lines_written)
            .doc("Lines added since the task's base."),
        PolicyKey::new("files_read", LARGE_LIMIT, |scope: &mut ScopeLimits| &mut scope.files_read)
            .doc("Different files that one attempt reads."),
    ]
});

pub struct Scopes;

impl ValueKind for Scopes {
    type Target = BTreeMap<String, ScopeLimits>;

    fn read(&self, key: &str, value: &TomlValue<'_>) -> Result<Setter<Self::Target>, Vec<TextProblem>> {
        replace_all(scopes(key, value))
    }

    fn takes(&self) -> String {
        "table of modes".to_owned()
    }

    fn show(&self, scopes: &Self::Target) -> String {
        let one = |(mode, scope): (&String, &ScopeLimits)| {
            let parts = SCOPE_KEYS.iter().map(|key| format!("{} = {}", key.name, key.show(scope)));
            format!("{} = {{ {} }}", quoted(mode), parts.collect::<Vec<_>>().join(", "))
        };
        match scopes.is_empty() {
            true => "{}".to_owned(),
            false => format!("{{ {} }}", scopes.iter().map(one).collect::<Vec<_>>().join(", ")),
        }
    }
}

fn scopes(key: &str, value: &TomlValue<'_>) -> Result<BTreeMap<String, ScopeLimits>, Vec<TextProblem>> {
    let help =
        || "write it like [scope.implement] with files_changed = 10 and lines_written = 400".to_owned();
    let not_a_table = |value| TextProblem { help: help(), ..wrong_type(key, "a table of modes", value) };
    let Some(table) = value.get_ref().as_table() else { return Err(vec![not_a_table(value)]) };
    let mut kept = BTreeMap::new();
    let mut problems = Vec::new();
    for (mode, given) in table.iter() {
        let Some(parts) = given.get_ref().as_table() else {
            problems.push(not_a_table(given));
            continue;
        };
        match limits(&format!("{key}.{}", mode.get_ref()), parts) {
            Ok(scope) => drop(kept.insert(mode.get_ref().to_string(), scope)),
            Err(found) => problems.extend(found),
        }
    }
    if problems.is_empty() { Ok(kept) } else { Err(problems) }
}

fn limits(path: &str, table: &DeTable<'_>) -> Result<ScopeLimits, Vec<TextProblem>> {
    let mut scope = ScopeLimits::default();
    let mut problems = Vec::new();
    for (written, value) in table.iter() {
        let name = written.get_ref();
        match SCOPE_KEYS.iter().find(|key| key.name == name) {
            Some(key) => match key.read(&format!("{path}.{name}"), value) {
                Ok(change) => change(&mut scope),
                Err(found) => problems.extend(found),
            },
            None => {
                let names: Vec<&str> = SCOPE_KEYS.iter().map(|key| key.name).collect();
                let known = format!("a scope has: {}", names.join(", "));
                let meant = nearest(name, names.iter().copied());
                problems.push(TextProblem {
                    span: written.span(),
                    message: format!("unknown key `{path}.{name}`"),
                    help: meant.map_or(known, |meant| format!("did you mean `{meant}`?")),
                });
            }
        }
    }
    if problems.is_empty() { Ok(scope) } else { Err(problems) }
}
