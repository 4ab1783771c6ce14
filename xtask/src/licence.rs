//! Every dependency's licence and source, from `cargo metadata` alone: this
//! works on a machine without cargo-deny and without a network. The list of
//! what is allowed is the one in `deny.toml`.

use std::collections::BTreeSet;
use std::fs;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::stages::Stages;
use crate::surroundings::{Surroundings, json};

const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

pub fn check(around: &Surroundings, stages: &mut Stages) -> Result<()> {
    let deny = fs::read_to_string(around.root.join("deny.toml")).context("read deny.toml")?;
    let allowed = allowed(&deny)?;
    let metadata = metadata(around, stages)?;
    let packages = metadata["packages"].as_array().context("cargo metadata: no packages")?;
    let found: Vec<_> = packages.iter().filter_map(|package| problem(package, &allowed)).collect();
    println!("{} packages, {} of them not as allowed", packages.len(), found.len());
    if found.is_empty() { Ok(()) } else { bail!("{}", found.join("\n")) }
}

/// All platforms where their crates are at hand, else this one.
fn metadata(around: &Surroundings, stages: &mut Stages) -> Result<Value> {
    let all = ["metadata", "--format-version=1", "--locked", "--offline"];
    json(around.cargo(all)).or_else(|_| {
        stages.not_run("licences of other platforms' dependencies", "those crates are not downloaded");
        let host = host(around)?;
        json(around.cargo([&all[..], &["--filter-platform", &host]].concat()))
    })
}

fn host(around: &Surroundings) -> Result<String> {
    let output = around.cargo(["-vV"]).output().context("start cargo -vV")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("cargo -vV names no host")?.to_owned())
}

fn allowed(deny: &str) -> Result<BTreeSet<String>> {
    let deny: toml::Table = deny.parse().context("deny.toml")?;
    let list =
        deny.get("licenses").and_then(|licenses| licenses.get("allow")).and_then(toml::Value::as_array);
    let list = list.context("deny.toml has no licenses.allow")?;
    Ok(list.iter().filter_map(toml::Value::as_str).map(str::to_owned).collect())
}

fn problem(package: &Value, allowed: &BTreeSet<String>) -> Option<String> {
    let name = format!("{} {}", package["name"].as_str()?, package["version"].as_str()?);
    let source = package["source"].as_str();
    if source.is_some_and(|source| source != REGISTRY) {
        return Some(format!("{name}: comes from {}", source.unwrap_or_default()));
    }
    let Some(licence) = package["license"].as_str() else { return Some(format!("{name}: names no licence")) };
    match satisfied(licence, allowed) {
        Some(true) => None,
        Some(false) => Some(format!("{name}: {licence:?} is not allowed by deny.toml")),
        None => Some(format!("{name}: {licence:?} is not a licence expression")),
    }
}

/// Whether an SPDX expression can be met with the allowed licences alone.
/// `/` is how old manifests write OR.
fn satisfied(expression: &str, allowed: &BTreeSet<String>) -> Option<bool> {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<_> = spaced.split_whitespace().collect();
    let mut reader = Reader { words: &words, allowed };
    let met = reader.either()?;
    reader.words.is_empty().then_some(met)
}

struct Reader<'w> {
    words: &'w [&'w str],
    allowed: &'w BTreeSet<String>,
}

impl<'w> Reader<'w> {
    fn either(&mut self) -> Option<bool> {
        let mut met = self.both()?;
        while self.take("OR") {
            met |= self.both()?;
        }
        Some(met)
    }

    fn both(&mut self) -> Option<bool> {
        let mut met = self.one()?;
        while self.take("AND") {
            met &= self.one()?;
        }
        Some(met)
    }

    fn one(&mut self) -> Option<bool> {
        if self.take("(") {
            let met = self.either()?;
            return self.take(")").then_some(met);
        }
        let id = self.next().filter(|word| !matches!(*word, "OR" | "AND" | "WITH" | ")"))?;
        if self.take("WITH") {
            let exception = self.next()?;
            return Some(self.allowed.contains(&format!("{id} WITH {exception}")));
        }
        Some(self.allowed.contains(id))
    }

    fn take(&mut self, word: &str) -> bool {
        let here = self.words.first() == Some(&word);
        self.words = &self.words[usize::from(here)..];
        here
    }

    fn next(&mut self) -> Option<&'w str> {
        let (first, rest) = self.words.split_first()?;
        self.words = rest;
        Some(first)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn few() -> BTreeSet<String> {
        allowed("[licenses]\nallow = ['MIT', 'Zlib', 'Apache-2.0 WITH LLVM-exception']").unwrap()
    }

    #[test]
    fn an_expression_is_met_or_not() {
        for (expression, want) in [
            ("MIT", Some(true)),
            ("GPL-3.0-only", Some(false)),
            ("MIT OR GPL-3.0-only", Some(true)),
            ("MIT/GPL-3.0-only", Some(true)),
            ("MIT AND GPL-3.0-only", Some(false)),
            ("GPL-2.0 OR MIT AND Zlib", Some(true)),
            ("(GPL-2.0 OR MIT) AND Zlib", Some(true)),
            ("(GPL-2.0 OR MIT) AND MPL-2.0", Some(false)),
            ("Apache-2.0 WITH LLVM-exception", Some(true)),
            ("Apache-2.0", Some(false)),
            ("(MIT", None),
            ("MIT OR", None),
            ("MIT Zlib", None),
            ("", None),
        ] {
            assert_eq!(satisfied(expression, &few()), want, "{expression}");
        }
    }

    #[test]
    fn a_package_from_elsewhere_or_without_a_licence_is_a_problem() {
        let package = |licence: Value, source: &str| json!({ "name": "x", "version": "1.0.0", "license": licence, "source": source });
        assert_eq!(problem(&package(json!("MIT"), REGISTRY), &few()), None);
        assert!(problem(&package(json!("AGPL-3.0-only"), REGISTRY), &few()).is_some());
        assert!(problem(&package(Value::Null, REGISTRY), &few()).is_some());
        assert!(problem(&package(json!("MIT"), "git+https://example.invalid/x"), &few()).is_some());
    }

    #[test]
    fn our_own_list_is_readable_and_has_no_copyleft() {
        let ours = allowed(include_str!("../../deny.toml")).unwrap();
        assert!(ours.contains("MIT") && ours.contains("Apache-2.0"));
        assert!(!ours.iter().any(|licence| licence.contains("GPL") || licence.contains("MPL")));
    }
}
