//! What a simulated loop is made of, drawn from its seed.

use windlass_core::id::{BlobId, CommitId, LoopName, TaskId};
use windlass_core::input::Creation;
use windlass_core::policy::{CheckPolicy, CheckWhen, Policy, Rejected};
use windlass_core::stop::{StopCheck, StopCondition};
use windlass_core::task::{Plan, Task};
use windlass_core::time::Millis;

use crate::chance::Chance;
use crate::tree::{TASKS, Tree};

#[derive(Clone, Debug)]
pub struct Options {
    pub tasks: usize,
    pub agents: Agents,
    pub crash: Crash,
    pub operator: Operator,
    pub clock: WallClock,
    pub end: PlanEnd,
}

/// Whether it is known how often the work goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanEnd {
    Known,
    /// One task repeats until its stop check holds.
    Open,
}

/// What becomes of the wall clock while a drive waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WallClock {
    True,
    /// It is set back or forward, by up to two days.
    Set,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agents {
    /// Each turn brings its task one step further; the same tree comes out
    /// whatever is interrupted.
    Honest,
    /// Every kind, drawn anew for each turn.
    Mixed,
}

/// When the driver dies. A boundary is a moment before or after something
/// durable happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crash {
    Never,
    At(u32),
    OneIn(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    Asleep,
    Busy,
}

impl Options {
    pub fn honest(crash: Crash) -> Self {
        Self {
            tasks: 3,
            agents: Agents::Honest,
            crash,
            operator: Operator::Asleep,
            clock: WallClock::True,
            end: PlanEnd::Known,
        }
    }

    pub fn open_ended(crash: Crash) -> Self {
        Self { tasks: 1, end: PlanEnd::Open, ..Self::honest(crash) }
    }

    pub fn mixed(crash: Crash) -> Self {
        Self {
            tasks: 4,
            agents: Agents::Mixed,
            crash,
            operator: Operator::Busy,
            clock: WallClock::Set,
            end: PlanEnd::Known,
        }
    }
}

/// The loop's plan and policy, and what its checks and reviewers ask of a tree.
pub struct Terms {
    pub creation: Creation,
    /// How far each task has to come for its check.
    pub needs: [u8; TASKS],
    /// How much further a reviewer wants it.
    pub picky: u8,
    pub whole: u8,
    /// What Finish writes.
    pub notes: u8,
}

impl Terms {
    pub fn drawn(chance: &mut Chance, options: &Options) -> Self {
        let mixed = options.agents == Agents::Mixed;
        let mut policy = Policy::default();
        policy.review.tasks = chance.one_in(2);
        policy.review.whole = chance.one_in(2);
        let whole = u8::from(chance.one_in(2));
        let checked = !mixed || !chance.one_in(8);
        if checked {
            policy.gate.checks.push(check("test", CheckWhen::Both));
            policy.gate.checks.push(check("whole", CheckWhen::Final));
        }
        if chance.one_in(2) {
            policy.finish.prompt = "write the notes".to_owned();
        }
        if mixed {
            tighten(chance, &mut policy);
            policy.land.approve = options.operator != Operator::Asleep && chance.one_in(4);
        }
        let mut needs = [0; TASKS];
        for need in needs.iter_mut().take(options.tasks) {
            *need = 1 + u8::try_from(chance.below(2)).expect("below 2");
        }
        let mut picky = u8::from(policy.review.tasks && chance.one_in(2));
        if options.end == PlanEnd::Open {
            open_end(&mut policy);
            (needs[0], picky) = (needs[0] + 3, 0);
        }
        let notes = u8::from(chance.one_in(2));
        Self { creation: creation(policy, plan(chance, options.tasks)), needs, picky, whole, notes }
    }

    /// What the checks make of a tree.
    pub fn passes(&self, check: &str, tree: Tree) -> bool {
        let begun = |(done, need): (&u8, &u8)| *done == 0 || done >= need;
        match check {
            "whole" => tree.whole >= self.whole,
            _ => {
                tree.junk.is_multiple_of(2)
                    && tree.work.iter().zip(&self.needs).all(begun)
                    && tree.work != [0; TASKS]
            }
        }
    }

    pub fn task_index(&self, id: &TaskId) -> usize {
        self.creation.plan.tasks.iter().position(|task| task.id == *id).unwrap_or(0)
    }

    /// How far a task goes at most.
    pub fn full(&self, task: usize) -> u8 {
        self.needs[task] + self.picky
    }
}

/// Each step is checked against the tree before it; the final gate has its own check. A simulated
/// reviewer of a task wants all of it.
fn open_end(policy: &mut Policy) {
    policy.review.tasks = false;
    policy.gate.checks.retain(|check| check.when == CheckWhen::Final);
    policy.gate.step = Some(Box::new(CheckPolicy::of_step("sh step.sh", Millis::minutes(5))));
    let condition = StopCondition::Exists { path: "end".to_owned() };
    policy.stop.checks.push(StopCheck { name: "end".to_owned(), condition });
}

/// Limits near enough to be reached, none of them off.
fn tighten(chance: &mut Chance, policy: &mut Policy) {
    let mut near = |most: u64| 1 + u32::try_from(chance.below(most)).expect("a small number");
    let limits = &mut policy.limits;
    limits.max_iterations = 4 + near(16);
    limits.max_task_failures = near(4);
    limits.max_no_progress = near(4);
    limits.max_rejections = near(3);
    limits.max_review_failures = near(3);
    limits.max_agent_failures = near(3);
    limits.max_stalls = near(4);
    limits.max_transient = 1 + near(4);
    limits.max_final_fixes = near(4);
    limits.max_gate_failures = if near(4) == 1 { 3 + near(5) } else { 0 };
    if near(4) == 1 {
        policy.budget.tokens = u64::from(near(40)) * 100;
    }
    if near(4) == 1 {
        policy.budget.wall = Millis::minutes(u64::from(near(60)));
    }
    if near(4) == 1 {
        policy.review.rejected = Rejected::Reset;
    }
    if near(3) == 1 {
        policy.agent.extra.fallback = vec!["second".to_owned(), "third".to_owned()];
    }
}

fn plan(chance: &mut Chance, tasks: usize) -> Plan {
    let id = |at: usize| TaskId::new(format!("t{at}"));
    let task = |at: usize| Task {
        depends_on: (0..at).filter(|_| chance.one_in(3)).map(id).collect(),
        priority: i64::try_from(chance.below(3)).expect("below 3"),
        ..Task::plain(id(at), format!("Do t{at}"), BlobId::new("text"))
    };
    Plan { tasks: (0..tasks).map(task).collect(), tools: Vec::new() }
}

fn check(name: &str, when: CheckWhen) -> CheckPolicy {
    CheckPolicy {
        name: name.to_owned(),
        run: format!("sh {name}.sh"),
        when,
        timeout: Millis::minutes(5),
        ..CheckPolicy::default()
    }
}

fn creation(policy: Policy, plan: Plan) -> Creation {
    Creation {
        name: LoopName::new("sim").expect("a legal name"),
        goal: String::new(),
        plan,
        policy,
        base: CommitId::new("base"),
        base_tree: Tree::default().id(),
        trusted: None,
        branch: "windlass/sim".to_owned(),
        workspace: "space".to_owned(),
    }
}
