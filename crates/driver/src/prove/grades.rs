//! What stands behind a completion, in grades that a person understands.

use schemars::JsonSchema;
use serde::Serialize;
use windlass_core::broken_tests::{Breakings, BrokenTests};
use windlass_core::gate::Control;
use windlass_core::policy::SandboxLevel;
use windlass_core::state::{State, TaskStatus};

use super::history::RecordedLoop;
use super::steps::counted;
use super::{Check, CompletionRecord, scope};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Grade {
    pub of: GradeOf,
    pub strength: Strength,
    pub words: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GradeOf {
    /// On which terms the checks were green.
    Trial,
    /// Whether the checks were seen to fail on broken tests.
    Control,
    /// Whether anything that judges could be written while a check ran.
    Watch,
    /// Whether tests that no agent sees were among those that judged it.
    Hidden,
    Review,
    Sandbox,
    /// Whether tasks were limited in how much they change, and where. Only where one was.
    Scope,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Strength {
    Full,
    Weaker,
    Nothing,
}

impl GradeOf {
    pub fn name(self) -> &'static str {
        match self {
            Self::Trial => "trial",
            Self::Control => "control",
            Self::Watch => "watch",
            Self::Hidden => "hidden",
            Self::Review => "review",
            Self::Sandbox => "sandbox",
            Self::Scope => "scope",
        }
    }
}

impl Strength {
    pub fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Weaker => "weaker",
            Self::Nothing => "nothing",
        }
    }
}

pub(super) fn grades(history: &RecordedLoop, record: &CompletionRecord) -> Vec<Grade> {
    let state = &history.state;
    let graded = [
        (GradeOf::Trial, trial(state, record)),
        (GradeOf::Control, with_uncontrolled(state, control(&record.checks))),
        (GradeOf::Watch, watch(record)),
        (GradeOf::Hidden, hidden(state, record)),
        (GradeOf::Review, review(history, record)),
        (GradeOf::Sandbox, sandbox(record)),
    ];
    let scope = scope(history).map(|graded| (GradeOf::Scope, graded));
    graded.into_iter().chain(scope).map(|(of, (strength, words))| Grade { of, strength, words }).collect()
}

type Graded = (Strength, String);

fn trial(state: &State, record: &CompletionRecord) -> Graded {
    let graded = |strength, words: &str| (strength, words.to_owned());
    let trusted = || record.checks.iter().filter_map(|check| check.on_trusted_terms.as_ref());
    if record.checks.is_empty() && state.stop.as_ref().is_some_and(|stop| stop.holds) {
        return graded(Strength::Weaker, "its stop checks hold; no final check judged it");
    }
    if record.checks.is_empty() {
        return graded(Strength::Nothing, "no check judged it");
    }
    if state.creation.trusted.is_none() {
        return graded(Strength::Weaker, "green on its own terms, as an older windlass judged");
    }
    if trusted().any(|run| run.exit_code != Some(0)) {
        return graded(Strength::Weaker, "green only with terms it changed, which were accepted");
    }
    if !state.changed_terms.is_empty() {
        let count = counted(usize::try_from(state.changed_terms.count).unwrap_or(usize::MAX), "changed term");
        return (Strength::Weaker, format!("green with and without {count} that nobody accepted"));
    }
    if state.policy().gate.product.is_empty() {
        return graded(Strength::Weaker, "green; gate.product is not set");
    }
    match trusted().next() {
        Some(_) => graded(Strength::Full, "green with what it changed of its terms, and without"),
        None => graded(Strength::Full, "green on terms that are trusted"),
    }
}

/// Neither a check of a criterion nor a stop check has a control: what it shows is as good as the command.
fn with_uncontrolled(state: &State, graded: Graded) -> Graded {
    let (strength, words) = graded;
    let by_criterion = state.tasks.iter().any(|of| !of.task.criterion_checks.is_empty());
    let by_stop = state.policy().stop.commands().next().is_some();
    let what = match (by_criterion, by_stop) {
        (false, false) => return (strength, words),
        (true, _) => "the check of a criterion",
        (false, true) => "a stop check",
    };
    let strength = if strength == Strength::Full { Strength::Weaker } else { strength };
    (strength, format!("{words}; {what} was not shown to be able to fail"))
}

fn control(checks: &[Check]) -> Graded {
    let landed: Vec<&BrokenTests> = checks.iter().filter_map(|check| check.broken_tests.as_ref()).collect();
    let trusted = checks.iter().filter_map(|check| check.broken_on_trusted_terms.as_ref());
    let all: Vec<&BrokenTests> = landed.iter().copied().chain(trusted).collect();
    let ways = || all.iter().flat_map(|tests| [&tests.statement, &tests.literal]);
    let sum = |count: fn(&Breakings) -> u32| ways().map(count).sum::<u32>();
    let commanded = checks.iter().any(|check| check.control.as_ref().is_some_and(Control::is_sensitive));
    match (sum(|way| way.broken), sum(|way| way.red)) {
        (_, 0) if commanded => return (Strength::Weaker, "a command that must fail did".to_owned()),
        (0, _) => return (Strength::Nothing, "no test was broken to see it fail".to_owned()),
        (_, 0) => return (Strength::Nothing, "no broken test was seen to fail".to_owned()),
        (_, _) => {}
    }
    // Of what landed only: on trusted terms the same tests are broken again.
    let shown = if landed.is_empty() { &all } else { &landed };
    let count = |of: fn(&BrokenTests) -> u32| shown.iter().map(|tests| of(tests)).sum::<u32>();
    let tests = count(|tests| tests.statement.broken);
    let not_red = count(|tests| tests.statement.broken - tests.statement.red.min(tests.statement.broken));
    let by_statement_only = tests.saturating_sub(count(|tests| tests.literal.broken));
    let mut words = match (tests, not_red) {
        (1, 0) => "1 test broken, it turned red".to_owned(),
        (tests, 0) => format!("{tests} tests broken, each turned red"),
        (tests, not_red) => {
            format!("{} broken, {} turned red", counted(tests as usize, "test"), tests - not_red)
        }
    };
    let each_turned_red = ways().all(|way| way.broken == way.red && way.red_by_exit == 0);
    let misses_failing = all.iter().any(|tests| tests.misses_failing_on_base());
    if by_statement_only > 0 {
        words.push_str(&format!(", {by_statement_only} by a failing statement only"));
    }
    let literals = count(|tests| tests.literal.broken);
    let literals_not_red = count(|tests| tests.literal.broken.saturating_sub(tests.literal.red));
    if literals_not_red > 0 {
        words.push_str(&format!(", {literals_not_red} of {literals} expected values not seen red"));
    }
    let by_exit = count(|tests| tests.statement.red_by_exit.max(tests.literal.red_by_exit));
    if by_exit > 0 {
        words.push_str(&format!(", {by_exit} told by the exit code only"));
    }
    if misses_failing {
        words.push_str("; none of them had failed on the base");
    }
    let is_full = each_turned_red && by_statement_only == 0 && !misses_failing;
    (if is_full { Strength::Full } else { Strength::Weaker }, words)
}

fn watch(record: &CompletionRecord) -> Graded {
    let graded = |strength, words: &str| (strength, words.to_owned());
    let watched = record.checks.iter().filter(|check| check.watched).count();
    match record.sandbox.level {
        _ if watched == 0 => graded(Strength::Nothing, "no check was watched while it ran"),
        _ if watched < record.checks.len() => graded(Strength::Weaker, "not every check was watched"),
        SandboxLevel::Namespaces => graded(Strength::Full, "nothing that judges was written"),
        SandboxLevel::Landlock | SandboxLevel::Container | SandboxLevel::None => {
            graded(Strength::Weaker, "nothing that judges was seen to be written; nothing was closed")
        }
    }
}

fn hidden(state: &State, record: &CompletionRecord) -> Graded {
    if state.policy().gate.hidden.is_off() || record.checks.is_empty() {
        return (Strength::Nothing, "no hidden tests".to_owned());
    }
    let level = record.sandbox.level;
    match level {
        SandboxLevel::None => {
            (Strength::Weaker, "green with hidden tests, which agents could read at this level".to_owned())
        }
        SandboxLevel::Landlock | SandboxLevel::Namespaces | SandboxLevel::Container => {
            (Strength::Full, "green with hidden tests that no agent saw".to_owned())
        }
    }
}

fn review(history: &RecordedLoop, record: &CompletionRecord) -> Graded {
    let whole = record.landed.as_ref().is_some_and(|landed| history.accepted_as_whole(&landed.tree));
    let done = || record.tasks.iter().filter(|task| task.status == TaskStatus::Done);
    let reviewed = done().filter(|task| task.reviewed).count();
    match (whole, reviewed) {
        (true, _) => (Strength::Full, "accepted as a whole".to_owned()),
        (false, 0) => (Strength::Nothing, "no reviewer looked at it".to_owned()),
        (false, count) => (
            Strength::Weaker,
            format!("{} of {} accepted, not the whole", count, counted(done().count(), "task")),
        ),
    }
}

/// None where nothing was limited: no task is the worse for it.
fn scope(history: &RecordedLoop) -> Option<Graded> {
    match scope::limited(history) {
        (_, 0) => None,
        (all, limited) if limited == all => {
            Some((Strength::Full, "every task that landed had limits to its change".to_owned()))
        }
        (all, limited) => {
            Some((Strength::Weaker, format!("{limited} of {} had limits", counted(all, "landing"))))
        }
    }
}

fn sandbox(record: &CompletionRecord) -> Graded {
    let level = record.sandbox.level;
    let strength = match level {
        SandboxLevel::Namespaces | SandboxLevel::Container => Strength::Full,
        SandboxLevel::Landlock => Strength::Weaker,
        SandboxLevel::None => Strength::Nothing,
    };
    (strength, level.name().to_owned())
}
