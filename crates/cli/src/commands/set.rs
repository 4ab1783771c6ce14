//! `windlass set`: another policy or plan for a loop that is there.

use std::fmt::Write as _;

use windlass_app::{PolicyArguments, PolicyBelow, ReviseReport, ReviseRequest, ReviseResult};
use windlass_core::id::{LoopName, TaskId};
use windlass_core::outcome::OutcomeKind;
use windlass_core::revision::{KeyChange, PlanRevision, TaskRevision};

use crate::args::SetArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::place::Locations;
use crate::show::out::{complain, say};
use crate::show::{json, text};
use crate::signals;

pub fn set(locations: &Locations, asked: &SetArgs) -> Result<Exit, Failure> {
    let (name, set) = split(&asked.words);
    if set.is_empty()
        && asked.policy.is_none()
        && !asked.reload
        && asked.plan.is_none()
        && asked.base.is_none()
    {
        return Err(Failure::usage("there is nothing to set").hint(
            "give KEY=VALUE, such as loop.max_iterations=9; `windlass config explain` lists every key",
        ));
    }
    let place = locations.open_project()?;
    let name = place.exact(name)?.name;
    let request = ReviseRequest {
        policy: PolicyArguments { policy_file: asked.policy.clone(), set: set.to_vec() },
        below: if asked.reload { PolicyBelow::Files } else { PolicyBelow::InForce },
        plan: asked.plan.clone(),
        base: asked.base.clone(),
    };
    let report = place.revise(&name, &request, signals::interrupts()?)?;
    if let Some(warning) = &report.warning {
        complain!("windlass: {warning}");
    }
    if asked.json {
        json::print(&told(&name, &report));
    }
    match &report.result {
        ReviseResult::Refused { why } => return Err(Failure::usage(format!("set {name}: {why}"))),
        ReviseResult::Unchanged
        | ReviseResult::Now
        | ReviseResult::AtNextIteration
        | ReviseResult::Recorded
        | ReviseResult::Interrupted
            if asked.json => {}
        ReviseResult::Unchanged => say!("nothing changed: {name} has all of this already."),
        ReviseResult::Now => {
            say!("{}in force from now on.", changes(&report));
            let view = place.view(&name)?;
            if view.is_some_and(|view| view.outcome.is_some_and(|end| end.kind == OutcomeKind::Limit)) {
                say!("next: windlass restart {name} && windlass run {name}");
            }
        }
        ReviseResult::AtNextIteration => {
            say!("{}in force when the iteration has ended, or when it is run again.", changes(&report));
        }
        ReviseResult::Recorded => {
            say!("{}recorded; the process that drives {name} will take it.", changes(&report));
        }
        ReviseResult::Interrupted => {
            say!("{}interrupted; it is recorded, and is taken by whoever drives {name}.", changes(&report));
        }
    }
    Ok(match report.result {
        ReviseResult::Interrupted => Exit::Interrupted,
        ReviseResult::Unchanged
        | ReviseResult::Now
        | ReviseResult::AtNextIteration
        | ReviseResult::Recorded
        | ReviseResult::Refused { .. } => Exit::Done,
    })
}

/// The first word is the loop's name, unless it sets something.
fn split(words: &[String]) -> (Option<&str>, &[String]) {
    match words {
        [name, set @ ..] if !name.contains('=') => (Some(name), set),
        set => (None, set),
    }
}

/// A line each, before and after.
pub fn changes(report: &ReviseReport) -> String {
    match report.result {
        ReviseResult::Unchanged => String::new(),
        ReviseResult::Now
        | ReviseResult::AtNextIteration
        | ReviseResult::Recorded
        | ReviseResult::Interrupted
        | ReviseResult::Refused { .. } => lines(&report.keys, report.plan.as_ref()),
    }
}

/// A line for each key and each task.
pub fn lines(keys: &[KeyChange], plan: Option<&PlanRevision>) -> String {
    let mut page = String::new();
    for change in keys {
        let [before, after] = [&change.before, &change.after].map(|value| text::clean(value));
        let _ = writeln!(page, "{}: {before} -> {after}", change.key);
    }
    let Some(plan) = plan else { return page };
    let mut line = |what: &str, task: &TaskId| {
        let _ = writeln!(page, "task {task}: {what}");
    };
    plan.added.iter().for_each(|task| line("added", &task.id));
    for task in &plan.changed {
        line(change_words(plan, task), &task.after.id);
    }
    plan.removed.iter().for_each(|task| line("removed", task));
    if let Some(tools) = &plan.tools {
        let (before, after) = tools.words();
        let _ = writeln!(page, "tools: {} -> {}", text::clean(&before), text::clean(&after));
    }
    if page.is_empty() {
        page.push_str("the order of the tasks changed\n");
    }
    page
}

fn change_words(plan: &PlanRevision, task: &TaskRevision) -> &'static str {
    let TaskRevision { before, after } = task;
    if plan.reopened.contains(&after.id) {
        match before.done_before {
            true => "is not called done any more, so it is to be done",
            false => "changed, so it is to be done again",
        }
    } else if plan.called_done.contains(&after.id) {
        "done by your word, so it is not worked on"
    } else {
        "changed"
    }
}

fn told(name: &LoopName, report: &ReviseReport) -> serde_json::Value {
    let (when, refused) = match &report.result {
        ReviseResult::Unchanged => ("unchanged", None),
        ReviseResult::Now => ("now", None),
        ReviseResult::AtNextIteration => ("next_iteration", None),
        ReviseResult::Recorded | ReviseResult::Interrupted => ("recorded", None),
        ReviseResult::Refused { why } => ("refused", Some(why)),
    };
    serde_json::json!({
        "loop": name, "keys": report.keys, "plan": report.plan, "when": when, "refused": refused,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_sets_nothing_is_the_loop() {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<String>>();
        assert_eq!(split(&words(&["demo", "a=1"])), (Some("demo"), &words(&["a=1"])[..]));
        assert_eq!(split(&words(&["a=1", "b"])), (None, &words(&["a=1", "b"])[..]));
        assert_eq!(split(&words(&["demo"])), (Some("demo"), &[][..]));
        assert_eq!(split(&[]), (None, &[][..]));
    }
}
