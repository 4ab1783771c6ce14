//! What a scenario's loop is made of.

use windlass_core::acceptance::CriterionCheck;
use windlass_core::amendment::{Amendment, TaskPart, TaskPlace};
use windlass_core::command::Command;
use windlass_core::id::{AmendmentId, BlobId, CommitId, LoopName, TaskId, TreeId};
use windlass_core::input::Creation;
use windlass_core::policy::{CheckPolicy, CheckWhen, LoopLimits, Policy, Rejected, TermsRule};
use windlass_core::proposal::AmendmentRule;
use windlass_core::revision::{KeyChange, PolicyRevision, Revision};
use windlass_core::state::State;
use windlass_core::stop::{StopCheck, StopCondition};
use windlass_core::task::{Plan, Task, TaskMode};
use windlass_core::time::Millis;

use crate::script::span;

/// Reviews are off and there is no check unless the scenario says otherwise.
pub fn creation(setup: &[Vec<String>]) -> Creation {
    let mut policy = Policy::default();
    policy.review.tasks = false;
    policy.review.whole = false;
    let mut plan = Plan::default();
    for line in setup {
        let words: Vec<&str> = line.iter().map(String::as_str).collect();
        match words.as_slice() {
            ["task", id, rest @ ..] => plan.tasks.push(task(id, rest)),
            ["check", name] => policy.gate.checks.push(check(name, CheckWhen::Both)),
            ["check", name, "task"] => policy.gate.checks.push(check(name, CheckWhen::Task)),
            ["check", name, "final"] => policy.gate.checks.push(check(name, CheckWhen::Final)),
            ["check", name, more @ ..] => policy.gate.checks.push(hardened(name, more)),
            ["reviews", which] => {
                policy.review.tasks = matches!(*which, "on" | "tasks");
                policy.review.whole = matches!(*which, "on" | "final");
            }
            ["amendments", "apply"] => policy.plan.amendments = AmendmentRule::Apply,
            ["amendments", "ignore"] => policy.plan.amendments = AmendmentRule::Ignore,
            ["terms", "forbid"] => policy.gate.terms = TermsRule::Forbid,
            ["rejected", "reset"] => policy.review.rejected = Rejected::Reset,
            ["limit", name, value] => *limit(&mut policy.limits, name) = number(value),
            ["budget", "wall", value] => policy.budget.wall = Millis(span(value)),
            ["budget", "tokens", value] => policy.budget.tokens = number(value).into(),
            ["budget", "usd", value] => policy.budget.cost_micro_usd = u64::from(number(value)) * 1_000_000,
            ["fallback", agents @ ..] => {
                policy.agent.extra.fallback = agents.iter().map(|name| (*name).to_owned()).collect();
            }
            ["step-check"] => {
                policy.gate.step = Some(Box::new(CheckPolicy::of_step("sh ./step.sh", Millis::minutes(5))));
            }
            ["stop", name] => policy.stop.checks.push(stop_check(name)),
            ["approve"] => policy.land.approve = true,
            ["finish", prompt] => policy.finish.prompt = (*prompt).to_owned(),
            other => panic!("a setup line is not understood: {other:?}"),
        }
    }
    Creation {
        name: LoopName::new("demo").expect("a legal name"),
        goal: String::new(),
        plan,
        policy,
        base: CommitId::new("c-base"),
        base_tree: TreeId::new("base"),
        trusted: None,
        branch: "windlass/demo".to_owned(),
        workspace: "/space".to_owned(),
    }
}

/// `revise limit max_iterations 3`, `revise task c`, `revise remove b`; `revise
/// old limit …` is made of the policy before the one in force.
pub fn revision(state: &State, words: &[&str]) -> Command {
    let mut policy = state.policy().clone();
    let now = || Plan {
        tasks: state.tasks.iter().map(|task| (*task.task).clone()).collect(),
        tools: state.tools.to_vec(),
    };
    let mut plan = state.revision.plan.clone().unwrap_or_else(now);
    match words {
        ["task", id, rest @ ..] => {
            let new = task(id, rest);
            match plan.tasks.iter_mut().find(|task| task.id == new.id) {
                Some(old) => *old = new,
                None => plan.tasks.push(new),
            }
        }
        ["remove", id] => plan.tasks.retain(|task| task.id.as_str() != *id),
        ["limit", name, value] => {
            let at = limit(&mut policy.limits, name);
            let before = std::mem::replace(at, number(value)).to_string();
            let key = KeyChange { key: format!("loop.{name}"), before, after: (*value).to_owned() };
            return other_policy(state.policy_changes + 1, key, policy);
        }
        ["old", "limit", name, value] => {
            *limit(&mut policy.limits, name) = number(value);
            return other_policy(state.policy_changes, KeyChange::default(), policy);
        }
        ["check", name] => {
            policy.gate.checks = vec![check(name, CheckWhen::Both)];
            let (key, after) = ("gate.check".to_owned(), (*name).to_owned());
            let key = KeyChange { key, before: "test".to_owned(), after };
            return other_policy(state.policy_changes + 1, key, policy);
        }
        ["stop", name] => {
            policy.stop.checks = vec![stop_check(name)];
            let (key, after) = ("stop.check".to_owned(), (*name).to_owned());
            let key = KeyChange { key, before: "end".to_owned(), after };
            return other_policy(state.policy_changes + 1, key, policy);
        }
        ["nothing"] => return Command::Revise(Box::default()),
        other => panic!("a revision is not understood: {other:?}"),
    }
    Command::Revise(Box::new(Revision { plan: Some(plan), policy: None }))
}

/// `amend add d depends a`, `amend drop b`, `amend drop b force`, `amend split b x y`, `amend first b`.
pub fn amendment(words: &[&str]) -> Command {
    let part =
        |id: &&str| TaskPart { id: TaskId::new(*id), title: format!("Do {id}"), text: BlobId::new(*id) };
    let amendment = match words {
        ["accept", id] => return Command::AcceptAmendment { amendment: AmendmentId::new(*id) },
        ["reject", id, why] => {
            return Command::RejectAmendment { amendment: AmendmentId::new(*id), why: (*why).to_owned() };
        }
        ["add", id, rest @ ..] => Amendment::Add { task: Box::new(task(id, rest)), place: None },
        ["drop", id, rest @ ..] => Amendment::Drop { task: TaskId::new(*id), force: rest == ["force"] },
        ["split", id, parts @ ..] => {
            Amendment::Split { task: TaskId::new(*id), parts: parts.iter().map(part).collect() }
        }
        ["first", id] => Amendment::Move { task: TaskId::new(*id), place: TaskPlace::First },
        other => panic!("an amendment is not understood: {other:?}"),
    };
    Command::Amend(Box::new(amendment))
}

fn other_policy(number: u32, key: KeyChange, policy: Policy) -> Command {
    let policy = Some(PolicyRevision { number, keys: vec![key], policy });
    Command::Revise(Box::new(Revision { plan: None, policy }))
}

fn task(id: &str, mut rest: &[&str]) -> Task {
    let mut task = Task::plain(TaskId::new(id), format!("Do {id}"), BlobId::new(format!("text-{id}")));
    while let [key, value, after @ ..] = rest {
        let list = || value.split(',');
        match *key {
            "depends" => task.depends_on = list().map(TaskId::new).collect(),
            "priority" => task.priority = number(value).into(),
            "done" => task.done_before = *value == "before",
            "blocked" => task.blocked_before = *value == "before",
            "rejected" => task.rejected_before = value.parse().expect("a count"),
            "says" => task.text = BlobId::new(format!("text-{id}-{value}")),
            // Of the whole plan, below what the task says.
            "shared" => {
                let own = std::mem::replace(&mut task.text, BlobId::new(format!("text-{id}-{value}")));
                task.own_text = Some(own);
            }
            "mode" => task.mode = TaskMode::from((*value).to_owned()),
            "accept" => task.acceptance.push((*value).to_owned()),
            // Of the criterion before it.
            "shown-by" => {
                let criterion = u32::try_from(task.acceptance.len()).expect("few criteria");
                task.criterion_checks.push(CriterionCheck { criterion, run: (*value).to_owned() });
            }
            "checks" => task.checks = list().map(str::to_owned).collect(),
            key => panic!("a task has no {key}"),
        }
        rest = after;
    }
    task
}

fn stop_check(name: &str) -> StopCheck {
    StopCheck { name: name.to_owned(), condition: StopCondition::Run { run: format!("sh ./{name}.sh") } }
}

fn check(name: &str, when: CheckWhen) -> CheckPolicy {
    CheckPolicy {
        name: name.to_owned(),
        run: format!("sh ./{name}.sh"),
        when,
        timeout: Millis::minutes(5),
        ..CheckPolicy::default()
    }
}

/// `check test junit control retry repeat`.
fn hardened(name: &str, more: &[&str]) -> CheckPolicy {
    let mut check = check(name, CheckWhen::Both);
    for word in more {
        match *word {
            "junit" => check.junit = "out.xml".to_owned(),
            "control" => check.control = "sh ./control.sh".to_owned(),
            "retry" => check.retry = 1,
            "repeat" => check.repeat = 3,
            word => panic!("a check has no {word}"),
        }
    }
    check
}

fn limit<'a>(limits: &'a mut LoopLimits, name: &str) -> &'a mut u32 {
    match name {
        "max_iterations" => &mut limits.max_iterations,
        "max_task_failures" => &mut limits.max_task_failures,
        "max_gate_failures" => &mut limits.max_gate_failures,
        "max_no_progress" => &mut limits.max_no_progress,
        "max_rejections" => &mut limits.max_rejections,
        "max_review_failures" => &mut limits.max_review_failures,
        "max_agent_failures" => &mut limits.max_agent_failures,
        "max_stalls" => &mut limits.max_stalls,
        "max_transient" => &mut limits.max_transient,
        "max_final_fixes" => &mut limits.max_final_fixes,
        name => panic!("there is no limit {name}"),
    }
}

fn number(word: &str) -> u32 {
    word.parse().unwrap_or_else(|_| panic!("{word} is not a number"))
}
