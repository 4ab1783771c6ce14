//! What the history of a log must have in common with its state and its view.

use windlass_core::event::{Decision, Event, GateEvent};
use windlass_core::gate::Purpose;
use windlass_core::history::{BoundedList, History, HistoryLimits, Keep, LandingRecord};
use windlass_core::limit::LIMITS;
use windlass_core::state::State;
use windlass_core::task::Task;
use windlass_core::usage::UsageSum;
use windlass_core::view::{LISTED_FINDINGS, UsageView, View};

pub fn agrees(log: &[Decision], state: &State) {
    let all = folded(log, HistoryLimits::ALL);
    let view = View::of(state);
    assert_eq!(UsageView::of(&all.usage.ledger.sum()), view.usage);
    assert_eq!(view.usage_by_role.values().map(|of| of.attempts).sum::<u64>(), view.usage.attempts);
    let running = all.attempts.iter().rfind(|of| of.ended_at.is_none());
    if let Some(attempt) = &view.attempt {
        let running = running.expect("the attempt that runs was started");
        assert_eq!((attempt.id, attempt.started_at), (running.attempt, running.started_at));
    }
    let open = view.findings.open_bugs + view.findings.open_warnings;
    assert_eq!(view.open_findings.len(), LISTED_FINDINGS.min(open as usize));
    let judged = log.iter().flat_map(|decision| &decision.events).filter_map(gate_event).next_back();
    assert_eq!(view.gate.as_ref().map(|gate| (gate.purpose, gate.passed)), judged, "the last gate is shown");
    for gate in
        view.gate.iter().chain(&view.baseline).chain(&view.final_gate).filter(|gate| !gate.checks.is_empty())
    {
        assert_eq!(gate.passed, gate.checks.iter().all(|check| check.passed), "{gate:#?}");
    }
    let iterations = view.limits.iter().find(|limit| limit.key == "loop.max_iterations");
    let iterations = iterations.expect("every limit is listed");
    assert_eq!(iterations.used, u64::from(state.run.iterations));
    let left = iterations.left.map(|left| left + u64::from(view.iteration));
    assert_eq!(left, Some(u64::from(view.max_iterations)).filter(|last| *last != 0), "one way to count");
    assert!(view.limits.iter().all(|limit| limit.max.is_some() == limit.left.is_some()));
    for row in &LIMITS {
        let shown = view.limits.iter().filter(|of| of.key == format!("loop.{}", row.key));
        let max = Some(u64::from(row.bound(&state.policy().limits))).filter(|max| *max != 0);
        assert!(shown.map(|of| (of.scope, of.max)).eq([(row.scope(), max)]), "{}", row.key);
    }
    assert_eq!(all.usage.ledger, state.ledger);
    let by_task = total(all.usage.by_task.values().chain([&all.usage.whole]));
    assert_eq!(by_task, state.ledger.sum(), "each attempt is about one task or the whole");
    assert_eq!(total(all.usage.by_day.values()), state.ledger.sum(), "each attempt ended on one day");
    assert!(all.findings().map(|of| &of.finding).eq(state.findings.values()), "{:#?}", all);
    for of in all.findings() {
        let last = of.changes.last().unwrap_or(&of.opened);
        assert_eq!(last.life, of.finding.life, "the last change made it what it is");
    }
    assert_eq!(all.timeline.total, view.events);
    assert_eq!(all.reviews.total, u64::from(view.reviews));
    assert_eq!(all.iterations.last().map_or(0, |last| last.iteration), state.iterations);
    assert_eq!(all.attempts.iter().filter(|of| of.ended_at.is_some()).count() as u64, view.usage.attempts);
    assert_eq!(all.landings.last().map(|last| &last.commit), view.commit.as_ref());
    assert_eq!(all.policies.last().map(|last| &last.policy), Some(state.policy()));
    assert_eq!(all.ended.is_some(), state.outcome().is_some());
    for task in state.tasks.iter().filter(|task| task.commit.is_some()) {
        let of_task = |of: &Option<Task>| of.as_ref().is_some_and(|of| of.id == task.task.id);
        let landed = |of: &LandingRecord| of_task(&of.task) && Some(&of.commit) == task.commit.as_ref();
        assert!(all.landings.iter().any(landed), "{:#?}", all.landings);
    }
    let numbers = |history: &History| history.checks().map(|of| of.event).collect::<Vec<_>>();
    assert!(numbers(&all).is_sorted(), "{:?}", numbers(&all));
    bounded(log, &all);
}

/// What a gate was for, and whether it passed.
#[expect(clippy::wildcard_enum_match_arm, reason = "three events tell what a gate said")]
fn gate_event(event: &Event) -> Option<(Purpose, bool)> {
    match event {
        Event::Gate(GateEvent::Passed { purpose, .. }) => Some((*purpose, true)),
        Event::Gate(GateEvent::Failed { purpose, .. }) => Some((*purpose, false)),
        Event::Gate(GateEvent::NeedsTerms { purpose, .. }) => Some((*purpose, false)),
        Event::Gate(GateEvent::Reused { passed, .. }) => Some((Purpose::Task, *passed)),
        _ => None,
    }
}

/// A history that keeps less has the end of the same lists, and the same sums.
fn bounded(log: &[Decision], all: &History) {
    let two = Keep::Last(2);
    let few =
        folded(log, HistoryLimits { findings: two, timeline: two, attempts: two, ..HistoryLimits::ALL });
    assert_eq!(few.usage, all.usage);
    assert!(few.findings().count() <= 2);
    assert_eq!(few.findings_total(), all.findings_total());
    same_end(&few.timeline, &all.timeline);
    same_end(&few.attempts, &all.attempts);
    let none = folded(log, HistoryLimits::NOTHING);
    assert_eq!((&none.usage, none.timeline.total), (&all.usage, all.timeline.total));
    assert!(none.timeline.last().is_none() && none.gates.last().is_none() && none.unjudged.is_empty());
}

fn same_end<T: PartialEq + std::fmt::Debug>(few: &BoundedList<T>, all: &BoundedList<T>) {
    assert_eq!(few.total, all.total);
    let end = all.iter().rev().take(2).collect::<Vec<_>>();
    assert_eq!(few.iter().rev().collect::<Vec<_>>(), end);
}

fn folded(log: &[Decision], limits: HistoryLimits) -> History {
    let mut history = History::new(limits);
    let mut first = 1;
    for decision in log {
        history.note(first, decision);
        first += decision.events.len() as u64;
    }
    history
}

fn total<'s>(sums: impl Iterator<Item = &'s UsageSum>) -> UsageSum {
    let mut total = UsageSum::default();
    for sum in sums {
        total.used.add(&sum.used);
        total.attempts += sum.attempts;
        total.attempts_unknown += sum.attempts_unknown;
        total.costs_unknown += sum.costs_unknown;
    }
    total
}
