//! Writes logs of simulated loops that together hold every kind of event and
//! effect that many seeds reach. Each format of the log is kept that way:
//! `cargo run --release -p windlass-simulator --example format_logs -- DIR`
//! where DIR is `crates/core/tests/logs`, once per format.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde_json::Value;
use windlass_simulator::{Crash, Options, Trace, simulate};

const SEEDS: u64 = 3000;
const FORMAT: u32 = 1;

fn main() {
    let dir = std::env::args_os().nth(1).map(PathBuf::from).expect("a directory");
    let mut left: Vec<(Trace, BTreeSet<String>)> = (0..SEEDS).map(played).collect();
    let all: BTreeSet<String> = left.iter().flat_map(|(_, kinds)| kinds.clone()).collect();
    let mut held: BTreeSet<String> = BTreeSet::new();
    for number in 1.. {
        // The most that is new, and of those the shortest.
        left.sort_by_key(|(trace, kinds)| {
            (std::cmp::Reverse(kinds.difference(&held).count()), trace.log.len())
        });
        let (trace, kinds) = &left[0];
        if kinds.is_subset(&held) {
            break;
        }
        held.extend(kinds.clone());
        let lines = trace.log.iter().map(|record| serde_json::to_string(record).expect("JSON") + "\n");
        let file = dir.join(format!("format-{FORMAT}-{number}.jsonl"));
        std::fs::write(&file, lines.collect::<String>()).expect("a file");
        println!("{}: seed {}, {} records", file.display(), trace.seed, trace.log.len());
    }
    println!("{} kinds: {}", all.len(), Vec::from_iter(all).join(" "));
}

fn played(seed: u64) -> (Trace, BTreeSet<String>) {
    let trace = simulate(seed, &Options::mixed(Crash::OneIn(100))).expect("the invariants hold");
    let mut kinds = BTreeSet::new();
    for record in &trace.log {
        let record = serde_json::to_value(record).expect("JSON");
        collect(&record, &mut kinds);
    }
    (trace, kinds)
}

/// The value of every tag, wherever it is.
fn collect(value: &Value, kinds: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                if let ("event" | "do" | "kind" | "result" | "reason" | "role", Some(kind)) =
                    (key.as_str(), value.as_str())
                {
                    kinds.insert(format!("{key}={kind}"));
                }
                collect(value, kinds);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| collect(value, kinds)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
