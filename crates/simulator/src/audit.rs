//! The invariants of a loop, checked over its log decision by decision, with
//! books of its own: what the core folded is compared, not trusted.

use std::collections::{BTreeMap, BTreeSet};

use windlass_core::event::{
    AttemptEvent, AttemptFinished, Decision, Event, FindingEvent, GateEvent, IterationEvent, IterationResult,
    LandingEvent, LoopEvent, OperatorEvent, PauseEvent, Phase, ReviewRecorded, RunEvent, TaskEvent,
};
use windlass_core::finding::{Finding, Origin, Rule, Severity};
use windlass_core::gate::{Purpose, Trials};
use windlass_core::id::{AttemptId, EffectId, FindingId, TaskId, TreeId};
use windlass_core::input::{Asked, AttemptEnd, Creation};
use windlass_core::limit::Limit;
use windlass_core::outcome::{Outcome, OutcomeKind, Reason};
use windlass_core::policy::{CheckWhen, Policy, Rejected, Role};
use windlass_core::revision::PlanRevision;
use windlass_core::state::{Lifecycle, State, TaskStatus};
use windlass_core::time::Timestamp;
use windlass_core::usage::Usage;
use windlass_core::verdict::Verdict;

pub struct Audit {
    creation: Creation,
    tasks: BTreeMap<TaskId, TaskStatus>,
    /// Blocked by a limit of the run: its restart opens them.
    by_run: BTreeSet<TaskId>,
    open_attempt: Option<AttemptId>,
    attempts: u64,
    /// The latest attempt of an author that ended.
    last_end: Option<(AttemptId, AttemptEnd)>,
    open_iteration: Option<u32>,
    /// Of the iteration that is open or was open last; none for the whole.
    open_task: Option<TaskId>,
    iterations: u32,
    run_iterations: u32,
    outstanding: BTreeSet<EffectId>,
    effects: u64,
    run: u32,
    ended: Option<OutcomeKind>,
    /// Its end was that of a part, or of a task at which the agent failed: others may be gone on with.
    leaves_others: bool,
    /// Its end was for work that the operator may do without.
    may_do_without: bool,
    asked: Asked,
    /// A drive that wanted no review took part in what is open.
    lenient: bool,
    gates: Gates,
    /// The same by the trusted tree that was judged beside it, for results that are used again.
    trials: BTreeMap<(Trials, Vec<String>), Judgement>,
    whole: BTreeMap<TreeId, Judgement>,
    /// Trees whose changed terms a reviewer accepted.
    terms_accepted: BTreeSet<TreeId>,
    /// Findings that a tree is green only with changed terms.
    about_terms: BTreeSet<FindingId>,
    terms_waived: bool,
    /// The rules and results by which a landing was decided that is still due.
    landing: Option<(Policy, Gates)>,
    verdicts: BTreeMap<TreeId, Verdict>,
    bugs: BTreeMap<FindingId, Option<TaskId>>,
    phase: Option<Phase>,
    head: TreeId,
    /// The head before Finish changed it.
    before_finish: Option<TreeId>,
    /// The tree that waits for the operator's word.
    waits: Option<TreeId>,
    approved: Option<TreeId>,
    /// Trees that the operator did not let land.
    not_let_in: BTreeSet<TreeId>,
    /// The policy wanted an approval all the time since the landing was decided.
    must_approve: bool,
    /// What each work is to go on from: the head it stands on, and its tree.
    kept: BTreeMap<Option<TaskId>, KeptWork>,
    used: Usage,
    unknown: u64,
}

struct KeptWork {
    head: TreeId,
    tree: TreeId,
}

type Kept = Result<(), String>;
type Gates = BTreeMap<(TreeId, Vec<String>), Judgement>;

/// What a run of the gate said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Judgement {
    Green,
    Red,
    NeedsTerms,
}

impl Audit {
    pub fn of(creation: &Creation) -> Self {
        let tasks = creation.plan.tasks.iter().map(|task| (task.id.clone(), TaskStatus::Pending));
        Self {
            tasks: tasks.collect(),
            by_run: BTreeSet::new(),
            open_attempt: None,
            attempts: 0,
            last_end: None,
            open_iteration: None,
            open_task: None,
            iterations: 0,
            run_iterations: 0,
            outstanding: BTreeSet::new(),
            effects: 0,
            run: 1,
            ended: None,
            leaves_others: false,
            may_do_without: false,
            asked: Asked::default(),
            lenient: false,
            gates: BTreeMap::new(),
            trials: BTreeMap::new(),
            whole: BTreeMap::new(),
            terms_accepted: BTreeSet::new(),
            about_terms: BTreeSet::new(),
            terms_waived: false,
            landing: None,
            verdicts: BTreeMap::new(),
            bugs: BTreeMap::new(),
            phase: None,
            head: creation.base_tree.clone(),
            before_finish: None,
            waits: None,
            approved: None,
            not_let_in: BTreeSet::new(),
            must_approve: false,
            kept: BTreeMap::new(),
            used: Usage::default(),
            unknown: 0,
            creation: creation.clone(),
        }
    }

    /// One more decision of the log, and the state it led to.
    pub fn check(&mut self, decision: &Decision, after: &State) -> Kept {
        if decision.events.is_empty() {
            return Err("a decision says nothing".to_owned());
        }
        for event in &decision.events {
            self.event(decision.at, event).map_err(|why| format!("{why}, at \"{event}\""))?;
        }
        self.effects(decision)?;
        self.agrees(after)
    }

    fn policy(&self) -> &Policy {
        &self.creation.policy
    }

    /// Effects are numbered without a gap, and each is closed at most once.
    fn effects(&mut self, decision: &Decision) -> Kept {
        if let Some(closed) = decision.closes
            && !self.outstanding.remove(&closed)
        {
            return Err(format!("effect {closed} is closed and was not outstanding"));
        }
        for issued in &decision.effects {
            self.effects += 1;
            if issued.id.0 != self.effects {
                return Err(format!("effect {} follows {}", issued.id, self.effects - 1));
            }
            self.outstanding.insert(issued.id);
        }
        Ok(())
    }

    /// The core's own fold says the same; a loop that is driven has exactly one
    /// thing to do, one that is not has none.
    fn agrees(&self, state: &State) -> Kept {
        let outstanding: BTreeSet<EffectId> = state.outstanding().map(|(id, _)| id).collect();
        same(
            "what waits for approval",
            &state.approval.as_ref().map(|asked| &asked.tree),
            &self.waits.as_ref(),
        )?;
        if self.waits.is_some() && state.paused.is_none() {
            return Err("a landing waits for approval, and the loop is not paused".to_owned());
        }
        let due = match state.lifecycle {
            _ if self.waits.is_some() => 0,
            Lifecycle::Driving | Lifecycle::Interrupted => 1,
            Lifecycle::Idle | Lifecycle::Ended(_) => 0,
        };
        same("outstanding effects", &outstanding, &self.outstanding)?;
        same("effects to do", &outstanding.len(), &due)?;
        same("usage", &state.ledger.total, &self.used)?;
        same("attempts of unknown use", &state.ledger.attempts_unknown, &self.unknown)?;
        same("iterations", &state.iterations, &self.iterations)?;
        same("the open iteration", &state.current.as_ref().map(|c| c.iteration), &self.open_iteration)?;
        same("the head", &state.head.tree, &self.head)?;
        let bugs: BTreeSet<&FindingId> = state.open_bugs().map(|finding| &finding.id).collect();
        same("open bugs", &bugs, &self.bugs.keys().collect())?;
        for task in state.tasks.iter() {
            let booked = self.tasks.get(&task.task.id).copied().unwrap_or(TaskStatus::Pending);
            same("a task's status", &task.status, &booked)?;
        }
        Ok(())
    }

    fn event(&mut self, at: Timestamp, event: &Event) -> Kept {
        if self.ended.is_some() && !may_follow_the_end(event) {
            return Err("it comes after the end of the run".to_owned());
        }
        match event {
            Event::Run(RunEvent::Started { run, asked }) => self.run_started(*run, asked),
            Event::Run(RunEvent::Resumed { asked, .. }) => self.ask(asked),
            Event::Run(RunEvent::Restarted { run }) => self.run_restarted(*run),
            Event::Iteration(IterationEvent::WorkMerged { task, tree, .. }) => self.keep(task, tree),
            Event::Iteration(IterationEvent::WorkNotMerged { task, head, .. }) => self.keep(task, head),
            Event::Iteration(IterationEvent::Opened { iteration, task, tree }) => {
                self.starts_from_its_work(task, tree)?;
                self.iteration_opened(*iteration, task.as_ref())
            }
            Event::Iteration(IterationEvent::Closed { iteration, task, result }) => {
                self.iteration_closed(*iteration, task.as_ref(), *result)
            }
            Event::Iteration(IterationEvent::PhaseEntered { phase }) => self.enter(*phase),
            Event::Attempt(AttemptEvent::Started { attempt, .. }) => self.attempt_started(*attempt),
            Event::Attempt(AttemptEvent::Finished(finished)) => self.attempt_finished(finished),
            Event::Attempt(AttemptEvent::AgentReplaced { role, by, .. }) => self.agent_replaced(*role, by),
            Event::Attempt(AttemptEvent::FailureCounted { limit: Limit::AgentFailures, attempt }) => {
                self.failure_counted(*attempt)
            }
            Event::Attempt(AttemptEvent::TreeRecorded(recorded)) => self.tree_recorded(&recorded.gate_tree),
            Event::Gate(event) => self.gate_event(event),
            Event::Attempt(AttemptEvent::ReviewRecorded(review)) => self.reviewed(review),
            Event::Finding(FindingEvent::Opened(finding)) => self.finding_opened(finding),
            Event::Finding(FindingEvent::Resolved { finding }) => self.settle(finding),
            Event::Finding(FindingEvent::Waived { finding, .. }) => self.waived(finding),
            Event::Landing(LandingEvent::ApprovalAsked { tree, base, .. }) => self.approval_asked(tree, base),
            Event::Landing(LandingEvent::Approved { tree }) => self.approved(tree),
            Event::Landing(LandingEvent::Rejected { tree, .. }) => self.landing_rejected(tree),
            Event::Landing(LandingEvent::Landed { tree, .. }) => self.landed(tree),
            Event::Task(TaskEvent::Done { task, .. }) => self.task_done(task),
            Event::Task(TaskEvent::Blocked { task, reason, .. }) => self.task_blocked(task, *reason),
            Event::Task(TaskEvent::Unblocked { task }) => self.set(task, TaskStatus::Pending),
            Event::Task(TaskEvent::Waived { task, .. }) => self.set(task, TaskStatus::Waived),
            Event::Task(TaskEvent::Reopened { task }) => self.set(task, TaskStatus::Pending),
            Event::Run(RunEvent::Ended { outcome }) => self.run_ended(outcome),
            Event::Pause(PauseEvent::WaitStarted { until, .. }) => later(at, *until),
            Event::Loop(LoopEvent::PlanChanged(revision)) => self.plan_changed(revision),
            Event::Loop(LoopEvent::PolicyChanged(revision)) => self.policy_changed(&revision.policy),
            Event::Loop(LoopEvent::Created(_))
            | Event::Loop(
                LoopEvent::RevisionKept(_)
                | LoopEvent::AmendmentProposed { .. }
                | LoopEvent::AmendmentAnswered { .. },
            )
            | Event::Finding(FindingEvent::Carried { .. })
            | Event::Finding(FindingEvent::Remeasured { .. })
            | Event::Attempt(AttemptEvent::FailureCounted { .. })
            | Event::Attempt(AttemptEvent::BriefShortened)
            | Event::Pause(PauseEvent::WaitEnded)
            | Event::Pause(PauseEvent::Paused { .. })
            | Event::Pause(PauseEvent::Resumed)
            | Event::Operator(OperatorEvent::CancelAsked)
            | Event::Operator(OperatorEvent::Steered { .. })
            | Event::Operator(OperatorEvent::Noted { .. })
            | Event::Operator(OperatorEvent::TermsTrusted { .. })
            | Event::Run(RunEvent::Interrupted { .. })
            | Event::Landing(LandingEvent::TermsAccepted { .. })
            | Event::Landing(LandingEvent::FinishRecorded { .. })
            | Event::Landing(LandingEvent::FinishDropped { .. })
            | Event::Task(TaskEvent::StepLanded { .. })
            | Event::Task(TaskEvent::StopChecked { .. })
            | Event::Operator(OperatorEvent::CommandTaken { .. })
            | Event::Operator(OperatorEvent::InputRefused { .. }) => Ok(()),
        }
    }
}

impl Audit {
    /// Nothing that was done is taken out of the plan.
    fn plan_changed(&mut self, revision: &PlanRevision) -> Kept {
        for id in &revision.removed {
            if self.is_done(id) {
                return Err(format!("{id} is done, and is taken out of the plan"));
            }
            self.tasks.remove(id);
            self.kept.remove(&Some(id.clone()));
        }
        for task in &revision.added {
            self.tasks.insert(task.id.clone(), TaskStatus::Pending);
        }
        for id in &revision.called_done {
            self.tasks.insert(id.clone(), TaskStatus::Done);
        }
        let tasks = &mut self.creation.plan.tasks;
        tasks.retain(|task| !revision.removed.contains(&task.id));
        tasks.extend(revision.added.iter().cloned());
        for changed in &revision.changed {
            if let Some(task) = tasks.iter_mut().find(|task| task.id == changed.after.id) {
                task.clone_from(&changed.after);
            }
        }
        Ok(())
    }

    /// A landing that was decided lands as it was judged.
    fn policy_changed(&mut self, policy: &Policy) -> Kept {
        let landing = self.open_iteration.is_some() && self.phase == Some(Phase::Land);
        if landing && self.landing.is_none() {
            self.landing = Some((self.creation.policy.clone(), self.gates.clone()));
        }
        if !self.creation.policy.has_gate_of(policy) {
            self.gates.clear();
            self.trials.clear();
            self.whole.clear();
        }
        self.must_approve = false;
        self.creation.policy = policy.clone();
        Ok(())
    }

    fn tree_recorded(&mut self, tree: &TreeId) -> Kept {
        match self.open_iteration {
            Some(_) => self.keep(&self.open_task.clone(), tree),
            None => Ok(()),
        }
    }

    fn keep(&mut self, task: &Option<TaskId>, tree: &TreeId) -> Kept {
        let kept = KeptWork { head: self.head.clone(), tree: tree.clone() };
        self.kept.insert(task.clone(), kept);
        Ok(())
    }

    /// No work is dropped in silence: an iteration starts from its task's last tree, or
    /// from what became of that on another head.
    fn starts_from_its_work(&self, task: &Option<TaskId>, start: &TreeId) -> Kept {
        let Some(kept) = self.kept.get(task).filter(|kept| kept.tree != kept.head) else { return Ok(()) };
        let by_reviewer = self.verdicts.get(&kept.tree) == Some(&Verdict::Reject);
        let rejected = by_reviewer || self.not_let_in.contains(&kept.tree);
        let reset = rejected && self.policy().review.rejected == Rejected::Reset;
        if reset && *start == self.head {
            return Ok(());
        }
        same("the tree it starts from", start, &kept.tree)
    }

    fn ask(&mut self, asked: &Asked) -> Kept {
        self.asked = asked.clone();
        self.lenient |= asked.no_review;
        Ok(())
    }

    fn enter(&mut self, phase: Phase) -> Kept {
        self.phase = Some(phase);
        self.must_approve = self.policy().land.approve;
        Ok(())
    }

    fn run_started(&mut self, run: u32, asked: &Asked) -> Kept {
        let goes_on = self.ended.take().is_some() && (self.leaves_others || self.does_without());
        same("the run", &run, &(self.run + u32::from(goes_on)))?;
        self.run = run;
        self.lenient = false;
        self.ask(asked)
    }

    /// What was left is waived, and nothing but the last phases is to be done.
    fn does_without(&self) -> bool {
        self.may_do_without
            && self.tasks.values().all(|status| status.is_over())
            && self.tasks.values().any(|status| *status == TaskStatus::Waived)
    }

    fn run_restarted(&mut self, run: u32) -> Kept {
        if matches!(self.ended.take(), None | Some(OutcomeKind::Completed)) {
            return Err("only a run that ended short of completion is restarted".to_owned());
        }
        same("the run", &run, &(self.run + 1))?;
        self.run = run;
        self.run_iterations = 0;
        for id in std::mem::take(&mut self.by_run) {
            if self.tasks.get(&id) == Some(&TaskStatus::Blocked) {
                self.set(&id, TaskStatus::Pending)?;
            }
        }
        Ok(())
    }

    /// Numbered without a gap, one at a time, within the limit, and only on
    /// dependencies that are done.
    fn iteration_opened(&mut self, iteration: u32, task: Option<&TaskId>) -> Kept {
        if let Some(open) = self.open_iteration {
            return Err(format!("iteration {open} is still open"));
        }
        self.iterations += 1;
        self.run_iterations += 1;
        self.lenient = self.asked.no_review;
        self.open_iteration = Some(iteration);
        self.open_task = task.cloned();
        same("the iteration", &iteration, &self.iterations)?;
        let limit = self.policy().limits.max_iterations;
        if limit != 0 && self.run_iterations > limit {
            return Err(format!("iterations: {} of {limit}", self.run_iterations));
        }
        let Some(id) = task else { return self.all_done() };
        same("the task's status", &self.tasks.get(id), &Some(&TaskStatus::Pending))?;
        let task = self.creation.plan.tasks.iter().find(|task| task.id == *id);
        for needed in task.iter().flat_map(|task| &task.depends_on) {
            if !self.is_done(needed) {
                return Err(format!("it depends on {needed}, which is not done"));
            }
        }
        self.set(id, TaskStatus::Active)
    }

    fn iteration_closed(&mut self, iteration: u32, task: Option<&TaskId>, result: IterationResult) -> Kept {
        same("the open iteration", &self.open_iteration.take(), &Some(iteration))?;
        self.landing = None;
        self.waits = None;
        let judged = match result {
            IterationResult::NoProgress | IterationResult::Failed | IterationResult::Rejected => true,
            IterationResult::Done
            | IterationResult::ReviewFailed
            | IterationResult::AgentFailed
            | IterationResult::AgentBlocked
            | IterationResult::Unproven
            | IterationResult::Waived
            | IterationResult::OperatorRejected
            | IterationResult::Ended
            | IterationResult::Stepped => false,
        };
        let ended_itself = self.last_end.as_ref().is_some_and(|(_, end)| *end == AttemptEnd::Normal);
        if judged && !ended_itself {
            return Err("an attempt that did not end by itself is held against its task".to_owned());
        }
        match task {
            Some(id) if self.tasks.get(id) == Some(&TaskStatus::Active) => self.set(id, TaskStatus::Pending),
            Some(_) | None => Ok(()),
        }
    }

    /// One attempt at a time, numbered without a gap, on a budget not yet spent.
    fn attempt_started(&mut self, attempt: AttemptId) -> Kept {
        if let Some(open) = self.open_attempt {
            return Err(format!("attempt {open} has not ended"));
        }
        self.attempts += 1;
        self.open_attempt = Some(attempt);
        same("the attempt", &attempt.0, &self.attempts)?;
        let budget = &self.policy().budget;
        let tokens = budget.tokens != 0 && self.used.tokens() >= budget.tokens;
        let cost =
            budget.cost_micro_usd != 0 && self.used.cost_micro_usd.unwrap_or(0) >= budget.cost_micro_usd;
        if tokens || cost {
            return Err("the budget is spent".to_owned());
        }
        Ok(())
    }

    fn attempt_finished(&mut self, finished: &AttemptFinished) -> Kept {
        if finished.role == Role::Author {
            self.last_end = Some((finished.attempt, finished.result.end.clone()));
        }
        match &finished.result.usage {
            Some(usage) => self.used.add(usage),
            None => self.unknown += 1,
        }
        same("the open attempt", &self.open_attempt.take(), &Some(finished.attempt))
    }

    fn agent_replaced(&mut self, role: Role, by: &str) -> Kept {
        let fallback = &self.policy().agent_for(role).extra.fallback;
        let known = fallback.iter().any(|name| name == by);
        known.then_some(()).ok_or_else(|| format!("{by} is no fallback of {}", role.name()))
    }

    /// What passes by itself is no failure of the agent.
    fn failure_counted(&mut self, attempt: AttemptId) -> Kept {
        let passing = match &self.last_end {
            Some((last, end)) if *last == attempt => matches!(
                end,
                AttemptEnd::Normal
                    | AttemptEnd::RateLimited { .. }
                    | AttemptEnd::UsageLimit { .. }
                    | AttemptEnd::Overloaded
                    | AttemptEnd::Network
                    | AttemptEnd::Interrupted
                    | AttemptEnd::Lost
                    | AttemptEnd::Faulted(_)
            ),
            Some(_) | None => false,
        };
        if passing { Err("a passing failure is counted as the agent's".to_owned()) } else { Ok(()) }
    }

    fn gate_event(&mut self, event: &GateEvent) -> Kept {
        let (purpose, tree, trusted, checks, said) = match event {
            GateEvent::CheckFinished(_) => return Ok(()),
            GateEvent::Passed { purpose, tree, trusted, checks, .. } => {
                (*purpose, tree, trusted.as_ref(), checks, Judgement::Green)
            }
            GateEvent::Failed { purpose, tree, trusted, checks, .. } => {
                (*purpose, tree, trusted.as_ref(), checks, Judgement::Red)
            }
            GateEvent::NeedsTerms { purpose, tree, trusted, checks, .. } => {
                (*purpose, tree, Some(trusted), checks, Judgement::NeedsTerms)
            }
            GateEvent::Reused { tree, trusted, regression: _, checks, passed } => {
                let trials = Trials { trusted: trusted.clone(), ..Trials::only(tree.clone()) };
                let Some(known) = self.trials.get(&(trials, checks.clone())) else {
                    return Err("a result is used again that nothing gave".to_owned());
                };
                self.gates.insert((tree.clone(), checks.clone()), *known);
                return same("a result used again", passed, &(*known == Judgement::Green));
            }
        };
        match purpose {
            Purpose::Baseline | Purpose::Task => {
                let trials = Trials { trusted: trusted.cloned(), ..Trials::only(tree.clone()) };
                self.trials.insert((trials, checks.clone()), said);
                self.gates.insert((tree.clone(), checks.clone()), said);
            }
            Purpose::Final => {
                self.whole.insert(tree.clone(), said);
            }
        }
        Ok(())
    }

    fn landed(&mut self, tree: &TreeId) -> Kept {
        if self.waits.is_some() {
            return Err("it lands, and waits for approval".to_owned());
        }
        let decides = matches!(self.phase, Some(Phase::Land | Phase::Finish));
        if self.approved.take().as_ref() != Some(tree) && self.must_approve && decides && *tree != self.head {
            return Err("it lands, and nobody approved it".to_owned());
        }
        let before = std::mem::replace(&mut self.head, tree.clone());
        if self.open_iteration.is_some() {
            self.kept.remove(&self.open_task);
        }
        self.before_finish = (self.phase == Some(Phase::Finish)).then_some(before);
        Ok(())
    }

    fn approval_asked(&mut self, tree: &TreeId, base: &TreeId) -> Kept {
        same("the tree it would land on", base, &self.head)?;
        match self.waits.replace(tree.clone()) {
            Some(other) => Err(format!("{other} waits for approval already")),
            None => Ok(()),
        }
    }

    fn approved(&mut self, tree: &TreeId) -> Kept {
        self.approved = Some(tree.clone());
        self.decided(tree)
    }

    fn landing_rejected(&mut self, tree: &TreeId) -> Kept {
        self.not_let_in.insert(tree.clone());
        self.decided(tree)
    }

    fn decided(&mut self, tree: &TreeId) -> Kept {
        same("the tree that is decided on", &self.waits.take().as_ref(), &Some(tree))
    }

    fn settle(&mut self, finding: &FindingId) -> Kept {
        self.bugs.remove(finding);
        Ok(())
    }

    fn waived(&mut self, finding: &FindingId) -> Kept {
        self.terms_waived |= self.about_terms.contains(finding);
        self.settle(finding)
    }

    fn reviewed(&mut self, review: &ReviewRecorded) -> Kept {
        self.verdicts.insert(review.tree.clone(), review.verdict);
        if review.accepts_terms && review.verdict == Verdict::Accept {
            self.terms_accepted.insert(review.tree.clone());
        }
        if review.failure.is_some() && review.verdict == Verdict::Accept {
            return Err("a review without a verdict accepts".to_owned());
        }
        Ok(())
    }

    fn finding_opened(&mut self, finding: &Finding) -> Kept {
        if finding.severity == Severity::Bug {
            self.bugs.insert(finding.id.clone(), finding.task.clone());
        }
        if finding.origin == Origin::Evidence(Rule::TermsChanged) {
            self.about_terms.insert(finding.id.clone());
        }
        Ok(())
    }

    /// Green on exactly the tree that landed, accepted if reviews are on, and
    /// no bug of it open. Without checks the reviewer must have accepted.
    fn task_done(&mut self, id: &TaskId) -> Kept {
        let (policy, gates) = match &self.landing {
            Some((policy, gates)) => (policy, gates),
            None => (self.policy(), &self.gates),
        };
        let checks = self.checks_of(policy, id);
        let green = self.holds(gates.get(&(self.head.clone(), checks.clone())));
        let accepted = self.verdicts.get(&self.head) == Some(&Verdict::Accept);
        if !checks.is_empty() && !green {
            return Err("the gate was not green on what landed".to_owned());
        }
        let review = policy.review.tasks && !self.lenient;
        if (review || checks.is_empty()) && !accepted {
            return Err("no review accepted what landed".to_owned());
        }
        if self.bugs.values().any(|task| task.as_ref() == Some(id)) {
            return Err("a bug of it is open".to_owned());
        }
        self.set(id, TaskStatus::Done)
    }

    fn task_blocked(&mut self, id: &TaskId, reason: Reason) -> Kept {
        if matches!(reason, Reason::Stalled | Reason::AgentFailed) {
            self.by_run.insert(id.clone());
        }
        if self.is_done(id) {
            return Err("what is done or waived is blocked".to_owned());
        }
        self.set(id, TaskStatus::Blocked)
    }

    fn run_ended(&mut self, outcome: &Outcome) -> Kept {
        self.ended = Some(outcome.kind);
        let of_a_task = matches!(outcome.reason, Reason::AgentFailed | Reason::Stalled)
            && self.tasks.values().any(|status| *status == TaskStatus::Blocked);
        self.leaves_others =
            outcome.kind == OutcomeKind::Stopped || (outcome.kind == OutcomeKind::Blocked && of_a_task);
        let of_the_whole =
            matches!(outcome.reason, Reason::FinalFixes | Reason::GateFailed | Reason::ReviewFailed);
        self.may_do_without =
            matches!(outcome.kind, OutcomeKind::Limit | OutcomeKind::Blocked) && !of_the_whole;
        self.waits = None;
        if let Some(open) = self.open_iteration {
            return Err(format!("iteration {open} is still open"));
        }
        if let Some(open) = self.open_attempt {
            return Err(format!("attempt {open} has not ended"));
        }
        if outcome.kind == OutcomeKind::Completed { self.completed() } else { Ok(()) }
    }

    fn completed(&self) -> Kept {
        self.all_done()?;
        if let Some(bug) = self.bugs.keys().next() {
            return Err(format!("finding {bug} is open"));
        }
        let checks = &self.policy().gate.checks;
        let checked = checks.iter().any(|check| check.when != CheckWhen::Task);
        if checked && !self.holds(self.whole.get(&self.head)) {
            return Err("the final gate is not green on the head".to_owned());
        }
        let mut reviewed = self.before_finish.iter().chain([&self.head]);
        let accepted = reviewed.any(|tree| self.verdicts.get(tree) == Some(&Verdict::Accept));
        if self.policy().review.whole && !self.asked.no_review && !self.lenient && !accepted {
            return Err("no review accepted the head".to_owned());
        }
        Ok(())
    }

    /// Green, or green with terms that somebody accepted.
    fn holds(&self, said: Option<&Judgement>) -> bool {
        match said {
            Some(Judgement::Green) => true,
            Some(Judgement::NeedsTerms) => self.terms_waived || self.terms_accepted.contains(&self.head),
            Some(Judgement::Red) | None => false,
        }
    }

    fn all_done(&self) -> Kept {
        match self.tasks.keys().find(|id| !self.is_done(id)) {
            Some(id) => Err(format!("task {id} is not done")),
            None => Ok(()),
        }
    }

    fn is_done(&self, id: &TaskId) -> bool {
        matches!(self.tasks.get(id), Some(TaskStatus::Done | TaskStatus::Waived))
    }

    fn set(&mut self, id: &TaskId, status: TaskStatus) -> Kept {
        match self.tasks.get_mut(id) {
            Some(booked) => *booked = status,
            None => return Err(format!("there is no task {id}")),
        }
        Ok(())
    }

    fn checks_of(&self, policy: &Policy, id: &TaskId) -> Vec<String> {
        let task = self.creation.plan.tasks.iter().find(|task| task.id == *id);
        let named = |name: &String| task.is_none_or(|t| t.checks.is_empty() || t.checks.contains(name));
        let checks = policy.gate.every_check().filter(|check| check.when != CheckWhen::Final);
        let of_step = |name: &String| policy.gate.is_step_check(name) || named(name);
        checks.map(|check| check.name.clone()).filter(of_step).collect()
    }
}

/// Terminal states are final: annotations, and what opens another run.
fn may_follow_the_end(event: &Event) -> bool {
    matches!(
        event,
        Event::Operator(OperatorEvent::CommandTaken { .. })
            | Event::Operator(OperatorEvent::InputRefused { .. })
            | Event::Operator(OperatorEvent::Noted { .. })
            | Event::Operator(OperatorEvent::TermsTrusted { .. })
            | Event::Operator(OperatorEvent::Steered { .. })
            | Event::Task(TaskEvent::Unblocked { .. })
            | Event::Task(TaskEvent::Waived { .. })
            | Event::Finding(FindingEvent::Waived { .. })
            | Event::Run(RunEvent::Restarted { .. })
            | Event::Run(RunEvent::Started { .. })
            | Event::Loop(LoopEvent::PlanChanged(_))
            | Event::Loop(LoopEvent::PolicyChanged(_))
    )
}

/// A wait that is over when it begins is a launch without delay.
fn later(at: Timestamp, until: Timestamp) -> Kept {
    if until > at { Ok(()) } else { Err("it waits for what is past".to_owned()) }
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, found: &T, due: &T) -> Kept {
    if found == due { Ok(()) } else { Err(format!("{what}: {found:?}, and not {due:?}")) }
}
