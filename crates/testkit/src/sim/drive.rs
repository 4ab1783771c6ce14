//! The driver's part: select, step, append, apply, perform; and after a crash
//! fold, close what was lost, and do the rest again.

use std::fmt;

use windlass_core::effect::Effect;
use windlass_core::event::{Decision, Event};
use windlass_core::id::{AttemptId, CommandId, EffectId, Nonce, Seq, TreeId};
use windlass_core::input::{AgentFinished, Asked, AttemptEnd, Command, Input, Stamped};
use windlass_core::outcome::{Fault, OutcomeKind, Reason};
use windlass_core::policy::Role;
use windlass_core::state::{Lifecycle, State};
use windlass_core::step::{create, step};
use windlass_core::time::{Millis, Timestamp};
use windlass_core::usage::Usage;

use super::agent;
use super::audit::Audit;
use super::chance::Chance;
use super::options::{Agents, Crash, Options, Terms};
use super::world::World;

/// A loop that makes more decisions than this does not end.
const DECISIONS: usize = 4000;
const CRASHES: u32 = 30;

/// One simulated loop on its way.
pub struct Loop {
    pub(super) world: World,
    pub(super) state: State,
    pub(super) options: Options,
    /// What the operator does and what faults befall; apart from the agents'.
    pub(super) chance: Chance,
    pub(super) commands: Vec<(CommandId, Command)>,
    pub(super) sent: CommandId,
    pub(super) asked: Asked,
    pub(super) restarts: u32,
    agents: Chance,
    log: Vec<Decision>,
    audit: Audit,
    taken: CommandId,
    last_input: Option<Timestamp>,
    boundaries: u32,
    crashes: u32,
    alive: Option<AttemptId>,
    reported: Usage,
    unreported: u64,
}

/// How a simulated loop came to rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Ended(OutcomeKind),
    Paused,
}

#[derive(Debug)]
pub struct Trace {
    pub seed: u64,
    pub end: End,
    pub log: Vec<Decision>,
    pub state: State,
    /// What the branch holds at the end.
    pub tree: TreeId,
    pub boundaries: u32,
    pub crashes: u32,
}

/// An invariant does not hold. The seed brings the same loop again.
#[derive(Debug)]
pub struct Broken {
    pub seed: u64,
    pub options: Options,
    pub why: String,
    pub log: Vec<Decision>,
}

pub(super) enum Halt {
    Crashed,
    Broken(String),
}

pub(super) enum Stop {
    Ended,
    Paused,
    Interrupted,
}

type Step<T> = Result<T, Halt>;

impl Loop {
    pub fn run(seed: u64, options: &Options) -> Result<Trace, Box<Broken>> {
        let mut played = Self::new(seed, options);
        match played.play() {
            Ok(end) => Ok(Trace {
                seed,
                end,
                tree: played.state.head.tree.clone(),
                state: played.state,
                log: played.log,
                boundaries: played.boundaries,
                crashes: played.crashes,
            }),
            Err(why) => Err(Box::new(Broken { seed, options: options.clone(), why, log: played.log })),
        }
    }

    fn new(seed: u64, options: &Options) -> Self {
        let mut chance = Chance::new(seed);
        let terms = Terms::drawn(&mut chance, options);
        let agents = Chance::new(chance.draw());
        let world = World::new(terms);
        let created = create(world.now, world.terms.creation.clone());
        let state = State::found(&created).expect("the first decision creates the loop");
        Self {
            audit: Audit::of(&world.terms.creation),
            world,
            state,
            options: options.clone(),
            chance,
            commands: Vec::new(),
            sent: CommandId(0),
            asked: Asked::default(),
            restarts: 0,
            agents,
            log: vec![created],
            taken: CommandId(0),
            last_input: None,
            boundaries: 0,
            crashes: 0,
            alive: None,
            reported: Usage::default(),
            unreported: 0,
        }
    }

    /// Drives until the loop rests: ended, or paused with nobody to resume it.
    fn play(&mut self) -> Result<End, String> {
        loop {
            let stop = match self.drive() {
                Ok(stop) => stop,
                Err(Halt::Crashed) => {
                    self.recover()?;
                    continue;
                }
                Err(Halt::Broken(why)) => return Err(why),
            };
            let end = match stop {
                Stop::Interrupted => continue,
                Stop::Paused => End::Paused,
                Stop::Ended => match self.state.outcome() {
                    Some(outcome) => End::Ended(outcome.kind),
                    None => return Err("a drive ended and the run did not".to_owned()),
                },
            };
            match self.between_drives(end) {
                Ok(true) => {}
                Ok(false) => return self.settled(end),
                Err(Halt::Crashed) => self.recover()?,
                Err(Halt::Broken(why)) => return Err(why),
            }
        }
    }

    fn drive(&mut self) -> Step<Stop> {
        self.last_input = None;
        self.give(Input::RunAsked(self.asked.clone()), None)?;
        if self.state.may_perform() || self.state.waiting.is_some() {
            self.close_what_was_lost()?;
        }
        loop {
            if self.state.outcome().is_some() {
                return Ok(Stop::Ended);
            }
            self.operator_acts()?;
            if self.state.paused.is_some() {
                return Ok(Stop::Paused);
            }
            match self.state.lifecycle {
                Lifecycle::Ended(_) => continue,
                Lifecycle::Idle => return Err(broken("a drive finds the loop idle")),
                Lifecycle::Interrupted => return Ok(Stop::Interrupted),
                Lifecycle::Driving => {}
            }
            if let Some(deadline) = self.state.next_deadline() {
                self.world.now = self.world.now.max(deadline);
                self.give(Input::DeadlinePassed, None)?;
                continue;
            }
            let next = self.state.outstanding().next().map(|(id, effect)| (id, effect.clone()));
            let Some((id, effect)) = next else { return Err(broken("there is nothing to do")) };
            self.perform(id, &effect)?;
        }
    }

    fn perform(&mut self, id: EffectId, effect: &Effect) -> Step<()> {
        if !self.state.may_perform() {
            return Err(broken("an effect is performed that is held back"));
        }
        if let Some(fault) = self.fault(effect) {
            return self.give(Input::EffectFailed(fault), Some(id));
        }
        let input = match effect {
            Effect::CallAgent { attempt, role, .. } => return self.attempt(id, *attempt, *role),
            Effect::PrepareWorkspace { tree } => self.world.prepare(tree),
            Effect::Snapshot(snapshot) => self.world.snapshot(snapshot),
            Effect::RunGate { tree, checks, .. } => self.world.gate(tree, checks),
            Effect::Land { commit, expected, .. } => Ok(self.world.land(commit, expected.as_ref())),
        };
        self.world.pass(Millis::seconds(2));
        self.give(input.map_err(Halt::Broken)?, Some(id))
    }

    /// The operator may act while an agent works; a cancel or a signal ends it.
    fn attempt(&mut self, id: EffectId, attempt: AttemptId, role: Role) -> Step<()> {
        if let Some(other) = self.alive.replace(attempt) {
            return Err(broken(&format!("attempt {attempt} starts beside attempt {other}")));
        }
        let drawn = (self.options.agents, &mut self.agents);
        let turn = agent::begin(&mut self.world, &self.state, role, drawn);
        self.world.pass(turn.took);
        self.boundary()?;
        self.operator_acts()?;
        let stopped = self.state.cancelling || self.state.lifecycle == Lifecycle::Interrupted;
        let told = match stopped {
            true => AgentFinished::ended(AttemptEnd::Interrupted),
            false => agent::report(&turn, &self.world, &self.state, &mut self.agents),
        };
        self.alive = None;
        self.give(Input::AgentFinished(Box::new(told)), Some(id))
    }

    /// The warden ended whatever ran; what it did is in the workspace.
    pub(super) fn close_what_was_lost(&mut self) -> Step<()> {
        let lost = self.state.outstanding().find_map(|(id, effect)| match effect {
            Effect::CallAgent { .. } => Some(id),
            Effect::PrepareWorkspace { .. }
            | Effect::Snapshot(_)
            | Effect::RunGate { .. }
            | Effect::Land { .. } => None,
        });
        match lost {
            Some(id) => {
                self.give(Input::AgentFinished(Box::new(AgentFinished::ended(AttemptEnd::Lost))), Some(id))
            }
            None => Ok(()),
        }
    }

    /// Step, append, apply; the books are kept on what was appended. To die
    /// before the append is to die after the effect was performed, and to die
    /// after it is to die before the next one is.
    pub(super) fn give(&mut self, what: Input, closes: Option<EffectId>) -> Step<()> {
        self.world.pass(Millis(1));
        let elapsed = self.last_input.map_or(Millis(0), |last| self.world.now.since(last));
        let fresh = Nonce::new(format!("{:016x}", self.chance.draw()));
        let stamped = Stamped { at: self.world.now, elapsed, fresh, closes, what };
        let decision = step(&self.state, &stamped);
        self.boundary()?;
        if self.log.len() > DECISIONS {
            return Err(broken("the loop does not end"));
        }
        self.last_input = Some(self.world.now);
        self.state.apply(Seq(self.log.len() as u64 + 1), &decision);
        self.log.push(decision);
        self.keep_books(&stamped.what).map_err(Halt::Broken)?;
        self.boundary()
    }

    fn keep_books(&mut self, what: &Input) -> Result<(), String> {
        let decision = self.log.last().expect("a decision was appended");
        self.audit.check(decision, &self.state)?;
        for event in &decision.events {
            if let Event::CommandTaken { command, .. } = event {
                self.taken = *command;
            } else if let Event::AttemptFinished(_) = event {
                match used(what) {
                    Some(usage) => self.reported.add(&usage),
                    None => self.unreported += 1,
                }
            } else if let Event::TaskDone { .. } = event {
                proven(&self.world, &self.state, "test")?;
            } else if let Event::RunEnded { outcome } = event
                && outcome.kind == OutcomeKind::Completed
            {
                let checks = self.state.checks_for(None);
                checks.iter().try_for_each(|check| proven(&self.world, &self.state, check))?;
            }
        }
        let taken = self.taken;
        self.commands.retain(|(id, _)| *id > taken);
        Ok(())
    }

    /// Fold the log: that is all there is to know.
    fn recover(&mut self) -> Result<(), String> {
        self.alive = None;
        let mut state = State::found(&self.log[0]).expect("the first decision creates the loop");
        for (seq, decision) in (2..).zip(&self.log[1..]) {
            state.apply(Seq(seq), decision);
        }
        if state != self.state {
            return Err("the state is not the fold of the log".to_owned());
        }
        self.state = state;
        Ok(())
    }

    /// What holds once a loop rests.
    fn settled(&self, end: End) -> Result<End, String> {
        let ledger = &self.state.ledger;
        if (ledger.total, ledger.attempts_unknown) != (self.reported, self.unreported) {
            return Err("the ledger is not the sum of the reports that were appended".to_owned());
        }
        let head = self.state.head.landed.then_some(&self.state.head.commit);
        if matches!(end, End::Ended(_)) && head != self.world.branch.as_ref() {
            return Err("the branch is not at the head".to_owned());
        }
        Ok(end)
    }

    /// A moment at which the driver may die.
    fn boundary(&mut self) -> Step<()> {
        let now = self.boundaries;
        self.boundaries += 1;
        let dies = match self.options.crash {
            Crash::Never => false,
            Crash::At(at) => at == now,
            Crash::OneIn(n) => self.crashes < CRASHES && self.chance.one_in(n),
        };
        if !dies {
            return Ok(());
        }
        self.crashes += 1;
        Err(Halt::Crashed)
    }

    /// Now and then something of windlass's own fails; not what is found done.
    fn fault(&mut self, effect: &Effect) -> Option<Fault> {
        let done =
            matches!(effect, Effect::Land { commit, .. } if self.world.branch.as_ref() == Some(commit));
        if done || self.options.agents == Agents::Honest || !self.chance.one_in(80) {
            return None;
        }
        let reason = *self.chance.pick(&[Reason::DiskFull, Reason::BranchMoved, Reason::EffectFailed]);
        Some(Fault { reason, detail: reason.words().to_owned() })
    }
}

/// What the input says of an attempt's use; an attempt that never ran says nothing.
fn used(what: &Input) -> Option<Usage> {
    if let Input::AgentFinished(told) = what { told.usage } else { None }
}

/// Done is a proof: the model itself says so of the tree that landed.
fn proven(world: &World, state: &State, check: &str) -> Result<(), String> {
    let tree = world.tree(&state.head.tree)?;
    let checked = state.checks_for(None).iter().any(|name| name == check);
    if tree.tampered || (checked && !world.terms.passes(check, tree)) {
        return Err(format!("{check} is not green on {}, and it counts as done", state.head.tree));
    }
    Ok(())
}

pub(super) fn broken(why: &str) -> Halt {
    Halt::Broken(why.to_owned())
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
