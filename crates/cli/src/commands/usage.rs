//! `windlass usage`: what attempts used, by loop, task, role, model and day. Unknown is shown as unknown.

use std::collections::{BTreeMap, VecDeque};

use serde_json::{Value, json};
use windlass_app::StoredLoop;
use windlass_core::history::{HistoryLimits, UsageTables};
use windlass_core::plain::escaped;
use windlass_core::usage::{NOT_NAMED, Usage, UsageSum};
use windlass_core::view::UsageView;

use crate::args::LoopArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::place::Locations;
use crate::show::json as print_json;
use crate::show::out::{PagedOutput, say, say_part};
use crate::show::{list, text, view};

/// How many rows of a table are shown, the last ones.
const LISTED: usize = 12;

pub fn usage(locations: &Locations, asked: &LoopArgs) -> Result<Exit, Failure> {
    let place = locations.open_project()?;
    if asked.name.is_none() {
        let rows = place.loops()?;
        if rows.len() > 1 {
            return all(&rows, asked.json);
        }
    }
    let row = place.find(asked.name.as_deref())?;
    let seen = row.view()?;
    let tables = tables(&row.history(HistoryLimits::NOTHING)?.usage);
    if asked.json {
        let mut sums = json!({ "loop": row.name, "total": seen.usage });
        for (name, table) in tables {
            sums[name] = json!(table);
        }
        return with_attempts(&sums, &row);
    }
    say!("{}: {}", row.name, view::usage(&seen.usage));
    for (name, table) in tables.into_iter().filter(|(_, table)| !table.is_empty()) {
        say!("\n{}", name.replace('_', " "));
        print(&table);
    }
    by_attempt(&row)?;
    Ok(Exit::Done)
}

/// The last ones; all of them are in the JSON.
fn by_attempt(row: &StoredLoop) -> Result<(), Failure> {
    let mut last = VecDeque::with_capacity(LISTED);
    let mut earlier = 0;
    for attempt in row.attempts() {
        if last.len() == LISTED {
            last.pop_front();
            earlier += 1;
        }
        last.push_back(attempt?);
    }
    if last.is_empty() {
        return Ok(());
    }
    say!("\nby attempt");
    if earlier > 0 {
        say!("  {}", left_out(earlier));
    }
    for attempt in last {
        let used = attempt.usage.as_ref().map_or_else(|| "unknown".to_owned(), buckets);
        say_row(&format!("  {:<4} {:<9} {used}", attempt.attempt.0, attempt.role.name()));
    }
    Ok(())
}

fn left_out(earlier: usize) -> String {
    format!("({earlier} earlier: --json has all)")
}

/// One object; its last field is the list of attempts, which is printed as it is read.
fn with_attempts(sums: &Value, row: &StoredLoop) -> Result<Exit, Failure> {
    let mut out = PagedOutput::new();
    let sums = sums.to_string();
    let open = sums.strip_suffix('}').unwrap_or(&sums);
    out.machine_line(&format!("{},\"attempts\":[", escaped(open)));
    let mut comma = "";
    for attempt in row.attempts() {
        let text = json!(attempt?).to_string();
        if !out.machine_line(&format!("{comma}{}", escaped(&text))) {
            break;
        }
        comma = ",";
    }
    out.machine_line("]}");
    out.finish();
    Ok(Exit::Done)
}

/// One line for each loop, and one for all.
fn all(rows: &[StoredLoop], as_json: bool) -> Result<Exit, Failure> {
    let views = rows.iter().map(StoredLoop::view).collect::<Result<Vec<_>, _>>()?;
    let mut total = UsageSum::default();
    for row in rows {
        total.merge(&row.history(HistoryLimits::NOTHING)?.usage.ledger.sum());
    }
    let total = UsageView::of(&total);
    if as_json {
        let loops: BTreeMap<String, _> =
            views.iter().map(|view| (view.name.to_string(), json!(view.usage))).collect();
        print_json::print(&json!({ "loops": loops, "total": total }));
        return Ok(Exit::Done);
    }
    let line = |name: &str, usage: &UsageView| vec![name.to_owned(), view::usage(usage)];
    let mut lines: Vec<Vec<String>> =
        views.iter().map(|seen| line(seen.name.as_str(), &seen.usage)).collect();
    lines.push(line("(total)", &total));
    say_part!("{}", list::aligned(&lines));
    Ok(Exit::Done)
}

/// Each table under the name it has in JSON.
fn tables(usage: &UsageTables) -> [(&'static str, BTreeMap<String, UsageSum>); 4] {
    let mut by_task = named(&usage.by_task);
    if usage.whole.attempts > 0 {
        by_task.insert("the whole".to_owned(), usage.whole.clone());
    }
    [
        ("by_role", named(&usage.ledger.by_role)),
        ("by_task", by_task),
        ("by_model", named(&usage.ledger.by_model)),
        ("by_day", named(&usage.by_day)),
    ]
}

fn named<K: ToString>(sums: &BTreeMap<K, UsageSum>) -> BTreeMap<String, UsageSum> {
    sums.iter().map(|(key, sum)| (key.to_string(), sum.clone())).collect()
}

fn print(sums: &BTreeMap<String, UsageSum>) {
    let width = sums.keys().map(|name| told(name).chars().count()).max().unwrap_or(0).min(30);
    let earlier = sums.len().saturating_sub(LISTED);
    if earlier > 0 {
        say!("  {}", left_out(earlier));
    }
    for (name, sum) in sums.iter().skip(earlier) {
        let used = match sum.attempts_unknown {
            unknown if unknown == sum.attempts => "unknown".to_owned(),
            0 => buckets(&sum.used),
            unknown => format!("{}, and {unknown} unknown", buckets(&sum.used)),
        };
        say_row(&format!("  {:<width$}  {used}", told(name)));
    }
}

fn say_row(line: &str) {
    say!("{}", text::wrap(line, "      "));
}

/// A model that no policy and no agent named.
fn told(name: &str) -> &str {
    if name == NOT_NAMED { "the agent's default" } else { name }
}

fn buckets(used: &Usage) -> String {
    let cost = match used.cost_micro_usd {
        Some(_) => format!("{:.4} USD", used.cost_usd()),
        None => "cost unknown".to_owned(),
    };
    let cache = [("read", used.cache_read_tokens), ("written", used.cache_write_tokens)]
        .into_iter()
        .filter(|(_, tokens)| *tokens > 0)
        .map(|(what, tokens)| format!("{what} {tokens}"));
    let cache: Vec<String> = cache.collect();
    let reasoning = match used.reasoning_tokens {
        0 => String::new(),
        tokens => format!(" reasoning {tokens}"),
    };
    let cache = if cache.is_empty() { String::new() } else { format!(" cache {}", cache.join(", ")) };
    format!("in {} out {}{reasoning}{cache}  {cost}", used.input_tokens, used.output_tokens)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_leaves_out_what_was_not_used() {
        let used = Usage { input_tokens: 7, output_tokens: 3, ..Usage::default() };
        assert_eq!(buckets(&used), "in 7 out 3  cost unknown");
        let used = Usage { reasoning_tokens: 2, cache_read_tokens: 10, ..used };
        assert_eq!(buckets(&used), "in 7 out 3 reasoning 2 cache read 10  cost unknown");
    }
}
