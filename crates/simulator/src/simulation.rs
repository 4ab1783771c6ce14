//! One simulated loop: driven by the real driver until it rests for good, with
//! books kept on every record and every death.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex};

use windlass_core::effect::Effect;
use windlass_core::event::{
    AttemptEvent, AttemptFinished, Decision, Event, IterationEvent, LandingEvent, OperatorEvent, RunEvent,
    TaskEvent,
};
use windlass_core::id::{AttemptId, LoopName, Seq, TreeId};
use windlass_core::input::Asked;
use windlass_core::outcome::{Fault, Outcome, OutcomeKind, Reason};
use windlass_core::policy::Role;
use windlass_core::state::{Deadline, Lifecycle, State};
use windlass_core::step::create;
use windlass_core::time::{Millis, Timestamp};
use windlass_core::usage::Usage;
use windlass_driver::drive_loop::{DriveLoopError, drive};
use windlass_driver::{Ended, Journal, Stamp};
use windlass_store::{Inbox as _, MemoryStore, Store};

use crate::agent::{self, Draw, Turn};
use crate::audit::Audit;
use crate::backoff::BackoffAudit;
use crate::chance::Chance;
use crate::facts::Facts;
use crate::operator::between_drives;
use crate::options::{Agents, Crash, Options, Terms, WallClock};
use crate::storage::{CrashingStore, locked};
use crate::world::{SimulatedWorlds, nonce};

/// A loop that makes more decisions than this does not end.
const DECISIONS: usize = 4000;
const CRASHES: u32 = 30;

/// What is wrong with an append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StoreTrouble {
    Full,
    /// It fails, and nothing is stored.
    Fails,
    /// Another process took the loop for unowned, and stored a record of its own.
    SecondOwner,
}

/// Rare situations that the seeds are to reach; a simulator that never gets
/// there proves nothing about them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Situation {
    StoreFull,
    StoreFails,
    SecondOwner,
    WorldNotOpened,
    WindDownFailed,
    DiedBeforeTaking,
    DoneDespiteStop,
    LandingHeldBack,
    TreeGivenUp,
    LandingGivenUp,
    /// The wall clock was set during a backoff.
    ClockSet,
    WorkMerged,
    WorkNotMerged,
    LandingApproved,
    LandingRejected,
}

impl Situation {
    pub const ALL: [Self; 15] = [
        Self::StoreFull,
        Self::StoreFails,
        Self::SecondOwner,
        Self::WorldNotOpened,
        Self::WindDownFailed,
        Self::DiedBeforeTaking,
        Self::DoneDespiteStop,
        Self::LandingHeldBack,
        Self::TreeGivenUp,
        Self::LandingGivenUp,
        Self::ClockSet,
        Self::WorkMerged,
        Self::WorkNotMerged,
        Self::LandingApproved,
        Self::LandingRejected,
    ];
}

/// How a simulated loop came to rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoopEnd {
    Ended(OutcomeKind),
    Paused,
}

#[derive(Debug)]
pub struct Trace {
    pub seed: u64,
    pub end: LoopEnd,
    pub log: Vec<Decision>,
    pub state: State,
    /// What the branch holds at the end.
    pub tree: TreeId,
    pub boundaries: u32,
    pub crashes: u32,
    pub reached: BTreeSet<Situation>,
}

/// An invariant does not hold. The seed brings the same loop again.
#[derive(Debug)]
pub struct Broken {
    pub seed: u64,
    pub options: Options,
    pub why: String,
    pub log: Vec<Decision>,
}

/// What is known of a simulated loop beside what the driver knows.
pub(crate) struct Books {
    pub(crate) facts: Facts,
    pub(crate) options: Options,
    /// What the operator does and what faults befall; apart from the agents'.
    pub(crate) chance: Chance,
    pub(crate) agents: Chance,
    pub(crate) asked: Asked,
    pub(crate) restarts: u32,
    /// The attempt whose processes live.
    pub(crate) alive: Option<AttemptId>,
    /// On the monotonic clock.
    pub(crate) last_stamp: Option<Millis>,
    pub(crate) inbox: MemoryStore,
    /// The last record that the world was shown.
    pub(crate) shown: Seq,
    /// The fold of what was stored.
    pub(crate) state: State,
    log: Vec<Decision>,
    audit: Audit,
    backoffs: BackoffAudit,
    boundaries: u32,
    crashes: u32,
    dead: bool,
    broken: Option<String>,
    reported: Usage,
    unreported: u64,
    /// What failed last and may not be left out.
    failing: Option<FailingStep>,
    /// How often the open run was cancelled.
    cancels: u32,
    pub(crate) reached: BTreeSet<Situation>,
}

struct FailingStep {
    effect: Effect,
    fault: Fault,
}

pub(crate) fn loop_name() -> LoopName {
    LoopName::new("sim").expect("a legal name")
}

/// Plays one loop to where it rests for good.
pub fn simulate(seed: u64, options: &Options) -> Result<Trace, Box<Broken>> {
    let memory = MemoryStore::new();
    let (books, created) = Books::new(seed, options, memory.clone());
    let books = Arc::new(Mutex::new(books));
    Journal::create(Arc::new(memory.clone()), &created).expect("a new store takes a first record");
    let store: Arc<dyn Store> = Arc::new(CrashingStore { inner: memory, books: Arc::clone(&books) });
    let mut worlds = SimulatedWorlds { books: Arc::clone(&books) };
    let end = play(&store, &mut worlds);
    let books = locked(&books);
    match end {
        Ok(end) => Ok(Trace {
            seed,
            end,
            tree: books.state.head.tree.clone(),
            state: books.state.clone(),
            log: books.log.clone(),
            boundaries: books.boundaries,
            crashes: books.crashes,
            reached: books.reached.clone(),
        }),
        Err(why) => {
            let (options, log) = (options.clone(), books.log.clone());
            Err(Box::new(Broken { seed, options, why, log }))
        }
    }
}

/// Drives until the loop rests: ended, or paused with nobody to resume it.
fn play(store: &Arc<dyn Store>, worlds: &mut SimulatedWorlds) -> Result<LoopEnd, String> {
    loop {
        let asked = locked(&worlds.books).asked.clone();
        let ended = drive(store, &loop_name(), asked, worlds);
        if let Ok(ended) = &ended {
            locked(&worlds.books).at_rest(ended);
        }
        let end = match ended {
            Ok(Ended::Interrupted) => None,
            Ok(Ended::Paused(_)) => Some(LoopEnd::Paused),
            Ok(Ended::Outcome(outcome)) => Some(LoopEnd::Ended(outcome.kind)),
            Err(error) => {
                locked(&worlds.books).came_to(&error)?;
                None
            }
        };
        let goes_on = match between_drives(store, worlds, end) {
            Ok(goes_on) => goes_on,
            Err(error) => {
                locked(&worlds.books).came_to(&error)?;
                true
            }
        };
        locked(&worlds.books).sound()?;
        if let (false, Some(end)) = (goes_on, end) {
            return locked(&worlds.books).settled(end).map(|()| end);
        }
    }
}

impl Books {
    fn new(seed: u64, options: &Options, inbox: MemoryStore) -> (Self, Decision) {
        let mut chance = Chance::new(seed);
        let terms = Terms::drawn(&mut chance, options);
        let agents = Chance::new(chance.draw());
        let facts = Facts::new(terms);
        let created = create(facts.now, facts.terms.creation.clone());
        let state = State::created_by(&created).expect("the first decision creates the loop");
        let books = Self {
            audit: Audit::of(&facts.terms.creation),
            backoffs: BackoffAudit::default(),
            facts,
            options: options.clone(),
            chance,
            agents,
            asked: Asked::default(),
            restarts: 0,
            alive: None,
            last_stamp: None,
            inbox,
            shown: state.seq,
            state,
            log: vec![created.clone()],
            boundaries: 0,
            crashes: 0,
            dead: false,
            broken: None,
            reported: Usage::default(),
            unreported: 0,
            failing: None,
            cancels: 0,
            reached: BTreeSet::new(),
        };
        (books, created)
    }

    pub(crate) fn stamp(&mut self) -> Stamp {
        self.facts.pass(Millis(1));
        let elapsed = self.since_stamp();
        self.last_stamp = Some(self.facts.passed);
        Stamp { at: self.facts.now, elapsed, fresh: nonce(self.chance.draw()) }
    }

    fn since_stamp(&self) -> Millis {
        self.last_stamp.map_or(Millis(0), |last| Millis(self.facts.passed.0 - last.0))
    }

    /// The world sleeps until a deadline, and somebody may set the wall clock meanwhile.
    pub(crate) fn sleep(&mut self, deadline: Deadline) {
        let wait = match deadline {
            Deadline::At(moment) => moment.since(self.facts.now),
            Deadline::After(span) => Millis(span.0.saturating_sub(self.since_stamp().0)),
        };
        if let (WallClock::Set, Deadline::After(_)) = (self.options.clock, deadline) {
            let far = i64::try_from(self.agents.below(4 * 24 * 3_600_000)).expect("a few days");
            self.facts.now = Timestamp(self.facts.now.0 + far - 2 * 24 * 3_600_000);
            self.reached.insert(Situation::ClockSet);
        }
        self.facts.pass(wait);
    }

    pub(crate) fn begin_turn(&mut self, state: &State, role: Role) -> Turn {
        let drawn = Draw { agents: self.options.agents, chance: &mut self.agents };
        agent::begin(&mut self.facts, state, role, drawn)
    }

    /// A moment at which the driver may die.
    pub(crate) fn dies(&mut self) -> bool {
        let now = self.boundaries;
        self.boundaries += 1;
        let dies = match self.options.crash {
            Crash::Never => false,
            Crash::At(at) => at == now,
            Crash::OneIn(n) => self.crashes < CRASHES && self.chance.one_in(n),
        };
        self.crashes += u32::from(dies);
        self.dead |= dies;
        dies
    }

    /// A cancel or a signal came: what is performed is to be cut short.
    pub(crate) fn wants_to_stop(&self) -> bool {
        self.state.cancelling || self.state.lifecycle == Lifecycle::Interrupted
    }

    pub(crate) fn is_dead(&self) -> bool {
        self.dead
    }

    pub(crate) fn break_with(&mut self, why: &str) {
        self.broken.get_or_insert_with(|| why.to_owned());
    }

    pub(crate) fn is_broken(&self) -> bool {
        self.broken.is_some()
    }

    /// What befalls an append now and then. After anything but a full disk the
    /// driver is as good as dead.
    pub(crate) fn store_trouble(&mut self) -> Option<StoreTrouble> {
        if self.options.agents == Agents::Honest || !self.chance.one_in(250) {
            return None;
        }
        let all = [StoreTrouble::Full, StoreTrouble::Fails, StoreTrouble::SecondOwner];
        let trouble = *self.chance.pick(&all);
        self.reached.insert(match trouble {
            StoreTrouble::Full => Situation::StoreFull,
            StoreTrouble::Fails => Situation::StoreFails,
            StoreTrouble::SecondOwner => Situation::SecondOwner,
        });
        self.dead |= trouble != StoreTrouble::Full;
        Some(trouble)
    }

    /// Now and then a world cannot be opened, and nothing is driven.
    pub(crate) fn finds_no_world(&mut self) -> bool {
        let refused = self.options.agents == Agents::Mixed && self.chance.one_in(60);
        if refused {
            self.dead = true;
            self.reached.insert(Situation::WorldNotOpened);
        }
        refused
    }

    /// Now and then something of windlass's own fails, most often what may not be
    /// left out and failed already. A landing may have happened all the same.
    pub(crate) fn fault(&mut self, effect: &Effect) -> Option<Fault> {
        let odds = match effect {
            _ if self.failing.is_some() => 2,
            Effect::Snapshot(_) | Effect::Land { .. } => 30,
            Effect::MergeWork { .. }
            | Effect::PrepareWorkspace { .. }
            | Effect::CallAgent { .. }
            | Effect::RunGate { .. }
            | Effect::CheckStop { .. } => 80,
        };
        if self.options.agents == Agents::Honest || !self.chance.one_in(odds) {
            self.failing = None;
            return None;
        }
        let reasons = [Reason::DiskFull, Reason::BranchMoved, Reason::EffectFailed, Reason::InternalError];
        let reason = *self.chance.pick(&reasons);
        let fault = Fault { reason, detail: reason.words().to_owned() };
        if let Effect::Land { commit, expected, .. } = effect
            && reason != Reason::BranchMoved
            && self.chance.one_in(2)
        {
            self.facts.land(commit, expected.as_ref());
        }
        let failing = FailingStep { effect: effect.clone(), fault: fault.clone() };
        self.failing = (!effect.may_be_dropped()).then_some(failing);
        Some(fault)
    }

    /// A record is durable: the books are kept on what was stored.
    pub(crate) fn appended(&mut self, decision: Decision) {
        self.state.apply(Seq(self.log.len() as u64 + 1), &decision);
        let kept = self.keep(&decision);
        self.log.push(decision);
        if let Err(why) = kept {
            self.break_with(&why);
        }
    }

    fn keep(&mut self, decision: &Decision) -> Result<(), String> {
        if self.log.len() >= DECISIONS {
            return Err("the loop does not end".to_owned());
        }
        self.audit.check(decision, &self.state)?;
        self.backoffs.check(decision)?;
        for event in &decision.events {
            self.reached.extend(situation(event));
            if let Event::Attempt(AttemptEvent::Finished(finished)) = event {
                count(&mut self.reported, &mut self.unreported, finished);
            } else if let Event::Task(TaskEvent::Done { .. }) = event {
                proven(&self.facts, &self.state, "test")?;
            } else if let Event::Task(TaskEvent::StepLanded { .. }) = event {
                each_step_once(&self.facts, &self.state)?;
            } else if let Event::Operator(OperatorEvent::CancelAsked) = event {
                self.cancels += 1;
            } else if let Event::Run(RunEvent::Ended { outcome }) = event {
                self.give_up(decision, outcome);
                self.cancels = 0;
                if self.facts.unrecorded {
                    return Err("a run ends, and what its author left is not recorded".to_owned());
                }
                if outcome.kind == OutcomeKind::Completed {
                    let checks = self.state.checks_for(None);
                    checks.iter().try_for_each(|check| proven(&self.facts, &self.state, check))?;
                }
            }
        }
        Ok(())
    }

    /// Only a second cancel leaves out a step that may not be left out: one that
    /// failed, and the outcome says how.
    fn give_up(&mut self, ending: &Decision, outcome: &Outcome) {
        let cancelled = Event::Operator(OperatorEvent::CancelAsked);
        let asked = self.cancels > 1 && ending.events.contains(&cancelled);
        let told = |step: &FailingStep| outcome.detail.contains(&step.fault.detail);
        let Some(step) = self.failing.take().filter(|step| asked && told(step)) else { return };
        match step.effect {
            Effect::Snapshot(_) => {
                self.facts.unrecorded = false;
                self.reached.insert(Situation::TreeGivenUp);
            }
            Effect::Land { .. } => {
                self.reached.insert(Situation::LandingGivenUp);
            }
            Effect::MergeWork { .. }
            | Effect::PrepareWorkspace { .. }
            | Effect::CallAgent { .. }
            | Effect::RunGate { .. }
            | Effect::CheckStop { .. } => {}
        }
    }

    /// Whoever watches has seen every decision before the drive waits or rests.
    pub(crate) fn all_is_shown(&mut self) {
        if self.shown != self.state.seq {
            self.break_with("a decision was not shown");
        }
    }

    /// What holds when a drive ends in good order, and not because the log could not grow.
    fn at_rest(&mut self, ended: &Ended) {
        if self.dead {
            self.break_with("a driver that is gone comes to rest");
        }
        if matches!(ended, Ended::Paused(pause) if pause.why == Reason::DiskFull) {
            return;
        }
        self.all_is_shown();
        let landing = self.state.outstanding().any(|(_, effect)| matches!(effect, Effect::Land { .. }));
        if landing && *ended == Ended::Interrupted {
            self.reached.insert(Situation::LandingHeldBack);
        }
        let waiting = self.inbox.sent(&loop_name(), self.state.last_command).expect("the loop is there");
        if !waiting.is_empty() {
            self.break_with("a drive rests, and a command that woke it waits");
        }
    }

    /// An error is a death, or a disk that was full twice; anything else is wrong.
    fn came_to(&mut self, error: &(dyn std::error::Error + 'static)) -> Result<(), String> {
        self.sound()?;
        let was_dead = std::mem::replace(&mut self.dead, false);
        let full = error.downcast_ref::<DriveLoopError>().is_some_and(DriveLoopError::is_disk_full)
            || error.to_string().contains("no space left");
        match was_dead || full {
            true => Ok(()),
            false => Err(format!("the driver gave up: {error}")),
        }
    }

    fn sound(&self) -> Result<(), String> {
        self.broken.clone().map_or(Ok(()), Err)
    }

    /// What holds once a loop rests.
    fn settled(&self, end: LoopEnd) -> Result<(), String> {
        let ledger = &self.state.ledger;
        if (ledger.total, ledger.attempts_unknown) != (self.reported, self.unreported) {
            return Err("the ledger is not the sum of the reports that were appended".to_owned());
        }
        if self.log.iter().flat_map(|decision| &decision.events).any(is_refused_drop) {
            return Err("the driver closed an effect as dropped that it was to do again".to_owned());
        }
        let head = self.state.head.landed.then_some(&self.state.head.commit);
        let known = matches!(end, LoopEnd::Ended(_)) && !self.reached.contains(&Situation::LandingGivenUp);
        if known && head != self.facts.branch.as_ref() {
            return Err("the branch is not at the head".to_owned());
        }
        Ok(())
    }
}

fn is_refused_drop(event: &Event) -> bool {
    matches!(event, Event::Operator(OperatorEvent::InputRefused { input, .. }) if input == "effect_dropped")
}

fn count(reported: &mut Usage, unreported: &mut u64, finished: &AttemptFinished) {
    match &finished.result.usage {
        Some(usage) => reported.add(usage),
        None => *unreported += 1,
    }
}

/// Done is a proof: the model itself says so of the tree that landed.
/// What landed has come as far as there were steps.
fn each_step_once(facts: &Facts, state: &State) -> Result<(), String> {
    let (tree, steps) =
        (facts.tree(&state.head.tree)?, state.tasks.iter().map(|task| task.steps).sum::<u32>());
    if u32::from(tree.work[0]) == steps {
        return Ok(());
    }
    Err(format!("{steps} steps landed, and the work has come to {}", tree.work[0]))
}

fn proven(facts: &Facts, state: &State, check: &str) -> Result<(), String> {
    let tree = facts.tree(&state.head.tree)?;
    let checked = state.checks_for(None).iter().any(|name| name == check);
    if tree.tampered || (checked && !facts.terms.passes(check, tree.on_trusted_terms())) {
        return Err(format!("{check} is not green on {}, and it counts as done", state.head.tree));
    }
    Ok(())
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {} with {:?}: {}", self.seed, self.options, self.why)?;
        for (at, decision) in self.log.iter().enumerate().skip(self.log.len().saturating_sub(25)) {
            for event in &decision.events {
                writeln!(f, "  {:4}  {event}", at + 1)?;
            }
        }
        Ok(())
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "a few events are rare situations")]
fn situation(event: &Event) -> Option<Situation> {
    match event {
        Event::Iteration(IterationEvent::WorkMerged { .. }) => Some(Situation::WorkMerged),
        Event::Iteration(IterationEvent::WorkNotMerged { .. }) => Some(Situation::WorkNotMerged),
        Event::Landing(LandingEvent::Approved { .. }) => Some(Situation::LandingApproved),
        Event::Landing(LandingEvent::Rejected { .. }) => Some(Situation::LandingRejected),
        _ => None,
    }
}
