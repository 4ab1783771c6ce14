//! Loops in the simulator: a crash at every boundary changes nothing that
//! counts, and whatever agents and operators do, the invariants hold.
//! `WINDLASS_FULL=1` plays the full matrix, `SIM_SEEDS=100000` as many as it says.

#![allow(clippy::disallowed_methods, reason = "a switch in the environment asks for more seeds")]

use std::collections::BTreeMap;

use windlass_core::event::{AttemptEvent, Event, IterationEvent, TaskEvent};
use windlass_core::outcome::OutcomeKind;
use windlass_simulator::{Crash, LoopEnd, Options, Situation, Trace, simulate};

const COMPLETED: LoopEnd = LoopEnd::Ended(OutcomeKind::Completed);

#[test]
fn honest_agents_complete() {
    for seed in 0..100 {
        assert_eq!(run(seed, &Options::honest(Crash::Never)).end, COMPLETED, "seed {seed}");
    }
}

#[test]
fn a_crash_at_any_boundary_leads_to_the_same_tree() {
    for seed in 0..seeds(60, 1000) {
        crash_everywhere(seed, 1);
    }
}

#[test]
fn a_crash_at_any_boundary_of_a_larger_plan_does_too() {
    for seed in 0..seeds(4, 40) {
        crash_everywhere(seed, 4);
    }
}

fn crash_everywhere(seed: u64, tasks: usize) {
    let options = |crash| Options { tasks, ..Options::honest(crash) };
    let calm = run(seed, &options(Crash::Never));
    assert_eq!(calm.end, COMPLETED, "seed {seed}");
    for at in 0..=calm.boundaries {
        let crashed = run(seed, &options(Crash::At(at)));
        assert_eq!(crashed.crashes, u32::from(at < calm.boundaries), "seed {seed}, crash at {at}");
        same_work(&calm, &crashed, at);
    }
}

#[test]
fn a_crash_at_any_boundary_of_an_open_ended_loop_counts_each_step_once() {
    for seed in 0..seeds(3, 200) {
        let calm = run(seed, &Options::open_ended(Crash::Never));
        assert_eq!(calm.end, COMPLETED, "seed {seed}");
        let steps = count(&calm, is_step);
        assert!(steps > 3, "seed {seed}: {steps} steps");
        for at in 0..=calm.boundaries {
            let crashed = run(seed, &Options::open_ended(Crash::At(at)));
            same_work(&calm, &crashed, at);
            assert_eq!(count(&crashed, is_step), steps, "seed {seed}, crash at {at}");
        }
        let crashed = run(seed, &Options::open_ended(Crash::OneIn(12)));
        same_work(&calm, &crashed, 0);
        assert_eq!(count(&crashed, is_step), steps, "seed {seed}, many crashes");
    }
}

fn is_step(event: &Event) -> bool {
    matches!(event, Event::Task(TaskEvent::StepLanded { .. }))
}

#[test]
fn a_crash_at_any_boundary_breaks_no_invariant() {
    for seed in 0..seeds(4, 60) {
        for at in 0.. {
            if run(seed, &Options::mixed(Crash::At(at))).crashes == 0 {
                break;
            }
        }
    }
}

#[test]
fn many_crashes_lead_to_the_same_tree() {
    for seed in 0..seeds(100, 3000) {
        let calm = run(seed, &Options::honest(Crash::Never));
        let crashed = run(seed, &Options::honest(Crash::OneIn(12)));
        same_work(&calm, &crashed, 0);
    }
}

#[test]
fn whatever_happens_the_invariants_hold() {
    let mut ends: BTreeMap<String, u32> = BTreeMap::new();
    let mut reached: BTreeMap<Situation, u32> = BTreeMap::new();
    for seed in 0..seeds(2000, 200_000) {
        let trace = run(seed, &Options::mixed(Crash::OneIn(100)));
        *ends.entry(format!("{:?}", trace.end)).or_default() += 1;
        trace.reached.into_iter().for_each(|situation| *reached.entry(situation).or_default() += 1);
    }
    println!("{ends:?} {reached:?}");
    assert!(ends.len() > 5, "the seeds reach every kind of end: {ends:?}");
    let missed = Situation::ALL.into_iter().find(|situation| !reached.contains_key(situation));
    assert_eq!(missed, None, "the seeds reach every situation: {reached:?}");
}

/// The same tree, each iteration once, and only lost attempts unknown.
fn same_work(calm: &Trace, crashed: &Trace, at: u32) {
    let place = format!("seed {}, crash at {at}", calm.seed);
    assert_eq!(crashed.end, calm.end, "{place}");
    assert_eq!(crashed.tree, calm.tree, "{place}");
    let lost = count(
        crashed,
        |event| matches!(event, Event::Attempt(AttemptEvent::Finished(finished)) if finished.result.usage.is_none()),
    );
    assert_eq!(crashed.state.ledger.attempts_unknown, lost, "{place}");
    assert!(lost <= u64::from(crashed.crashes), "{place}: more was lost than there were crashes");
    let opened = count(crashed, |event| matches!(event, Event::Iteration(IterationEvent::Opened { .. })));
    let closed = count(crashed, |event| matches!(event, Event::Iteration(IterationEvent::Closed { .. })));
    assert_eq!(opened, closed, "{place}: each iteration is recorded once");
    assert!(crashed.state.tasks.iter().all(|task| task.no_progress == 0), "{place}: a crash cost progress");
}

fn count(trace: &Trace, wanted: impl Fn(&Event) -> bool) -> u64 {
    let events = trace.log.iter().flat_map(|decision| &decision.events);
    events.filter(|event| wanted(event)).count() as u64
}

fn run(seed: u64, options: &Options) -> Trace {
    simulate(seed, options).unwrap_or_else(|broken| panic!("{broken}"))
}

fn seeds(usual: u64, full: u64) -> u64 {
    let asked = std::env::var("SIM_SEEDS").ok().and_then(|text| text.parse().ok());
    let due = if std::env::var_os("WINDLASS_FULL").is_some() { full } else { usual };
    asked.unwrap_or(due)
}
