//! `windlass usage`: what attempts used, by loop, task, role, model and day. Unknown is shown as unknown.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::json;
use windlass_core::usage::{ModelUsage, Usage};

use super::show::{AttemptRow, LoopHistory};
use crate::args::LoopArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::place::{Locations, ProjectStore, StoredLoop};
use crate::show::json as print_json;
use crate::show::out::say;
use crate::show::view;

/// A sum, and how many attempts it knows nothing of.
#[derive(Clone, Debug, Default, Serialize)]
struct Sum {
    #[serde(flatten)]
    used: Usage,
    attempts: u64,
    attempts_unknown: u64,
    costs_unknown: u64,
}

impl Sum {
    fn add(&mut self, used: Option<&Usage>) {
        self.attempts += 1;
        match used {
            Some(used) => {
                self.used.add(used);
                self.costs_unknown += u64::from(used.cost_micro_usd.is_none());
            }
            None => self.attempts_unknown += 1,
        }
    }
}

pub fn usage(locations: &Locations, asked: &LoopArgs) -> Result<Exit, Failure> {
    let place = locations.project_store()?;
    if asked.name.is_none()
        && let Some(reader) = place.reader()?
    {
        let rows = place.known(&reader)?;
        if rows.len() > 1 {
            return all(&place, &rows, asked.json);
        }
    }
    let (reader, row) = place.find(asked.name.as_deref())?;
    let seen = place.view(&row)?;
    let history = LoopHistory::read(&*reader, &row)?;
    let attempts = &history.attempts;
    let tables = [
        ("by_role", sums(attempts, |attempt| attempt.role.to_owned())),
        ("by_task", sums(attempts, |attempt| attempt.task.clone().unwrap_or_else(|| "the whole".to_owned()))),
        ("by_model", by_model(attempts)),
        ("by_day", sums(attempts, |attempt| attempt.day.clone())),
    ];
    if asked.json {
        let mut printed = json!({ "loop": row.name, "total": seen.usage, "attempts": attempts });
        for (name, table) in tables {
            printed[name] = json!(table);
        }
        print_json::print(&printed);
        return Ok(Exit::Done);
    }
    say!("{}: {}", row.name, view::usage(&seen.usage));
    for (name, table) in tables {
        say!("\n{}", name.replace('_', " "));
        print(&table);
    }
    say!("\nby attempt");
    for attempt in attempts {
        let used = attempt.usage.as_ref().map_or_else(|| "unknown".to_owned(), buckets);
        say!("  {:<4} {:<9} {used}", attempt.attempt, attempt.role);
    }
    Ok(Exit::Done)
}

/// One line for each loop.
fn all(place: &ProjectStore, rows: &[StoredLoop], as_json: bool) -> Result<Exit, Failure> {
    let views = rows.iter().map(|row| place.view(row)).collect::<Result<Vec<_>, Failure>>()?;
    if as_json {
        let loops: BTreeMap<String, _> =
            views.iter().map(|view| (view.name.to_string(), json!(view.usage))).collect();
        print_json::print(&json!({ "loops": loops }));
        return Ok(Exit::Done);
    }
    for view in views {
        say!("{}: {}", view.name, view::usage(&view.usage));
    }
    Ok(Exit::Done)
}

fn sums(attempts: &[AttemptRow], key: impl Fn(&AttemptRow) -> String) -> BTreeMap<String, Sum> {
    let mut sums: BTreeMap<String, Sum> = BTreeMap::new();
    for attempt in attempts {
        sums.entry(key(attempt)).or_default().add(attempt.usage.as_ref());
    }
    sums
}

/// An attempt counts for each model it used; one that named none counts for its agent.
fn by_model(attempts: &[AttemptRow]) -> BTreeMap<String, Sum> {
    let mut sums: BTreeMap<String, Sum> = BTreeMap::new();
    for attempt in attempts {
        for ModelUsage { model, usage, .. } in &attempt.models {
            let name = if model.is_empty() { "not named" } else { model };
            sums.entry(name.to_owned()).or_default().add(Some(usage));
        }
        if attempt.models.is_empty() {
            sums.entry("not named".to_owned()).or_default().add(attempt.usage.as_ref());
        }
    }
    sums
}

fn print(sums: &BTreeMap<String, Sum>) {
    let width = sums.keys().map(|name| name.chars().count()).max().unwrap_or(0).min(30);
    for (name, sum) in sums {
        let used = match sum.attempts_unknown {
            unknown if unknown == sum.attempts => "unknown".to_owned(),
            0 => buckets(&sum.used),
            unknown => format!("{}, and {unknown} unknown", buckets(&sum.used)),
        };
        say!("  {name:<width$}  {used}");
    }
}

fn buckets(used: &Usage) -> String {
    let cost = match used.cost_micro_usd {
        Some(_) => format!("{:.4} USD", used.cost_usd()),
        None => "cost unknown".to_owned(),
    };
    format!(
        "in {} out {} reasoning {} cache {}+{}  {cost}",
        used.input_tokens,
        used.output_tokens,
        used.reasoning_tokens,
        used.cache_read_tokens,
        used.cache_write_tokens,
    )
}
