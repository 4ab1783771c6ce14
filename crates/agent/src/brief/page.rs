//! What the templates see of a brief: every part cut to its own size.

use serde::Serialize;
use windlass_core::acceptance::CriterionAnswer;
use windlass_core::brief::{BriefSpec, Mode, TaskBrief};
use windlass_core::finding::Finding;
use windlass_core::gate::FailingCheck;
use windlass_core::input::{Change, UnmergedWork};
use windlass_core::plain::{plain, visible};
use windlass_core::policy::Role;
use windlass_core::scope::ScopeLimits;
use windlass_core::summary::Ran;
use windlass_core::task::TaskMode;
use windlass_core::verdict::{AuthorSaid, ClaimedCheck, Met};

use super::BriefTexts;
use super::text::{code, fenced, indented};
use crate::bound;
use crate::report::reject_nonce;

/// What the templates see.
#[derive(Serialize)]
pub(super) struct Page {
    nonce: String,
    reject_nonce: String,
    heading: String,
    name: String,
    iteration: String,
    role: &'static str,
    reviewer: bool,
    one_step: bool,
    /// Whether the conversation has the task and the rules in it.
    resumed: bool,
    fixes: bool,
    explores: bool,
    may_amend: bool,
    /// Whether the workspace has what earlier attempts left.
    carries_on: bool,
    unmerged: Option<Unmerged>,
    goal: String,
    pub mode: String,
    pub rules: String,
    task: String,
    acceptance: Vec<String>,
    allow: Vec<String>,
    scope: Vec<String>,
    plan: Vec<String>,
    steering: Vec<String>,
    files_total: u64,
    files: Vec<Files>,
    commands: Vec<String>,
    errors: Vec<String>,
    refused: Vec<String>,
    author_says: String,
    next_steps: Vec<String>,
    last_end: String,
    failing: Vec<Failing>,
    last_review: String,
    findings: Vec<String>,
    pending: Vec<String>,
    base_tree: String,
    tree: String,
    diff: String,
    checks: Vec<String>,
    protected: Vec<String>,
    product: Vec<String>,
    changed_terms: Vec<String>,
    needs_terms: bool,
    finish_prompt: String,
    finish_skill: String,
    answers: bool,
    #[serde(flatten)]
    names: TemplateNames,
}

/// The names that templates of agent-loop use, for those who bring theirs along.
#[derive(Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
struct TemplateNames {
    max_files_to_read: String,
    max_lines_to_write: String,
    max_files_to_modify: String,
    mode: String,
    iteration: String,
    max_iterations: String,
    loop_dir: &'static str,
    project_root: &'static str,
    current_story_id: String,
    pre_generator_sha: String,
}

impl TemplateNames {
    fn of(spec: &BriefSpec) -> Self {
        let limit = |max: u64| if max == 0 { "any number of".to_owned() } else { max.to_string() };
        let task = spec.task.as_ref();
        let scope = task.map(|task| task.scope).unwrap_or_default();
        Self {
            max_files_to_read: limit(scope.files_read),
            max_lines_to_write: limit(scope.lines_written),
            max_files_to_modify: limit(scope.files_changed),
            mode: task.map_or_else(|| "fix".to_owned(), |task| task.mode.name().to_owned()),
            iteration: spec.iteration.to_string(),
            max_iterations: limit(spec.max_iterations.into()),
            // Every attempt has it in its environment, and begins in its workspace.
            loop_dir: "$WINDLASS_TRAIL",
            project_root: ".",
            current_story_id: task.map_or_else(String::new, |task| task.id.to_string()),
            pre_generator_sha: spec.base_tree.to_string(),
        }
    }
}

#[derive(Serialize)]
struct Files {
    what: &'static str,
    paths: Vec<String>,
}

#[derive(Serialize)]
struct Unmerged {
    why: String,
    files: u64,
    diff: String,
    file: String,
}

#[derive(Serialize)]
struct Failing {
    name: String,
    ending: String,
    excerpt: String,
}

impl Page {
    pub fn of(spec: &BriefSpec, texts: &BriefTexts<'_>) -> Self {
        let size = Size { short: spec.short };
        let (reviewer, finishes) = (spec.role == Role::Reviewer, spec.mode == Mode::Finish);
        let item = |text: &String| indented(&plain(text));
        let (acceptance, allow) =
            spec.task.as_ref().map_or((&[][..], &[][..]), |task| (&task.acceptance[..], &task.allow[..]));
        Self {
            nonce: texts.nonce.to_string(),
            reject_nonce: reject_nonce(texts.nonce).to_owned(),
            heading: size.line(&heading(spec), 1),
            name: spec.name.to_string(),
            iteration: iteration(spec),
            role: spec.role.name(),
            reviewer,
            one_step: spec.one_step,
            resumed: spec.resumed,
            fixes: spec.task.as_ref().is_some_and(|task| task.mode == TaskMode::Fix),
            explores: spec.mode == Mode::Explore,
            may_amend: spec.may_amend,
            carries_on: carries_on(spec),
            unmerged: spec.unmerged.as_ref().map(|work| unmerged(work, texts, size)),
            goal: if spec.resumed { String::new() } else { size.line(&indented(&plain(&spec.goal)), 2) },
            mode: String::new(),
            rules: String::new(),
            task: if spec.resumed { String::new() } else { size.block(texts.task.trim(), 64) },
            acceptance: size.list(acceptance.iter().map(|of| criterion(of, spec.role)), 2, 16),
            allow: size.list(allow.iter().map(|glob| code(glob)), 1, 2),
            scope: spec.task.as_ref().map_or_else(Vec::new, |task| size.list(scope(task), 1, 4)),
            plan: match spec.mode {
                Mode::Implement | Mode::Explore | Mode::FixTask | Mode::ReviewTask | Mode::ReviewReport => {
                    Vec::new()
                }
                Mode::Fix | Mode::ReviewWhole | Mode::Finish => size.list(spec.plan.iter().map(item), 1, 8),
            },
            steering: size.list(spec.steering.iter().map(item), 4, 12),
            files_total: spec.change.files,
            files: files(&spec.change, size),
            commands: size.list(spec.summary.commands.iter().map(command), 1, 8),
            errors: size.list(spec.summary.errors.iter().map(item), 1, 4),
            refused: size.list(spec.summary.refused.iter().map(item), 1, 4),
            author_says: match spec.role {
                Role::Reviewer => author_says(&spec.author, size),
                Role::Author | Role::Finisher | Role::Planner => String::new(),
            },
            next_steps: match spec.role {
                Role::Author => size.list(next_steps(&spec.author).iter().map(item), 1, 8),
                Role::Reviewer | Role::Finisher | Role::Planner => Vec::new(),
            },
            last_end: size.line(&indented(&plain(&spec.last_end)), 1),
            failing: failing(&spec.failing, size),
            last_review: size.block(&plain(&spec.last_review), 4),
            findings: size.list(spec.findings.iter().map(|found| finding(found, size)), 8, 32),
            pending: size.list(spec.pending.iter().map(item), 2, 8),
            base_tree: spec.base_tree.to_string(),
            tree: spec.tree_under_review.as_ref().map(ToString::to_string).unwrap_or_default(),
            diff: change(texts.diff, size),
            checks: size.list(spec.checks.iter().map(|check| code(check)), 2, 4),
            protected: size.list(spec.protected.iter().map(|glob| code(glob)), 1, 4),
            product: size.list(spec.product.iter().map(|glob| code(glob)), 1, 4),
            changed_terms: size.list(spec.changed_terms.paths.iter().map(|path| code(path)), 1, 4),
            needs_terms: spec.needs_terms && reviewer,
            finish_prompt: if finishes { size.block(spec.finish_prompt.trim(), 8) } else { String::new() },
            finish_skill: if finishes { size.block(spec.finish_skill.trim(), 1) } else { String::new() },
            answers: texts.answers,
            names: TemplateNames::of(spec),
        }
    }
}

/// How much of everything, in KiB; a quarter of it in a short brief.
#[derive(Clone, Copy)]
pub(super) struct Size {
    pub short: bool,
}

impl Size {
    fn bytes(self, kib: usize) -> usize {
        if self.short { kib * 256 } else { kib * 1024 }
    }

    fn line(self, text: &str, kib: usize) -> String {
        bound::line(text, self.bytes(kib))
    }

    pub fn block(self, text: &str, kib: usize) -> String {
        bound::block(text, self.bytes(kib))
    }

    fn list(self, items: impl IntoIterator<Item = String>, each: usize, total: usize) -> Vec<String> {
        bound::list(items, self.bytes(each), self.bytes(total))
    }
}

fn heading(spec: &BriefSpec) -> String {
    let subject = match &spec.task {
        Some(task) => format!("task {}: {}", task.id, plain(&task.title).replace('\n', " ")),
        None => "the whole".to_owned(),
    };
    match spec.mode {
        Mode::Implement if spec.one_step => format!("Make one step of {subject}"),
        Mode::Implement => format!("Do {subject}"),
        Mode::Explore => format!("Find out, for {subject}"),
        Mode::FixTask => format!("Fix {subject}"),
        Mode::Fix => "Repair the whole".to_owned(),
        Mode::ReviewTask if spec.one_step => format!("Review one step of {subject}"),
        Mode::ReviewTask => format!("Review {subject}"),
        Mode::ReviewReport => format!("Review the report on {subject}"),
        Mode::ReviewWhole => "Review the whole".to_owned(),
        Mode::Finish => "Close the loop".to_owned(),
    }
}

fn iteration(spec: &BriefSpec) -> String {
    match spec.max_iterations {
        0 => format!("iteration {} (there is no limit)", spec.iteration),
        max => format!("iteration {} of {max}", spec.iteration),
    }
}

fn carries_on(spec: &BriefSpec) -> bool {
    let is_elsewhere = (spec.unmerged.is_some() || spec.one_step) && spec.change.files == 0;
    let before = spec.change.files > 0
        || !spec.failing.is_empty()
        || !spec.findings.is_empty()
        || !spec.pending.is_empty()
        || !spec.last_review.is_empty()
        || !spec.last_end.is_empty();
    before && !is_elsewhere
}

/// An author is told what the last review missed, a reviewer what windlass's own check has shown.
fn criterion(of: &CriterionAnswer, role: Role) -> String {
    let text = indented(&plain(&of.text));
    let place = if of.place.is_empty() { String::new() } else { format!(" ({})", plain(&of.place)) };
    let known = match (role, of.met) {
        (Role::Reviewer, _) if !of.check.is_empty() => {
            "windlass ran the check that belongs to it on this tree: it is green".to_owned()
        }
        (Role::Author, Met::No) if of.place.is_empty() && !of.check.is_empty() => {
            "the check that belongs to it was red".to_owned()
        }
        (Role::Author, Met::No) => format!("not met, says the last review{place}"),
        (Role::Author, Met::Unknown) if !of.place.is_empty() => {
            format!("the last review could not tell{place}")
        }
        (Role::Author | Role::Reviewer | Role::Finisher | Role::Planner, _) => String::new(),
    };
    match known.as_str() {
        "" => format!("{}. {text}", of.number),
        known => format!("{}. {text}\n   ({})", of.number, indented(known)),
    }
}

/// What a task is limited to, one line each.
fn scope(task: &TaskBrief) -> Vec<String> {
    let ScopeLimits { files_changed, lines_written, files_read } = task.scope;
    let limits = [
        (files_changed, "different files changed"),
        (lines_written, "lines added"),
        (files_read, "different files read in one turn"),
    ];
    let limits = limits.into_iter().filter(|(max, _)| *max > 0);
    let limits = limits.map(|(max, what)| format!("at most {max} {what}"));
    let within: Vec<String> = task.within.iter().map(|glob| code(glob)).collect();
    let within = (!within.is_empty()).then(|| format!("nothing changed outside of {}", within.join(", ")));
    limits.chain(within).collect()
}

fn command(ran: &Ran) -> String {
    let ending = match (ran.exit, ran.ok) {
        (Some(exit), _) => format!("exit {exit}"),
        (None, true) => "done".to_owned(),
        (None, false) => "failed".to_owned(),
    };
    format!("{}: {ending}", code(bound::head(&ran.what, 600)))
}

fn next_steps(author: &AuthorSaid) -> &[String] {
    author.claim.as_ref().map_or(&[], |claim| &claim.next)
}

/// The author's final report as one block that nothing in it can close.
fn author_says(author: &AuthorSaid, size: Size) -> String {
    let mut parts = Vec::new();
    match &author.claim {
        Some(claim) => {
            parts.push(format!("status: {}", claim.status.name()));
            parts.push(size.block(plain(&claim.summary).trim(), 4));
            let checks: Vec<String> = claim.checks.iter().map(claimed_check).collect();
            for (title, items) in [
                ("The plan it followed:", &claim.plan),
                ("What it ran:", &checks),
                ("Its next steps:", &claim.next),
                ("What blocks it:", &claim.blockers),
            ] {
                let items = size.list(items.iter().map(|item| indented(&plain(item))), 1, 4);
                let lines: String = items.iter().map(|item| format!("\n- {item}")).collect();
                parts.extend((!items.is_empty()).then(|| format!("{title}{lines}")));
            }
        }
        None if author.message.trim().is_empty() => return String::new(),
        None => {
            parts.push("It wrote no report. Its last words:".to_owned());
            parts.push(bound::block_end(plain(&author.message).trim(), size.bytes(8)));
        }
    }
    parts.retain(|part| !part.is_empty());
    fenced(&parts.join("\n\n"))
}

fn claimed_check(check: &ClaimedCheck) -> String {
    let exit = check.exit.map(|code| format!(": exit {code}")).unwrap_or_default();
    let output = check.output.trim();
    let output = if output.is_empty() { String::new() } else { format!("\n{output}") };
    format!("{}{exit}{output}", check.command)
}

fn files(change: &Change, size: Size) -> Vec<Files> {
    [("Created", &change.created), ("Edited", &change.edited), ("Deleted", &change.deleted)]
        .into_iter()
        .filter(|(_, paths)| !paths.is_empty())
        .map(|(what, paths)| Files { what, paths: size.list(paths.iter().map(|path| code(path)), 1, 4) })
        .collect()
}

/// Every failing check is named; the output of the first eight is shown.
fn failing(checks: &[FailingCheck], size: Size) -> Vec<Failing> {
    let shown = |(index, check): (usize, &FailingCheck)| Failing {
        name: code(bound::head(&check.check, 100)),
        ending: bound::line(&indented(&plain(&check.reason.words())), 200),
        excerpt: match (index, plain(&check.excerpt).trim()) {
            (_, "") => String::new(),
            (0..8, text) => fenced(&bound::block_end(text, size.bytes(4))),
            (_, _) => "Its output is left out here, for length.".to_owned(),
        },
    };
    checks.iter().take(20).enumerate().map(shown).collect()
}

/// What shows it is cut before it is fenced: a cut fence would take in the rest of the brief.
fn finding(finding: &Finding, size: Size) -> String {
    let place = match (finding.file.as_str(), finding.line) {
        ("", _) => String::new(),
        (file, 0) => format!(" {}", code(file)),
        (file, line) => format!(" {} line {line}", code(file)),
    };
    let head =
        format!("{} ({}){place}: {}", finding.id, finding.severity.name(), plain(&finding.description));
    let text = match finding.scenario.trim() {
        "" => head,
        scenario => format!("{head}\nTo see it: {}", plain(scenario)),
    };
    match finding.diff.trim_end() {
        "" => indented(&text),
        diff => {
            let shown = fenced(&size.block(&visible(diff), 2));
            indented(&format!("{}\n\n{shown}", size.line(&text, 1)))
        }
    }
}

fn unmerged(work: &UnmergedWork, texts: &BriefTexts<'_>, size: Size) -> Unmerged {
    let cut = Cut { kib: 24, rest: "Read the rest in that file." };
    Unmerged {
        why: size.line(&why_unmerged(work), 2),
        files: work.files,
        diff: bounded_diff(texts.unmerged, size, cut),
        file: code(texts.unmerged_file),
    }
}

fn why_unmerged(work: &UnmergedWork) -> String {
    const NAMED: usize = 20;
    if !work.failure.is_empty() {
        return plain(&work.failure).replace('\n', " ");
    }
    let named: Vec<String> = work.conflicts.paths.iter().take(NAMED).map(|path| code(path)).collect();
    let more = work.conflicts.count.saturating_sub(named.len() as u64);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    format!("there are conflicts in {}{more}", named.join(", "))
}

fn change(diff: &str, size: Size) -> String {
    bounded_diff(diff, size, Cut { kib: 48, rest: "Read the rest in the workspace." })
}

/// How much of a diff is shown, and where the rest is.
struct Cut {
    kib: usize,
    rest: &'static str,
}

fn bounded_diff(diff: &str, size: Size, cut: Cut) -> String {
    let max = size.bytes(cut.kib);
    let shown = visible(bound::head(diff, max));
    let kept = bound::head(&shown, max);
    if kept.is_empty() {
        return String::new();
    }
    let note = match diff.len() > max || kept.len() < shown.len() {
        true => format!(
            "\n\nThe change is {} bytes long; only its beginning is shown here. {}",
            diff.len(),
            cut.rest
        ),
        false => String::new(),
    };
    fenced(kept.trim_end_matches('\n')) + &note
}
