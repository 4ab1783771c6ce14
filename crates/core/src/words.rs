//! Every text that an input brings from outside: what agents said, what checks
//! printed, what files are called, what an error told. Whoever adds a field to
//! an input decides here whether it is such a text.

use crate::broken_tests::{Breakings, BrokenTests};
use crate::finding::Evidence;
use crate::gate::{CheckResult, Control};
use crate::input::{
    AgentFinished, AttemptEnd, AttemptResult, Change, Input, PathList, Report, Snapshotted, UnmergedWork,
    WorkMerge,
};
use crate::outcome::Fault;
use crate::proposal::{ProposedAmendment, ProposedPart};
use crate::stop::StopResult;
use crate::summary::{Ran, Summary};
use crate::tally::{Comparison, Counts, Tally};
use crate::verdict::{Claim, ClaimedCheck, Criterion, NoVerdict, ReportedFinding, Review};
use crate::writes::ObservedWrites;

impl Input {
    /// Calls `visit` with each of them. What an operator typed is not among them.
    pub fn each_foreign_text(&mut self, visit: &mut dyn FnMut(&mut String)) {
        match self {
            Self::AgentFinished(finished) => finished.visit(visit),
            Self::Snapshotted(taken) => taken.visit(visit),
            Self::WorkMerged(merge) => visit_merge(merge, visit),
            Self::GateReported(report) => report.each_result_mut(|result| check(result, visit)),
            Self::StopChecked(results) => {
                results.iter_mut().for_each(|StopResult { check: _, holds: _, why, output: _ }| visit(why));
            }
            Self::EffectFailed(Fault { reason: _, detail }) | Self::StoreFull { detail } => visit(detail),
            Self::RunAsked(_)
            | Self::WorkspaceReady
            | Self::Landed
            | Self::EffectDropped
            | Self::Commanded { .. }
            | Self::UnreadableCommand { .. }
            | Self::DeadlinePassed
            | Self::Interrupted { signal: _ } => {}
        }
    }
}

impl AgentFinished {
    fn visit(&mut self, visit: &mut dyn FnMut(&mut String)) {
        let Self { result, report, tree_changed: _, left } = self;
        left.iter_mut().for_each(|seen| visit_evidence(seen, visit));
        result.visit(visit);
        match report {
            Report::None => {}
            Report::Author(claim) => visit_claim(claim, visit),
            Report::Review(Ok(review)) => visit_review(review, visit),
            Report::Review(Err(none)) => visit_none(none, visit),
        }
    }
}

impl AttemptResult {
    fn visit(&mut self, visit: &mut dyn FnMut(&mut String)) {
        let Self {
            end,
            agent: _,
            usage: _,
            models,
            session: _,
            summary,
            message,
            transcript: _,
            brief: _,
            report: _,
            duration_ms: _,
            files_read: _,
            strays: _,
            notes,
        } = self;
        visit_end(end, visit);
        visit(message);
        models.iter_mut().for_each(|part| visit(&mut part.model));
        visit_summary(summary, visit);
        notes.iter_mut().for_each(visit);
    }
}

fn visit_summary(summary: &mut Summary, visit: &mut dyn FnMut(&mut String)) {
    let Summary { commands, created, edited, read, errors, refused } = summary;
    commands.iter_mut().for_each(|Ran { what, exit: _, ok: _ }| visit(what));
    let files = created.iter_mut().chain(edited).chain(read);
    files.chain(errors).chain(refused).for_each(visit);
}

impl Snapshotted {
    fn visit(&mut self, visit: &mut dyn FnMut(&mut String)) {
        let Self {
            commit: _,
            tree: _,
            gate_tree: _,
            trusted_tree: _,
            with_tests: _,
            changed_terms,
            added_tests,
            has_tests: _,
            change,
            whitespace_only: _,
            evidence,
        } = self;
        for PathList { count: _, paths } in [changed_terms, added_tests] {
            paths.iter_mut().for_each(&mut *visit);
        }
        visit_change(change, visit);
        evidence.iter_mut().for_each(|seen| visit_evidence(seen, visit));
    }
}

fn visit_merge(merge: &mut WorkMerge, visit: &mut dyn FnMut(&mut String)) {
    match merge {
        WorkMerge::Clean { tree: _, change } => visit_change(change, visit),
        WorkMerge::NotMerged(UnmergedWork { base: _, work: _, conflicts, failure, files: _ }) => {
            conflicts.paths.iter_mut().for_each(&mut *visit);
            visit(failure);
        }
    }
}

fn visit_change(change: &mut Change, visit: &mut dyn FnMut(&mut String)) {
    let Change { files: _, created, edited, deleted } = change;
    created.iter_mut().chain(edited).chain(deleted).for_each(visit);
}

fn check(result: &mut CheckResult, visit: &mut dyn FnMut(&mut String)) {
    let CheckResult {
        check: _,
        exit_code: _,
        signal: _,
        timed_out: _,
        duration_ms: _,
        output: _,
        excerpt,
        without_hidden: _,
        tell_numbers: _,
        strays: _,
        again: _,
        tally,
        writes,
        control,
        broken_tests,
        caught,
    } = result;
    visit(excerpt);
    caught.iter_mut().flat_map(|names| &mut names.first).for_each(&mut *visit);
    if let Some(ObservedWrites { all: _, terms: _, judging, missed }) = writes {
        judging.first.iter_mut().for_each(&mut *visit);
        visit(missed);
    }
    if let Some(Control { exit_code: _, signal: _, timed_out: _, duration_ms: _, output: _, excerpt }) =
        control
    {
        visit(excerpt);
    }
    if let Some(broken) = broken_tests {
        visit_broken(broken, visit);
    }
    match tally {
        Some(Tally::Unreadable { why }) => visit(why),
        Some(Tally::Counted(counts)) => visit_counts(counts, visit),
        None => {}
    }
}

fn visit_broken(broken: &mut BrokenTests, visit: &mut dyn FnMut(&mut String)) {
    let BrokenTests {
        statement,
        literal,
        unbroken,
        runs: _,
        duration_ms: _,
        list: _,
        outputs: _,
        excerpt,
        unsteady,
        failing_on_base,
    } = broken;
    visit(excerpt);
    let failing = failing_on_base.iter_mut().flat_map(|names| &mut names.first);
    unbroken.first.iter_mut().chain(&mut unsteady.first).chain(failing).for_each(&mut *visit);
    for Breakings { broken: _, red: _, red_by_exit: _, green, set_aside, added, untold, silenced } in
        [statement, literal]
    {
        let names = [green, set_aside, added, untold, silenced];
        names.into_iter().flat_map(|names| &mut names.first).for_each(&mut *visit);
    }
}

fn visit_counts(counts: &mut Counts, visit: &mut dyn FnMut(&mut String)) {
    let Counts { tests: _, failures: _, errors: _, skipped: _, failed, names: _, compared } = counts;
    failed.first.iter_mut().for_each(&mut *visit);
    if let Some(Comparison { with: _, tests: _, vanished, newly_skipped }) = compared {
        vanished.first.iter_mut().chain(&mut newly_skipped.first).for_each(visit);
    }
}

fn visit_evidence(seen: &mut Evidence, visit: &mut dyn FnMut(&mut String)) {
    let Evidence { rule: _, path, touch: _, detail, diff } = seen;
    visit(path);
    visit(detail);
    visit(diff);
}

fn visit_end(end: &mut AttemptEnd, visit: &mut dyn FnMut(&mut String)) {
    match end {
        AttemptEnd::Auth { what }
        | AttemptEnd::ModelNotFound { what }
        | AttemptEnd::Refused { what }
        | AttemptEnd::Crashed { what }
        | AttemptEnd::Protocol { what } => visit(what),
        AttemptEnd::Normal
        | AttemptEnd::RateLimited { .. }
        | AttemptEnd::UsageLimit { .. }
        | AttemptEnd::Overloaded
        | AttemptEnd::Network
        | AttemptEnd::Killed
        | AttemptEnd::ContextOverflow
        | AttemptEnd::TimedOut
        | AttemptEnd::Stalled
        | AttemptEnd::Budget
        | AttemptEnd::Interrupted
        | AttemptEnd::Lost => {}
        AttemptEnd::Faulted(Fault { reason: _, detail }) => visit(detail),
    }
}

fn visit_claim(claim: &mut Claim, visit: &mut dyn FnMut(&mut String)) {
    let Claim { status: _, summary, blockers, next, plan, checks, amendments } = claim;
    visit(summary);
    blockers.iter_mut().chain(next).chain(plan).for_each(&mut *visit);
    for ClaimedCheck { command, exit: _, output } in checks {
        visit(command);
        visit(output);
    }
    amendments.iter_mut().for_each(|amendment| visit_amendment(amendment, visit));
}

fn visit_amendment(amendment: &mut ProposedAmendment, visit: &mut dyn FnMut(&mut String)) {
    let ProposedAmendment { action: _, task, title, text, depends_on, parts, why, stored: _ } = amendment;
    [task, title, text, why].into_iter().for_each(&mut *visit);
    depends_on.iter_mut().for_each(&mut *visit);
    for ProposedPart { title, text } in parts {
        visit(title);
        visit(text);
    }
}

fn visit_review(review: &mut Review, visit: &mut dyn FnMut(&mut String)) {
    let Review { verdict: _, summary, criteria, findings, resolved: _, pending, blocker } = review;
    visit(summary);
    visit(blocker);
    for Criterion { text, met: _, place } in criteria {
        visit(text);
        visit(place);
    }
    for ReportedFinding { file, line: _, severity: _, description, scenario } in findings {
        visit(file);
        visit(description);
        visit(scenario);
    }
    pending.iter_mut().for_each(visit);
}

fn visit_none(none: &mut NoVerdict, visit: &mut dyn FnMut(&mut String)) {
    match none {
        NoVerdict::Unreadable { what } | NoVerdict::Contradiction { what } => visit(what),
        NoVerdict::NoReport
        | NoVerdict::WrongNonce
        | NoVerdict::PartOfNonce { given: _, wanted: _ }
        | NoVerdict::TwoVerdicts
        | NoVerdict::TreeChanged
        | NoVerdict::TermsNotJudged => {}
    }
}
