//! `[[gate.check]]`: the list of checks, read as a whole.

use std::collections::BTreeMap;

use toml::de::DeTable;
use windlass_core::nearest::nearest;
use windlass_core::policy::{CheckPolicy, CheckWhen, GatePolicy};
use windlass_core::time::Millis;

use super::field::{Choice, Field, Key, Value, not_available, quoted, wrong_type};
use super::problem::Fault;

/// A check before the gate's own timeout has been filled in.
#[derive(Default)]
pub struct CheckDraft {
    name: String,
    run: String,
    when: CheckWhen,
    timeout: Option<Millis>,
}

pub static CHECK_KEYS: &[Key<CheckDraft>] = &[
    Key {
        name: "name",
        doc: "What the check is called in reports and in a task's `checks`.",
        field: Field::Text(|check| &mut check.name),
    },
    Key {
        name: "run",
        doc: "The shell command, run at the root of a clean checkout; it must exit 0.",
        field: Field::Text(|check| &mut check.run),
    },
    Key {
        name: "when",
        doc: "Whether it judges each task, the finished work, or both.",
        field: Field::Choice(Choice {
            options: &[
                ("both", |check| check.when = CheckWhen::Both),
                ("task", |check| check.when = CheckWhen::Task),
                ("final", |check| check.when = CheckWhen::Final),
            ],
            later: &[],
            shown: |check| when(check.when),
        }),
    },
    Key {
        name: "timeout",
        doc: "How long it may take; without it, `gate.timeout` holds.",
        field: Field::Span(|check| check.timeout.get_or_insert_default()),
    },
];

/// Keys of a check that later versions know.
pub const LATER: [&str; 2] = ["junit", "control"];

pub fn read(value: &Value<'_>) -> Result<Vec<CheckDraft>, Vec<Fault>> {
    let Some(array) = value.get_ref().as_array() else {
        let fault = wrong_type("gate.check", "a list of tables", value);
        return Err(vec![Fault { help: "write `[[gate.check]]`, with two brackets".to_owned(), ..fault }]);
    };
    let mut drafts = Vec::new();
    let mut faults = Vec::new();
    let mut seen: BTreeMap<String, String> = BTreeMap::new();
    for item in array.iter() {
        let Some(table) = item.get_ref().as_table() else {
            faults.push(wrong_type("gate.check", "a list of tables", item));
            continue;
        };
        match read_one(table, item) {
            Ok((draft, name)) => {
                if let Some(other) = seen.insert(draft.name.to_lowercase(), draft.name.clone()) {
                    faults.push(twice(&draft, &other, name));
                }
                drafts.push(draft);
            }
            Err(found) => faults.extend(found),
        }
    }
    if faults.is_empty() { Ok(drafts) } else { Err(faults) }
}

/// Fills the gate's checks; its timeout has been set before.
pub fn put(gate: &mut GatePolicy, drafts: Vec<CheckDraft>) {
    let timeout = gate.timeout;
    let filled = |draft: CheckDraft| CheckPolicy {
        name: draft.name,
        run: draft.run,
        when: draft.when,
        timeout: draft.timeout.unwrap_or(timeout),
    };
    gate.checks = drafts.into_iter().map(filled).collect();
}

pub fn show(checks: &[CheckPolicy]) -> String {
    let one = |check: &CheckPolicy| {
        let values = CHECK_KEYS.iter().map(|key| format!("{} = {}", key.name, show_key(check, key)));
        format!("{{ {} }}", values.collect::<Vec<_>>().join(", "))
    };
    format!("[{}]", checks.iter().map(one).collect::<Vec<_>>().join(", "))
}

/// One value of one check, as it would be written in a file.
pub fn show_key(check: &CheckPolicy, key: &Key<CheckDraft>) -> String {
    let mut draft = CheckDraft {
        name: check.name.clone(),
        run: check.run.clone(),
        when: check.when,
        timeout: Some(check.timeout),
    };
    key.field.show(&mut draft)
}

pub fn when(when: CheckWhen) -> &'static str {
    match when {
        CheckWhen::Both => "both",
        CheckWhen::Task => "task",
        CheckWhen::Final => "final",
    }
}

/// A check and the span of its name.
type ReadCheck = (CheckDraft, std::ops::Range<usize>);

fn read_one(table: &DeTable<'_>, whole: &Value<'_>) -> Result<ReadCheck, Vec<Fault>> {
    let mut draft = CheckDraft::default();
    let mut faults = Vec::new();
    for (written, value) in table.iter() {
        let path = format!("gate.check.{}", written.get_ref());
        match CHECK_KEYS.iter().find(|key| key.name == written.get_ref()) {
            Some(key) => match key.field.read(&path, value) {
                Ok(change) => change(&mut draft),
                Err(found) => faults.extend(found),
            },
            None if LATER.contains(&written.get_ref().as_ref()) => {
                faults.push(not_available(&path, written.span()));
            }
            None => faults.push(unknown(written.get_ref(), written.span())),
        }
    }
    let place = |key: &str| table.get(key).map_or(whole.span(), |value| value.span());
    if faults.is_empty() {
        faults.extend(bad_name(&draft.name).map(|message| Fault {
            span: place("name"),
            message,
            help: "name it with letters, digits, `-`, `_`, `.`, `:`, `+` or blanks, at most 64, letter or digit first".to_owned(),
        }));
        if draft.run.trim().is_empty() {
            faults.push(Fault {
                span: place("run"),
                message: if draft.name.is_empty() {
                    "a check has no command".to_owned()
                } else {
                    format!("the check {} has no command", quoted(&draft.name))
                },
                help: "give it a `run`, such as run = \"make test\"".to_owned(),
            });
        }
    }
    if faults.is_empty() { Ok((draft, place("name"))) } else { Err(faults) }
}

fn bad_name(name: &str) -> Option<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':' | '+' | ' ');
    if name.trim().is_empty() {
        return Some("a check has no name".to_owned());
    }
    let fits = name.len() <= 64
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && !name.ends_with(' ')
        && name.chars().all(plain);
    (!fits).then(|| format!("a check cannot be named {}", quoted(name)))
}

fn twice(draft: &CheckDraft, other: &str, span: std::ops::Range<usize>) -> Fault {
    let message = if draft.name == other {
        format!("two checks are named {}", quoted(other))
    } else {
        format!("the checks {} and {} differ only in case", quoted(other), quoted(&draft.name))
    };
    Fault { span, message, help: "give each check a name of its own".to_owned() }
}

fn unknown(key: &str, span: std::ops::Range<usize>) -> Fault {
    let names = CHECK_KEYS.iter().map(|key| key.name);
    let help = match nearest(key, names.clone()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("a check has: {}", names.collect::<Vec<_>>().join(", ")),
    };
    Fault { span, message: format!("unknown key `gate.check.{key}`"), help }
}
