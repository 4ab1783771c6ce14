//! Values that are tables whose names the operator chooses.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use toml::de::DeTable;
use windlass_core::nearest::nearest;
use windlass_core::policy::AgentPolicy;
use windlass_core::usage::Price;

use super::list::VARIABLES;
use super::number::DOLLARS;
use super::text::{inside, text};
use super::{Setter, TomlValue, ValueKind, quoted, quoted_list, replace_all, wrong_type};
use crate::key::PolicyKey;
use crate::problem::TextProblem;

/// Environment variables of an agent: passed through by name, or with a value.
pub struct Variables;

impl ValueKind for Variables {
    type Target = AgentPolicy;

    fn read(&self, key: &str, value: &TomlValue<'_>) -> Result<Setter<AgentPolicy>, Vec<TextProblem>> {
        let (names, values) = match value.get_ref().as_table() {
            Some(table) => {
                let accept = Accept { name: VARIABLES.accept, value: |value| Ok(value.to_owned()) };
                (Vec::new(), pairs(key, table, accept)?)
            }
            None => (VARIABLES.parse(key, value)?, BTreeMap::new()),
        };
        Ok(Box::new(move |agent| (agent.env, agent.extra.set) = (names, values)))
    }

    fn takes(&self) -> String {
        "list of names, or table of names and values".to_owned()
    }

    fn show(&self, agent: &AgentPolicy) -> String {
        match agent.extra.set.is_empty() {
            true => quoted_list(&agent.env),
            false => show_pairs(&agent.extra.set),
        }
    }
}

/// Paths in the workspace, each with a path of the operator's project.
pub struct InjectedFiles;

impl ValueKind for InjectedFiles {
    type Target = BTreeMap<String, String>;

    fn read(&self, key: &str, value: &TomlValue<'_>) -> Result<Setter<Self::Target>, Vec<TextProblem>> {
        let Some(table) = value.get_ref().as_table() else {
            let help = "write it like { \".mcp.json\" = \"agents/mcp.json\" }".to_owned();
            return Err(vec![TextProblem { help, ..wrong_type(key, "a table of paths", value) }]);
        };
        replace_all(pairs(key, table, Accept { name: in_workspace, value: inside }))
    }

    fn takes(&self) -> String {
        "table of paths".to_owned()
    }

    fn show(&self, paths: &Self::Target) -> String {
        show_pairs(paths)
    }
}

/// A file of the workspace: not all of it, and nothing of git's.
fn in_workspace(item: &str) -> Result<String, String> {
    let path = inside(item)?;
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    if parts.is_empty() || parts.contains(&".git") {
        return Err(format!("{} cannot be put into the workspace", quoted(item)));
    }
    Ok(parts.join("/"))
}

/// What becomes of the names and the values of a table, or what is wrong with one.
struct Accept {
    name: fn(&str) -> Result<String, String>,
    value: fn(&str) -> Result<String, String>,
}

fn pairs(
    key: &str,
    table: &DeTable<'_>,
    accept: Accept,
) -> Result<BTreeMap<String, String>, Vec<TextProblem>> {
    let mut kept = BTreeMap::new();
    let mut problems = Vec::new();
    for (written, given) in table.iter() {
        let wrong = |span, why: String| {
            let message = format!("in `{key}`, {why}");
            TextProblem { span, message, help: "correct it, or remove it".to_owned() }
        };
        let pair =
            (accept.name)(written.get_ref()).map_err(|why| wrong(written.span(), why)).and_then(|name| {
                let said = text(&format!("{key}.{name}"), given)?;
                let said = (accept.value)(&said).map_err(|why| wrong(given.span(), why))?;
                Ok((name, said))
            });
        match pair {
            Ok((name, said)) => drop(kept.insert(name, said)),
            Err(problem) => problems.push(problem),
        }
    }
    if problems.is_empty() { Ok(kept) } else { Err(problems) }
}

fn show_pairs(pairs: &BTreeMap<String, String>) -> String {
    let one = |(name, value): (&String, &String)| format!("{} = {}", quoted(name), quoted(value));
    match pairs.is_empty() {
        true => "{}".to_owned(),
        false => format!("{{ {} }}", pairs.iter().map(one).collect::<Vec<_>>().join(", ")),
    }
}

/// What a million tokens cost.
static PRICE_KEYS: LazyLock<Vec<PolicyKey<Price>>> = LazyLock::new(|| {
    vec![
        PolicyKey::new("input", DOLLARS, |price: &mut Price| &mut price.input)
            .doc("Dollars for a million tokens that a model reads."),
        PolicyKey::new("output", DOLLARS, |price: &mut Price| &mut price.output)
            .doc("Dollars for a million tokens that a model writes, reasoning included."),
        PolicyKey::new("cache_read", DOLLARS, |price: &mut Price| &mut price.cache_read)
            .doc("Dollars for a million tokens that come from the cache."),
        PolicyKey::new("cache_write", DOLLARS, |price: &mut Price| &mut price.cache_write)
            .doc("Dollars for a million tokens that are put into the cache."),
    ]
});

/// What models cost, by their names.
pub struct Prices;

impl ValueKind for Prices {
    type Target = BTreeMap<String, Price>;

    fn read(&self, key: &str, value: &TomlValue<'_>) -> Result<Setter<Self::Target>, Vec<TextProblem>> {
        replace_all(prices(key, value))
    }

    fn takes(&self) -> String {
        "table of models".to_owned()
    }

    fn show(&self, prices: &Self::Target) -> String {
        let one = |(model, price): (&String, &Price)| {
            let parts = PRICE_KEYS.iter().map(|key| format!("{} = {}", key.name, key.show(price)));
            format!("{} = {{ {} }}", quoted(model), parts.collect::<Vec<_>>().join(", "))
        };
        match prices.is_empty() {
            true => "{}".to_owned(),
            false => format!("{{ {} }}", prices.iter().map(one).collect::<Vec<_>>().join(", ")),
        }
    }
}

fn prices(key: &str, value: &TomlValue<'_>) -> Result<BTreeMap<String, Price>, Vec<TextProblem>> {
    let help = || "write it like [price.\"gpt-5\"] with input = 1.25 and output = 10.0".to_owned();
    let Some(table) = value.get_ref().as_table() else {
        return Err(vec![TextProblem { help: help(), ..wrong_type(key, "a table of models", value) }]);
    };
    let mut kept = BTreeMap::new();
    let mut problems = Vec::new();
    for (model, given) in table.iter() {
        let Some(parts) = given.get_ref().as_table() else {
            problems.push(TextProblem { help: help(), ..wrong_type(key, "a table of models", given) });
            continue;
        };
        match price(&format!("{key}.{}", quoted(model.get_ref())), parts) {
            Ok(price) => drop(kept.insert(model.get_ref().to_string(), price)),
            Err(found) => problems.extend(found),
        }
    }
    if problems.is_empty() { Ok(kept) } else { Err(problems) }
}

fn price(path: &str, table: &DeTable<'_>) -> Result<Price, Vec<TextProblem>> {
    let mut price = Price::default();
    let mut problems = Vec::new();
    for (written, value) in table.iter() {
        let name = written.get_ref();
        match PRICE_KEYS.iter().find(|key| key.name == name) {
            Some(key) => match key.read(&format!("{path}.{name}"), value) {
                Ok(change) => change(&mut price),
                Err(found) => problems.extend(found),
            },
            None => {
                let names: Vec<&str> = PRICE_KEYS.iter().map(|key| key.name).collect();
                let known = format!("a price has: {}", names.join(", "));
                let meant = nearest(name, names.iter().copied());
                problems.push(TextProblem {
                    span: written.span(),
                    message: format!("unknown key `{path}.{name}`"),
                    help: meant.map_or(known, |meant| format!("did you mean `{meant}`?")),
                });
            }
        }
    }
    if problems.is_empty() { Ok(price) } else { Err(problems) }
}
