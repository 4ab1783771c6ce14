//! Values that are tables whose names the operator chooses.

use std::collections::BTreeMap;

use toml::de::DeTable;
use windlass_core::nearest::nearest;
use windlass_core::usage::Price;

use super::field::{
    Field, Items, PolicyKey, TomlValue, inside, quoted, quoted_list, text, texts, wrong_type,
};
use super::problem::TextProblem;

/// Environment variables of an agent: passed through by name, or with a value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Variables {
    pub names: Vec<String>,
    pub values: BTreeMap<String, String>,
}

pub fn variables(key: &str, value: &TomlValue<'_>) -> Result<Variables, Vec<TextProblem>> {
    let Some(table) = value.get_ref().as_table() else {
        let names = texts(key, value, Items::Variables)?;
        return Ok(Variables { names, values: BTreeMap::new() });
    };
    let name = |name: &str| Items::Variables.accept(name);
    Ok(Variables { names: Vec::new(), values: pairs(key, table, &name, &|value| Ok(value.to_owned()))? })
}

pub fn show_variables(names: &[String], values: &BTreeMap<String, String>) -> String {
    match values.is_empty() {
        true => quoted_list(names),
        false => show_pairs(values),
    }
}

/// Paths in the workspace, each with a path of the operator's project.
pub fn places(key: &str, value: &TomlValue<'_>) -> Result<BTreeMap<String, String>, Vec<TextProblem>> {
    let Some(table) = value.get_ref().as_table() else {
        let help = "write it like { \".mcp.json\" = \"agents/mcp.json\" }".to_owned();
        return Err(vec![TextProblem { help, ..wrong_type(key, "a table of paths", value) }]);
    };
    pairs(key, table, &in_workspace, &inside)
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

type Accept<'a> = &'a dyn Fn(&str) -> Result<String, String>;

fn pairs(
    key: &str,
    table: &DeTable<'_>,
    name: Accept<'_>,
    value: Accept<'_>,
) -> Result<BTreeMap<String, String>, Vec<TextProblem>> {
    let mut kept = BTreeMap::new();
    let mut problems = Vec::new();
    for (written, given) in table.iter() {
        let wrong = |span, why: String| {
            let message = format!("in `{key}`, {why}");
            TextProblem { span, message, help: "correct it, or remove it".to_owned() }
        };
        let pair = name(written.get_ref()).map_err(|why| wrong(written.span(), why)).and_then(|name| {
            let said = text(&format!("{key}.{name}"), given)?;
            let said = value(&said).map_err(|why| wrong(given.span(), why))?;
            Ok((name, said))
        });
        match pair {
            Ok((name, said)) => drop(kept.insert(name, said)),
            Err(problem) => problems.push(problem),
        }
    }
    if problems.is_empty() { Ok(kept) } else { Err(problems) }
}

pub fn show_pairs(pairs: &BTreeMap<String, String>) -> String {
    let one = |(name, value): (&String, &String)| format!("{} = {}", quoted(name), quoted(value));
    match pairs.is_empty() {
        true => "{}".to_owned(),
        false => format!("{{ {} }}", pairs.iter().map(one).collect::<Vec<_>>().join(", ")),
    }
}

/// What a million tokens cost.
pub static PRICE_KEYS: &[PolicyKey<Price>] = &[
    PolicyKey {
        name: "input",
        doc: "Dollars for a million tokens that a model reads.",
        field: Field::Dollars(|price| &mut price.input),
    },
    PolicyKey {
        name: "output",
        doc: "Dollars for a million tokens that a model writes, reasoning included.",
        field: Field::Dollars(|price| &mut price.output),
    },
    PolicyKey {
        name: "cache_read",
        doc: "Dollars for a million tokens that come from the cache.",
        field: Field::Dollars(|price| &mut price.cache_read),
    },
    PolicyKey {
        name: "cache_write",
        doc: "Dollars for a million tokens that are put into the cache.",
        field: Field::Dollars(|price| &mut price.cache_write),
    },
];

pub fn prices(key: &str, value: &TomlValue<'_>) -> Result<BTreeMap<String, Price>, Vec<TextProblem>> {
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
            Some(key) => match key.field.read(&format!("{path}.{name}"), value) {
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

pub fn show_prices(prices: &BTreeMap<String, Price>) -> String {
    let one = |(model, price): (&String, &Price)| {
        let parts =
            PRICE_KEYS.iter().map(|key| format!("{} = {}", key.name, key.field.show(&mut { *price })));
        format!("{} = {{ {} }}", quoted(model), parts.collect::<Vec<_>>().join(", "))
    };
    match prices.is_empty() {
        true => "{}".to_owned(),
        false => format!("{{ {} }}", prices.iter().map(one).collect::<Vec<_>>().join(", ")),
    }
}
