//! The steps of a proof, each one question: what was found, or what does not
//! hold. None of them depends on another, so that a broken proof names all that
//! is broken.

use std::collections::BTreeSet;

use windlass_core::finding::Severity;
use windlass_core::history::CheckRecord;
use windlass_core::id::{CommitId, TreeId};
use windlass_core::outcome::OutcomeKind;
use windlass_core::state::{TaskState, TaskStatus};
use windlass_core::tally::Tally;
use windlass_workspace::DiscoverError;

use super::history::RecordedLoop;
use super::judged::{Judged, Wanted, judge};
use super::{
    Point, ProofSources, Protected, Step, StepName, protection, regression, rules, scope, stop, terms,
};

/// No output is larger: a check's two streams are capped far below.
const OUTPUT_LIMIT: u64 = 64 << 20;

pub(super) type StepResult = Result<String, String>;

pub(super) fn check_all(sources: &ProofSources<'_>, protected: Result<&Protected, &str>) -> Vec<Step> {
    let landed = sources.history.landed_point();
    let on_landed = |step: fn(&ProofSources<'_>, &Point) -> StepResult| match &landed {
        Some(landed) => step(sources, landed),
        None => Err("nothing has landed".to_owned()),
    };
    let open_ended = sources.history.final_policy().is_open_ended();
    let has_scope = scope::limited(sources.history).1 > 0;
    let scope = has_scope.then(|| (StepName::Scope, scope::kept(sources)));
    let stop = open_ended.then(|| (StepName::Stop, on_landed(stop::held)));
    let all = [
        (StepName::Log, log(sources)),
        (StepName::Outcome, outcome(sources)),
        (StepName::Policy, Ok(rules::words(&sources.history.past))),
        (StepName::Base, base(sources)),
        (StepName::Commits, on_landed(commits)),
        (StepName::Branch, on_landed(branch)),
        (StepName::Gate, on_landed(gate)),
        (StepName::Outputs, outputs(sources)),
        (StepName::Tasks, tasks(sources)),
        (StepName::Terms, terms::judged_on_trusted(sources)),
        (
            StepName::Protected,
            protected.map_err(str::to_owned).and_then(|files| protection::unchanged(sources, files)),
        ),
        (StepName::Findings, findings(sources)),
        (StepName::Reviews, on_landed(reviews)),
    ];
    all.into_iter()
        .chain(scope)
        .chain(stop)
        .map(|(step, looked)| {
            let holds = looked.is_ok();
            Step { step, holds, detail: looked.unwrap_or_else(|why| why) }
        })
        .collect()
}

fn log(sources: &ProofSources<'_>) -> StepResult {
    let history = sources.history;
    let (records, events) = (counted(history.records, "record"), counted(history.state.events, "event"));
    Ok(format!("{records}, {events}, one chain"))
}

fn outcome(sources: &ProofSources<'_>) -> StepResult {
    match sources.history.state.outcome() {
        Some(outcome) if outcome.kind == OutcomeKind::Completed => {
            Ok(format!("completed ({})", outcome.reason.name()))
        }
        Some(outcome) => {
            Err(format!("the loop is not completed: {} ({})", outcome.kind.name(), outcome.reason.name()))
        }
        None => Err("the loop is not completed: its run has not ended".to_owned()),
    }
}

fn base(sources: &ProofSources<'_>) -> StepResult {
    let creation = &sources.history.state.creation;
    let found =
        sources.vault.tree_of(&creation.base).map_err(|error| format!("the base in the vault: {error}"))?;
    same_tree("the base in the vault", &found, &creation.base_tree)?;
    let found = sources
        .repository
        .tree_of(&creation.base)
        .map_err(|error| format!("the base in the repository: {error}"))?;
    same_tree("the base in the repository", &found, &creation.base_tree)?;
    Ok("in the vault and in the repository, with the recorded tree".to_owned())
}

fn commits(sources: &ProofSources<'_>, landed: &Point) -> StepResult {
    let in_vault = |error: windlass_workspace::VaultError| format!("the landed commit in the vault: {error}");
    let tree = sources.vault.tree_of(&landed.commit).map_err(in_vault)?;
    same_tree("the landed commit in the vault", &tree, &landed.tree)?;
    let base = &sources.history.state.creation.base;
    let way = sources.vault.lineage(base, &landed.commit).map_err(in_vault)?;
    let way = way.ok_or_else(|| format!("commit {} does not lead back to the base {base}", landed.commit))?;
    let on_the_way: BTreeSet<&CommitId> = way.iter().collect();
    for task in done_by_windlass(sources) {
        match &task.commit {
            Some(commit) if on_the_way.contains(commit) => {}
            Some(commit) => {
                return Err(format!(
                    "commit {commit} of task {} is not in the branch's history",
                    task.task.id
                ));
            }
            None => return Err(format!("task {} is done without a commit", task.task.id)),
        }
    }
    let objects = sources.vault.rehash(&landed.commit).map_err(in_vault)?;
    let (commits, objects) = (counted(way.len() - 1, "commit"), counted(objects, "object"));
    Ok(format!("{commits} after the base; {objects} hashed anew"))
}

fn branch(sources: &ProofSources<'_>, landed: &Point) -> StepResult {
    let name = &sources.history.state.creation.branch;
    let head = match sources.repository.resolve(&format!("refs/heads/{name}")) {
        Ok(head) => head,
        Err(DiscoverError::UnknownRevision { .. }) => {
            return Err(format!("the branch {name} is not in the repository"));
        }
        Err(error) => return Err(format!("the branch {name}: {error}")),
    };
    if head != landed.commit {
        return Err(format!("the branch {name} is at {head}, not at the landed {}", landed.commit));
    }
    let in_repository = |error: DiscoverError| format!("the landed commit in the repository: {error}");
    let tree = sources.repository.tree_of(&head).map_err(in_repository)?;
    same_tree("the landed commit in the repository", &tree, &landed.tree)?;
    match sources.repository.missing_objects(&head).map_err(in_repository)? {
        0 => Ok(format!("{name} is the landed commit, whole")),
        missing => Err(format!("{missing} objects of {name} are missing in the repository")),
    }
}

fn gate(sources: &ProofSources<'_>, landed: &Point) -> StepResult {
    let policy = sources.history.final_policy();
    if policy.gate.checks_for(None).is_empty() {
        let words = match policy.is_open_ended() {
            true => "no final check exists: the stop checks speak for the end",
            false => "unchecked: no final check exists",
        };
        return Ok(words.to_owned());
    }
    let judged = judge(sources.history, Wanted::whole(sources.history, &landed.tree))?;
    let green = format!("{} green on exactly the landed tree", counted(judged.green(), "check"));
    Ok([vec![green], judged.words()].concat().join(", "))
}

/// What the checks and their controls printed, and the tests they were counted by.
fn outputs(sources: &ProofSources<'_>) -> StepResult {
    let mut hashed = 0;
    for CheckRecord { event, result, .. } in sources.history.past.checks() {
        let control = result.control.as_ref().map(|control| ("the output of the control", &control.output));
        let names = match &result.tally {
            Some(Tally::Counted(counts)) => Some(("the tests", &counts.names)),
            Some(Tally::Unreadable { .. }) | None => None,
        };
        let broken = result.broken_tests.iter().flat_map(|tests| tests.outputs.iter().chain(&tests.list));
        let broken = broken.map(|blob| ("what windlass's own breaking of tests showed", blob));
        let own = [Some(("the output", &result.output)), control, names];
        for (what, blob) in own.into_iter().flatten().chain(broken) {
            sources
                .reader
                .blob(blob, OUTPUT_LIMIT)
                .map_err(|error| format!("{what} of check {} (event {event}): {error}", result.check))?;
            hashed += 1;
        }
    }
    Ok(format!("{} hashed anew", counted(hashed, "output")))
}

fn tasks(sources: &ProofSources<'_>) -> StepResult {
    let state = &sources.history.state;
    let (mut checked, mut unchecked) = (0, 0);
    let (mut excused, mut waived, mut before) = (Vec::new(), Vec::new(), Vec::new());
    for task in state.tasks.iter() {
        match task.status {
            TaskStatus::Done if task.was_done_before() => before.push(task.task.id.to_string()),
            TaskStatus::Done if !task.checked => unchecked += 1,
            TaskStatus::Done => match proven(sources, task)?.waived.as_slice() {
                [] => checked += 1,
                [(_, finding), ..] => excused.push(format!("{} by {}", task.task.id, finding.id)),
            },
            TaskStatus::Waived => waived.push(task.task.id.to_string()),
            TaskStatus::Pending | TaskStatus::Active | TaskStatus::Blocked => {
                return Err(format!("task {} is not done", task.task.id));
            }
        }
    }
    let mut words = format!("{} green on the tree that landed", counted(checked, "task"));
    match regression::seen(sources)? {
        0 => {}
        1 => words.push_str(", 1 with a regression test that was red without it"),
        count => words.push_str(&format!(", {count} with regression tests that were red without them")),
    }
    if unchecked > 0 {
        words.push_str(&format!(", {unchecked} done without a check"));
    }
    let before_windlass = "not proven, done before windlass came";
    for (names, what) in [(excused, "red and waived"), (waived, "waived"), (before, before_windlass)] {
        if !names.is_empty() {
            words.push_str(&format!(", {} {what} ({})", names.len(), names.join(", ")));
        }
    }
    Ok(words)
}

fn done_by_windlass<'s>(sources: &ProofSources<'s>) -> impl Iterator<Item = &'s TaskState> {
    let tasks = sources.history.state.tasks.iter();
    tasks.filter(|task| task.status == TaskStatus::Done && !task.was_done_before())
}

fn proven<'s>(sources: &ProofSources<'s>, task: &TaskState) -> Result<Judged<'s>, String> {
    let id = &task.task.id;
    let tree = RecordedLoop::task_tree(sources.vault, task);
    let tree = tree.ok_or_else(|| format!("task {id}: its commit cannot be read in the vault"))?;
    let landing = sources.history.landing(task);
    let landing = landing.ok_or_else(|| format!("task {id}: its landing is not on record"))?;
    judge(sources.history, Wanted::landed(landing, &tree)).map_err(|why| format!("task {id}: {why}"))
}

fn findings(sources: &ProofSources<'_>) -> StepResult {
    let open = sources.history.state.findings.values().filter(|finding| finding.is_open());
    let (bugs, warnings): (Vec<_>, Vec<_>) = open.partition(|finding| finding.severity == Severity::Bug);
    match bugs.first() {
        Some(bug) => Err(format!("finding {} is an open bug: {}", bug.id, bug.description)),
        None => {
            let waived: Vec<&str> = sources.history.waived().map(|finding| finding.id.as_str()).collect();
            let open = format!("no open bugs, {}", counted(warnings.len(), "open warning"));
            Ok(match waived.as_slice() {
                [] => open,
                waived => format!("{open}, {} waived ({})", waived.len(), waived.join(", ")),
            })
        }
    }
}

fn reviews(sources: &ProofSources<'_>, landed: &Point) -> StepResult {
    let state = &sources.history.state;
    for task in done_by_windlass(sources).filter(|task| task.reviewed) {
        let tree = RecordedLoop::task_tree(sources.vault, task);
        if !tree.as_ref().is_some_and(|tree| accepted(sources, tree)) {
            return Err(format!(
                "task {} is called reviewed, but no accept of its tree is on record",
                task.task.id
            ));
        }
    }
    let reviewed = done_by_windlass(sources).filter(|task| task.reviewed).count();
    let unreviewed = done_by_windlass(sources).count() - reviewed;
    let at_end = sources.history.policy_at(sources.history.end());
    let whole = at_end.review.whole && !state.run.asked.no_review;
    let landings = || sources.history.past.landings.iter().rev();
    let before_finish = landings().nth(1).filter(|_| landings().next().is_some_and(|last| last.by_finisher));
    let words = match (whole, unreviewed) {
        (true, _) if sources.history.accepted_as_whole(&landed.tree) => {
            "the landed tree was accepted as a whole".to_owned()
        }
        (true, _)
            if before_finish.is_some_and(|landing| sources.history.accepted_as_whole(&landing.tree)) =>
        {
            "the whole was accepted before the finisher's last commit, which only checks judged".to_owned()
        }
        (true, _) => return Err(format!("no accept of the landed tree {} is on record", landed.tree)),
        (false, 0) if reviewed > 0 => "every task that landed was accepted on its tree".to_owned(),
        (false, _) => "no final review was asked for".to_owned(),
    };
    Ok(if unreviewed == 0 { words } else { format!("{words}; {} not reviewed", counted(unreviewed, "task")) })
}

fn accepted(sources: &ProofSources<'_>, tree: &TreeId) -> bool {
    sources.history.accepts_of(tree).next().is_some()
}

fn same_tree(whose: &str, found: &TreeId, recorded: &TreeId) -> Result<(), String> {
    if found == recorded {
        Ok(())
    } else {
        Err(format!("{whose} has the tree {found}, recorded is {recorded}"))
    }
}

pub(super) fn counted(count: impl TryInto<u64>, what: &str) -> String {
    let count = count.try_into().unwrap_or(u64::MAX);
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
