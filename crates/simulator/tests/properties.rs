//! Properties of the core over random inputs, legal and illegal mixed: it never
//! panics, refuses what cannot be, keeps the invariants of its log, and what it
//! stored folds to what it knew.

use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, Strategy, any, prop_assert_eq, proptest};
use proptest::test_runner::TestCaseError;

use windlass_core::brief::BriefSpec;
use windlass_core::broken_tests::BrokenTests;
use windlass_core::command::Command;
use windlass_core::effect::Effect;
use windlass_core::event::{Decision, Event, OperatorEvent};
use windlass_core::finding::{Evidence, Rule, Severity};
use windlass_core::gate::{CheckResult, GateReport, TellNumbers};
use windlass_core::id::{
    BlobId, CommandId, CommitId, EffectId, FindingId, LoopName, Nonce, Seq, TaskId, TreeId,
};
use windlass_core::input::{
    AgentFinished, Asked, AttemptEnd, AttemptResult, Change, Creation, Input, PathList, Report, Snapshotted,
    Stamped, UnmergedWork, WorkMerge,
};
use windlass_core::outcome::{Fault, Reason};
use windlass_core::policy::{CheckPolicy, CheckWhen, Policy, Rejected, Role};
use windlass_core::state::State;
use windlass_core::step::{create, step};
use windlass_core::task::{Plan, Task};
use windlass_core::time::{Millis, Timestamp};
use windlass_core::usage::Usage;
use windlass_core::verdict::{Claim, ClaimStatus, Met, NoVerdict, ReportedFinding, Review, Verdict};
use windlass_core::view::View;
use windlass_simulator::Audit;

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_inputs_keep_the_invariants(setup in setups(), moves in vec(any::<Move>(), 1..250)) {
        played(&setup, &moves)?;
    }
}

/// Numbers from which an input is made, given what the loop waits for.
type Move = (u8, u8, u8, u8);

/// Numbers from which a loop is made.
type Setup = (u8, u8, [u8; 10], u8);

fn setups() -> impl Strategy<Value = Setup> {
    any::<Setup>()
}

fn played(setup: &Setup, moves: &[Move]) -> Result<(), TestCaseError> {
    let creation = creation(setup);
    let created = create(Timestamp(0), creation.clone());
    let mut audit = Audit::of(&creation);
    let mut state = State::created_by(&created).expect("the first decision creates the loop");
    let mut log = vec![created];
    for (at, made) in (1i64..).zip(moves) {
        let (what, closes) = input(&state, made);
        let fresh = Nonce::new(format!("n{at}"));
        let now = Timestamp(at * 60_000);
        let stamped = Stamped { at: now, elapsed: Millis(u64::from(made.3) * 500), fresh, closes, what };
        let decision = step(&state, &stamped);
        state.apply(Seq(log.len() as u64 + 1), &decision);
        let kept = audit.check(&decision, &state);
        kept.map_err(|why| TestCaseError::fail(format!("{why}\n{}", told(&log, &decision))))?;
        shown(&state);
        log.push(stored(&decision)?);
    }
    prop_assert_eq!(&folded(&log), &state, "the state is the fold of the log");
    Ok(())
}

fn refuses_a_drive(state: &State) -> bool {
    let what = Input::RunAsked(Asked::default());
    let (at, fresh) = (state.updated_at, Nonce::new("n"));
    let decision = step(state, &Stamped { at, elapsed: Millis(0), fresh, closes: None, what });
    decision.events.iter().any(|event| matches!(event, Event::Operator(OperatorEvent::InputRefused { .. })))
}

/// Whatever the state, it can be drawn, and a brief can be made from it.
fn shown(state: &State) {
    assert_eq!(View::of(state).rests(), refuses_a_drive(state), "a View says what the core decides");
    let view = serde_json::to_string(&View::of(state)).expect("a view is JSON");
    assert!(view.contains("windlass.view"));
    for role in Role::IN_LOOPS {
        let brief = BriefSpec::of(state, role);
        assert_eq!(brief.role, role);
    }
}

fn stored(decision: &Decision) -> Result<Decision, TestCaseError> {
    let text = serde_json::to_string(decision).expect("a decision is JSON");
    let read: Decision =
        serde_json::from_str(&text).map_err(|e| TestCaseError::fail(format!("{e}: {text}")))?;
    prop_assert_eq!(&read, decision, "a decision reads back as it was");
    Ok(read)
}

fn folded(log: &[Decision]) -> State {
    let mut state = State::created_by(&log[0]).expect("the first decision creates the loop");
    for (seq, decision) in (2..).zip(&log[1..]) {
        state.apply(Seq(seq), decision);
    }
    state
}

fn told(log: &[Decision], last: &Decision) -> String {
    let decisions = log.iter().skip(log.len().saturating_sub(20)).chain([last]);
    let lines = decisions.flat_map(|decision| decision.events.iter().map(|event| format!("  {event}\n")));
    lines.collect()
}

/// Three in four answer what is outstanding; the others are anything at all.
fn input(state: &State, &(kind, a, b, c): &Move) -> (Input, Option<EffectId>) {
    let next = state.outstanding().next().map(|(id, effect)| (id, effect.clone()));
    if let Some((id, effect)) = next.filter(|_| !kind.is_multiple_of(4)) {
        return (answer(&effect, state, (a, b, c)), Some(id));
    }
    if state.outstanding().next().is_none() && kind % 4 == 1 {
        return (Input::RunAsked(Asked::default()), None);
    }
    let closes = match b % 4 {
        0 => None,
        1 => Some(EffectId(999_999)),
        _ => state.outstanding().next().map(|(id, _)| id),
    };
    let what = match a % 12 {
        0 => Input::WorkspaceReady,
        1 => Input::AgentFinished(Box::new(finished(state, Role::Author, (b, c)))),
        2 => Input::AgentFinished(Box::new(finished(state, Role::Reviewer, (b, c)))),
        3 => snapshotted(b, c),
        4 => Input::GateReported(results(&["test".to_owned()], b).into()),
        5 => Input::Landed,
        6 => Input::EffectDropped,
        7 => Input::DeadlinePassed,
        8 if b.is_multiple_of(4) => Input::Interrupted { signal: "SIGTERM".to_owned() },
        8 if b % 4 == 1 => Input::StoreFull { detail: "no room".to_owned() },
        8 | 9 => Input::RunAsked(asked(b, c)),
        _ => return (Input::Commanded { id: CommandId(u64::from(c)), command: command(b, c) }, None),
    };
    (what, closes)
}

fn answer(effect: &Effect, state: &State, (a, b, c): (u8, u8, u8)) -> Input {
    if a == 0 {
        let reason = [Reason::DiskFull, Reason::BranchMoved, Reason::EffectFailed][usize::from(b % 3)];
        return Input::EffectFailed(Fault { reason, detail: "why".to_owned() });
    }
    match effect {
        Effect::MergeWork { base, work, .. } => merged(base, work, b),
        Effect::PrepareWorkspace { .. } => Input::WorkspaceReady,
        Effect::CallAgent { role, .. } => Input::AgentFinished(Box::new(finished(state, *role, (b, c)))),
        Effect::Snapshot(_) => snapshotted(b, c),
        Effect::RunGate { checks, trusted, .. } => {
            let trusted = trusted.as_ref().map_or_else(Vec::new, |_| results(checks, c));
            Input::GateReported(GateReport { trusted, ..GateReport::from(results(checks, b)) })
        }
        Effect::Land { .. } => Input::Landed,
        Effect::CheckStop { .. } => Input::StopChecked(Vec::new()),
    }
}

fn merged(base: &TreeId, work: &TreeId, b: u8) -> Input {
    let merge = match b.is_multiple_of(2) {
        true => WorkMerge::Clean { tree: TreeId::new(format!("M{}", b % 8)), change: Change::default() },
        false => WorkMerge::NotMerged(UnmergedWork {
            base: base.clone(),
            work: work.clone(),
            conflicts: PathList { count: 1, paths: vec!["p".to_owned()] },
            failure: String::new(),
            files: 1,
        }),
    };
    Input::WorkMerged(Box::new(merge))
}

fn finished(state: &State, role: Role, (b, c): (u8, u8)) -> AgentFinished {
    let end = if b.is_multiple_of(2) { AttemptEnd::Normal } else { end(state, b / 2) };
    let status = [ClaimStatus::Complete, ClaimStatus::Continue, ClaimStatus::Blocked][usize::from(c % 7 / 3)];
    let report = match role {
        Role::Reviewer => Report::Review(review(state, c)),
        Role::Author | Role::Finisher | Role::Planner => {
            Report::Author(Claim { status, summary: "said".to_owned(), ..Claim::default() })
        }
    };
    let usage = Usage { input_tokens: u64::from(c), cost_micro_usd: Some(u64::from(b)), ..Usage::default() };
    AgentFinished {
        result: AttemptResult {
            usage: (!c.is_multiple_of(3)).then_some(usage),
            message: "words".to_owned(),
            brief: Some(BlobId::new("brief")),
            duration_ms: Millis(1),
            strays: u32::from(c % 2),
            ..AttemptResult::ended(end)
        },
        report: if c.is_multiple_of(11) { Report::None } else { report },
        tree_changed: c.is_multiple_of(13),
        left: Vec::new(),
    }
}

fn end(state: &State, b: u8) -> AttemptEnd {
    let what = "what".to_owned();
    let later = Timestamp(state.updated_at.0.saturating_add(i64::from(b) * 30_000 - 1_000_000));
    match b % 17 {
        0 => AttemptEnd::RateLimited { retry_at: None },
        1 => AttemptEnd::RateLimited { retry_at: Some(later) },
        2 => AttemptEnd::UsageLimit { reset_at: later },
        3 => AttemptEnd::UsageLimit { reset_at: Timestamp(i64::MAX) },
        4 => AttemptEnd::Overloaded,
        5 => AttemptEnd::Network,
        6 => AttemptEnd::Killed,
        7 => AttemptEnd::Auth { what },
        8 => AttemptEnd::ModelNotFound { what },
        9 => AttemptEnd::ContextOverflow,
        10 => AttemptEnd::Refused { what },
        11 => AttemptEnd::Crashed { what },
        12 => AttemptEnd::TimedOut,
        13 => AttemptEnd::Stalled,
        14 => AttemptEnd::Protocol { what },
        15 => AttemptEnd::Budget,
        _ => {
            if b.is_multiple_of(2) {
                AttemptEnd::Interrupted
            } else {
                AttemptEnd::Lost
            }
        }
    }
}

fn review(state: &State, c: u8) -> Result<Review, NoVerdict> {
    let finding = |severity| ReportedFinding {
        file: "a.rs".to_owned(),
        line: 1,
        severity,
        description: format!("d{}", c % 3),
        scenario: String::new(),
    };
    let verdict = if c.is_multiple_of(3) { Verdict::Reject } else { Verdict::Accept };
    let unmet = windlass_core::verdict::Criterion {
        text: "fast".to_owned(),
        met: Met::Unknown,
        place: String::new(),
    };
    let some =
        |every: u8, text: &str| if c.is_multiple_of(every) { vec![text.to_owned()] } else { Vec::new() };
    match c % 10 {
        0 => Err(NoVerdict::NoReport),
        1 => Err(NoVerdict::TwoVerdicts),
        _ => Ok(Review {
            verdict,
            summary: "seen".to_owned(),
            criteria: if c.is_multiple_of(23) { vec![unmet] } else { Vec::new() },
            findings: match c % 5 {
                0 => vec![finding(Severity::Bug)],
                1 => vec![finding(Severity::Warning)],
                _ => Vec::new(),
            },
            resolved: state.findings.keys().filter(|_| c.is_multiple_of(4)).cloned().collect(),
            pending: some(19, "next"),
            blocker: some(29, "but").concat(),
        }),
    }
}

/// A few trees, so that some are seen again.
fn snapshotted(b: u8, c: u8) -> Input {
    let tree = if b % 8 == 7 { "base".to_owned() } else { format!("T{}", b % 8) };
    let tampered = c.is_multiple_of(6);
    let gate_tree = if tampered { format!("{tree}-restored") } else { tree.clone() };
    let evidence = |rule| Evidence::new(rule, "p");
    let rules = [(tampered, Rule::ProtectedChanged), (c.is_multiple_of(9), Rule::EscapingSymlink)];
    let own_terms = c % 7 < 3;
    let changed = if c % 7 < 2 { vec!["Makefile".to_owned()] } else { Vec::new() };
    Input::Snapshotted(Box::new(Snapshotted {
        gate_tree: TreeId::new(gate_tree),
        trusted_tree: own_terms.then(|| TreeId::new(format!("{tree}-trusted"))),
        changed_terms: PathList { count: changed.len() as u64, paths: changed },
        has_tests: !c.is_multiple_of(4),
        whitespace_only: c.is_multiple_of(5),
        evidence: rules.into_iter().filter(|(shown, _)| *shown).map(|(_, rule)| evidence(rule)).collect(),
        ..Snapshotted::of(CommitId::new(format!("c-{tree}")), TreeId::new(tree.clone()))
    }))
}

fn results(checks: &[String], b: u8) -> Vec<CheckResult> {
    let result = |check: &String| CheckResult {
        check: check.clone(),
        exit_code: (b % 16 != 15).then_some(i32::from(b.is_multiple_of(3))),
        signal: None,
        timed_out: b % 16 == 15,
        duration_ms: Millis(1),
        output: BlobId::new("output"),
        excerpt: String::new(),
        without_hidden: None,
        tell_numbers: TellNumbers::All,
        strays: 0,
        again: false,
        tally: None,
        writes: None,
        control: None,
        broken_tests: Some(BrokenTests::default()),
        caught: None,
    };
    checks.iter().skip(usize::from(b.is_multiple_of(31))).map(result).collect()
}

fn asked(b: u8, c: u8) -> Asked {
    let task = Some(TaskId::new(format!("t{}", c % 5)));
    match b % 8 {
        0 => Asked { task, ..Asked::default() },
        1 => Asked { until: task, ..Asked::default() },
        2 => Asked { max: u32::from(c % 3), ..Asked::default() },
        3 => Asked { no_review: true, ..Asked::default() },
        _ => Asked::default(),
    }
}

fn command(b: u8, c: u8) -> Command {
    let task = TaskId::new(format!("t{}", c % 5));
    let finding = FindingId::new(format!("F{}", c % 4));
    let why = if c.is_multiple_of(2) { String::new() } else { "why".to_owned() };
    match b % 14 {
        12 => Command::Approve { tree: TreeId::new(format!("T{}", c % 8)) },
        13 => Command::Reject { why },
        0 => Command::Pause,
        1 | 2 => Command::Resume,
        3 if c.is_multiple_of(3) => Command::Cancel,
        3..=5 => Command::Restart,
        6 | 7 => Command::Unblock { task },
        8 => Command::WaiveTask { task, why },
        9 => Command::WaiveFinding { finding, why },
        10 => Command::Steer { text: why },
        _ => Command::Note { text: why },
    }
}

fn creation((tasks, checks, limits, more): &Setup) -> Creation {
    let mut policy = Policy::default();
    let named = |name: &str, when| CheckPolicy {
        name: name.to_owned(),
        run: name.to_owned(),
        when,
        timeout: Millis(0),
        ..CheckPolicy::default()
    };
    if !checks.is_multiple_of(4) {
        policy.gate.checks.push(named("test", CheckWhen::Both));
    }
    if checks.is_multiple_of(3) {
        policy.gate.checks.push(named("whole", CheckWhen::Final));
    }
    if checks.is_multiple_of(5) {
        policy.gate.checks.push(named("fast", CheckWhen::Task));
    }
    policy.land.approve = more % 9 == 4;
    policy.review.tasks = more.is_multiple_of(2);
    policy.review.whole = more % 4 < 2;
    policy.review.rejected = if more.is_multiple_of(3) { Rejected::Reset } else { Rejected::Continue };
    policy.finish.skill = if more % 5 < 2 { "notes".to_owned() } else { String::new() };
    policy.budget.tokens = if more.is_multiple_of(7) { u64::from(*more) * 20 } else { 0 };
    policy.budget.wall = Millis(if more.is_multiple_of(6) { u64::from(*more) * 20_000 } else { 0 });
    let limit = |at: usize| u32::from(limits[at] % 6);
    let to = &mut policy.limits;
    to.max_iterations = limit(0) * 5;
    to.max_task_failures = limit(1);
    to.max_gate_failures = limit(2);
    to.max_no_progress = limit(3);
    to.max_rejections = limit(4);
    to.max_review_failures = limit(5);
    to.max_agent_failures = limit(6);
    to.max_stalls = limit(7);
    to.max_transient = limit(8);
    to.max_final_fixes = limit(9);
    let (base, base_tree) = (CommitId::new("c-base"), TreeId::new("base"));
    let plan = Plan { tasks: (0..1 + tasks % 4).map(|at| task(at, *tasks)).collect(), tools: Vec::new() };
    let name = LoopName::new("p").expect("a legal name");
    let (goal, branch, workspace) = (String::new(), "windlass/p".to_owned(), "space".to_owned());
    Creation { name, goal, plan, policy, base, base_tree, trusted: None, branch, workspace }
}

fn task(at: u8, drawn: u8) -> Task {
    let before = at.checked_sub(1).filter(|_| drawn & (8 << at) != 0);
    Task {
        depends_on: before.map(|at| TaskId::new(format!("t{at}"))).into_iter().collect(),
        priority: i64::from(drawn % 3),
        checks: if drawn % 5 == at { vec!["test".to_owned()] } else { Vec::new() },
        ..Task::plain(TaskId::new(format!("t{at}")), format!("Do t{at}"), BlobId::new("text"))
    }
}
