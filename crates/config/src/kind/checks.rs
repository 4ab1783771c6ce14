//! `[[gate.check]]`: the list of checks, read as a whole.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use toml::de::DeTable;
use windlass_core::nearest::nearest;
use windlass_core::policy::{CheckPolicy, CheckWhen, GatePolicy};
use windlass_core::time::Millis;

use super::choice::OneOf;
use super::number::{AT_MOST_ONE, FLAG, LIMIT, SPAN};
use super::text::{GLOB, TEXT};
use super::{Setter, TomlValue, ValueKind, quoted, wrong_type};
use crate::key::PolicyKey;
use crate::problem::TextProblem;

/// A check before the gate's own timeout has been filled in.
#[derive(Clone, Default)]
pub struct CheckDraft {
    name: String,
    run: String,
    when: CheckWhen,
    timeout: Option<Millis>,
    junit: String,
    control: String,
    retry: u32,
    repeat: u32,
    chain: bool,
}

pub static CHECK_KEYS: LazyLock<Vec<PolicyKey<CheckDraft>>> = LazyLock::new(|| {
    vec![
        key("name", TEXT, |check| &mut check.name)
            .doc("What the check is called in reports and in a task's `checks`."),
        key("run", TEXT, |check| &mut check.run)
            .doc("The shell command, run at the root of a clean checkout; it must exit 0."),
        key("when", when(), |check| &mut check.when)
            .doc("Whether it judges each task, the finished work, or both."),
        key("timeout", SPAN, |check| check.timeout.get_or_insert_default())
            .doc("How long it may take; without it, `gate.timeout` holds."),
        key("junit", GLOB, |check| &mut check.junit)
            .doc("A glob of the junit files it writes. windlass counts the tests itself: no file, no test, a failed one, or one that ran before and is gone or skipped is red."),
        key("control", TEXT, |check| &mut check.control)
            .doc("What shows that the check can fail. `auto`, as without the key: windlass breaks the tests that it knows how to break, when `gate.control` says, and each must turn red. `off`: nothing. Anything else is a command that must fail wherever the check passes; it runs on a clean checkout of its own."),
        key("retry", AT_MOST_ONE, |check| &mut check.retry)
            .doc("Runs a red check once more, on a clean checkout; both results are kept, and a second green one is a warning."),
        key("repeat", LIMIT, |check| &mut check.repeat)
            .doc("Runs a green check this many times in all, each on a clean checkout; the first red run makes it red, and where it follows a green one it is a warning."),
        key("chain", FLAG, |check| &mut check.chain)
            .doc("Goes on in the tree that the check before it left, instead of a clean checkout."),
    ]
});

fn key<K: ValueKind>(
    name: &'static str,
    kind: K,
    at: fn(&mut CheckDraft) -> &mut K::Target,
) -> PolicyKey<CheckDraft> {
    PolicyKey::new(name, kind, at)
}

fn when() -> OneOf<CheckWhen> {
    OneOf {
        options: vec![CheckWhen::Both, CheckWhen::Task, CheckWhen::Final],
        name: |when| match when {
            CheckWhen::Both => "both",
            CheckWhen::Task => "task",
            CheckWhen::Final => "final",
        },
        later: &[],
    }
}

/// The list of checks.
pub struct Checks;

impl ValueKind for Checks {
    type Target = GatePolicy;

    fn read(&self, _: &str, value: &TomlValue<'_>) -> Result<Setter<GatePolicy>, Vec<TextProblem>> {
        let drafts = read(value)?;
        Ok(Box::new(move |gate| put(gate, drafts)))
    }

    fn takes(&self) -> String {
        "list of tables".to_owned()
    }

    fn show(&self, gate: &GatePolicy) -> String {
        show(&gate.checks)
    }
}

/// A check's value where it says nothing; none for what it must say, and for
/// the timeout, which is then the gate's.
pub fn default_of(key: &PolicyKey<CheckDraft>) -> Option<String> {
    (!matches!(key.name, "name" | "run" | "timeout")).then(|| key.show(&CheckDraft::default()))
}

/// One value of one check, as it would be written in a file.
pub fn show_key(check: &CheckPolicy, key: &PolicyKey<CheckDraft>) -> String {
    key.show(&CheckDraft {
        name: check.name.clone(),
        run: check.run.clone(),
        when: check.when,
        timeout: Some(check.timeout),
        junit: check.junit.clone(),
        control: check.control.clone(),
        retry: check.retry,
        repeat: check.repeat,
        chain: check.chain,
    })
}

fn read(value: &TomlValue<'_>) -> Result<Vec<CheckDraft>, Vec<TextProblem>> {
    let Some(array) = value.get_ref().as_array() else {
        let problem = wrong_type("gate.check", "a list of tables", value);
        return Err(vec![TextProblem {
            help: "write `[[gate.check]]`, with two brackets".to_owned(),
            ..problem
        }]);
    };
    let mut drafts = Vec::new();
    let mut problems = Vec::new();
    let mut seen: BTreeMap<String, String> = BTreeMap::new();
    for item in array.iter() {
        let Some(table) = item.get_ref().as_table() else {
            problems.push(wrong_type("gate.check", "a list of tables", item));
            continue;
        };
        match read_one(table, item) {
            Ok((draft, name)) => {
                if draft.chain && drafts.is_empty() {
                    problems.push(nothing_before(table, item));
                }
                if let Some(other) = seen.insert(draft.name.to_lowercase(), draft.name.clone()) {
                    problems.push(twice(&draft, &other, name));
                }
                drafts.push(draft);
            }
            Err(found) => problems.extend(found),
        }
    }
    if problems.is_empty() { Ok(drafts) } else { Err(problems) }
}

/// Fills the gate's checks; its timeout has been set before.
fn put(gate: &mut GatePolicy, drafts: Vec<CheckDraft>) {
    let timeout = gate.timeout;
    let filled = |draft: CheckDraft| CheckPolicy {
        name: draft.name,
        run: draft.run,
        when: draft.when,
        timeout: draft.timeout.unwrap_or(timeout),
        junit: draft.junit,
        control: draft.control,
        retry: draft.retry,
        repeat: draft.repeat,
        chain: draft.chain,
    };
    gate.checks = drafts.into_iter().map(filled).collect();
}

fn show(checks: &[CheckPolicy]) -> String {
    let one = |check: &CheckPolicy| {
        let keys = CHECK_KEYS.iter().map(|key| (key, show_key(check, key)));
        let said = keys.filter(|(key, shown)| key.name == "when" || default_of(key).as_ref() != Some(shown));
        let said = said.map(|(key, shown)| format!("{} = {shown}", key.name));
        format!("{{ {} }}", said.collect::<Vec<_>>().join(", "))
    };
    format!("[{}]", checks.iter().map(one).collect::<Vec<_>>().join(", "))
}

/// A check and the span of its name.
type ReadCheck = (CheckDraft, std::ops::Range<usize>);

fn read_one(table: &DeTable<'_>, whole: &TomlValue<'_>) -> Result<ReadCheck, Vec<TextProblem>> {
    let mut draft = CheckDraft::default();
    let mut problems = Vec::new();
    for (written, value) in table.iter() {
        let path = format!("gate.check.{}", written.get_ref());
        match CHECK_KEYS.iter().find(|key| key.name == written.get_ref()) {
            Some(key) => match key.read(&path, value) {
                Ok(change) => change(&mut draft),
                Err(found) => problems.extend(found),
            },
            None => problems.push(unknown(written.get_ref(), written.span())),
        }
    }
    let place = |key: &str| table.get(key).map_or(whole.span(), |value| value.span());
    if problems.is_empty() {
        problems.extend(bad_name(&draft.name).map(|message| TextProblem {
            span: place("name"),
            message,
            help: "name it with letters, digits, `-`, `_`, `.`, `:`, `+` or blanks, at most 64, letter or digit first".to_owned(),
        }));
        if draft.run.trim().is_empty() {
            problems.push(TextProblem {
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
    problems.extend(at_odds(&draft, place));
    if problems.is_empty() { Ok((draft, place("name"))) } else { Err(problems) }
}

/// Keys that cannot be had together.
fn at_odds(draft: &CheckDraft, place: impl Fn(&str) -> std::ops::Range<usize>) -> Vec<TextProblem> {
    let problem = |key: &str, message: &str, other: &str| TextProblem {
        span: place(key),
        message: message.to_owned(),
        help: format!("remove `{key}`, or `{other}`"),
    };
    let again = "a check of a chain cannot be run again: that needs a clean checkout";
    let both = "a check that must be green every time cannot be tried once more when it is red";
    let problems = [
        (draft.chain && draft.retry > 0).then(|| problem("retry", again, "chain")),
        (draft.chain && draft.repeat > 1).then(|| problem("repeat", again, "chain")),
        (draft.retry > 0 && draft.repeat > 1).then(|| problem("retry", both, "repeat")),
    ];
    problems.into_iter().flatten().collect()
}

fn nothing_before(table: &DeTable<'_>, whole: &TomlValue<'_>) -> TextProblem {
    TextProblem {
        span: table.get("chain").map_or(whole.span(), |value| value.span()),
        message: "the first check has no check before it to go on from".to_owned(),
        help: "remove `chain`, or put the check behind the one whose tree it needs".to_owned(),
    }
}

pub fn bad_name(name: &str) -> Option<String> {
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

fn twice(draft: &CheckDraft, other: &str, span: std::ops::Range<usize>) -> TextProblem {
    let message = if draft.name == other {
        format!("two checks are named {}", quoted(other))
    } else {
        format!("the checks {} and {} differ only in case", quoted(other), quoted(&draft.name))
    };
    TextProblem { span, message, help: "give each check a name of its own".to_owned() }
}

fn unknown(key: &str, span: std::ops::Range<usize>) -> TextProblem {
    let names = CHECK_KEYS.iter().map(|key| key.name);
    let help = match nearest(key, names.clone()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("a check has: {}", names.collect::<Vec<_>>().join(", ")),
    };
    TextProblem { span, message: format!("unknown key `gate.check.{key}`"), help }
}
