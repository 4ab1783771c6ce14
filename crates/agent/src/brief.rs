//! The text an agent is given, drawn from a `BriefSpec`. Bounded, whatever went into it, and every cut is
//! said where it was made.

mod own;

use std::sync::LazyLock;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{Environment, UndefinedBehavior};
use serde::Serialize;
use windlass_core::brief::{BriefSpec, Mode};
use windlass_core::finding::Finding;
use windlass_core::gate::FailingCheck;
use windlass_core::id::Nonce;
use windlass_core::input::{Change, UnmergedWork};
use windlass_core::policy::{BriefPart, BriefPolicy, OwnText, Role};
use windlass_core::summary::Ran;

use crate::bound;
use crate::report::reject_nonce;
use windlass_core::plain::{plain, visible};

pub use own::{BadTemplate, MAX_TEMPLATE_BYTES, NAMES, check};

/// No brief is larger. The sum of the parts' own bounds and of the templates stays below it, two of which may
/// be the operator's.
pub const MAX_BYTES: usize = 256 * 1024 + 2 * MAX_TEMPLATE_BYTES;

/// What the state does not hold: bulk, and the secret of the attempt.
#[derive(Clone, Copy, Debug)]
pub struct BriefTexts<'a> {
    pub nonce: &'a Nonce,
    /// The task as the operator wrote it; empty for the whole.
    pub task: &'a str,
    /// What a reviewer is to judge; empty for others.
    pub diff: &'a str,
    /// Earlier work that is not in the workspace, and the file with all of it; empty where
    /// there is none.
    pub unmerged: &'a str,
    pub unmerged_file: &'a str,
    /// Whether the report is the agent's last message; otherwise it is a file.
    pub answers: bool,
    /// The operator's own templates, each of which [`check`] found good.
    pub own: &'a BriefPolicy,
}

#[derive(Debug, thiserror::Error)]
#[error("cannot render the brief: {0:#}")]
pub struct BriefError(#[from] minijinja::Error);

/// The whole brief. Its first line is `nonce: …`, and its last part is how to report, whatever the templates
/// of the operator say.
pub fn render(spec: &BriefSpec, texts: &BriefTexts<'_>) -> Result<String, BriefError> {
    let mut page = Page::of(spec, texts);
    let size = Size { short: spec.short };
    page.mode = mode_template(spec.mode, texts.own).render(&page, size)?;
    page.rules = RULES.or_own(texts.own.part(BriefPart::Rules)).render(&page, size)?;
    Ok(TEMPLATES.render_named_str("base.md", include_str!("../templates/base.md"), Serde(&page))?)
}

/// A part of the brief, and the name it has in messages about it.
#[derive(Clone, Copy)]
struct Template<'a> {
    name: &'a str,
    source: &'a str,
}

const RULES: Template<'static> = Template { name: "rules.md", source: include_str!("../templates/rules.md") };

impl<'a> Template<'a> {
    /// What windlass says there, or the operator instead.
    fn or_own(self, own: Option<&'a OwnText>) -> Self {
        own.map_or(self, |own| Self { name: &own.file, source: &own.text })
    }

    fn render(self, page: &Page, size: Size) -> Result<String, BriefError> {
        let text = TEMPLATES.render_named_str(self.name, self.source, Serde(page))?;
        Ok(size.block(text.trim_end(), MAX_TEMPLATE_BYTES / 1024))
    }
}

static TEMPLATES: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut templates = Environment::new();
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
    templates.set_syntax(syntax.expect("the usual delimiters differ from one another"));
    templates.set_undefined_behavior(UndefinedBehavior::Strict);
    templates
});

/// What each mode asks of an agent.
const MODES: [(Mode, BriefPart, Template<'static>); 5] = [
    (
        Mode::Implement,
        BriefPart::Implement,
        template("implement.md", include_str!("../templates/implement.md")),
    ),
    (Mode::Fix, BriefPart::Fix, template("fix.md", include_str!("../templates/fix.md"))),
    (
        Mode::ReviewTask,
        BriefPart::ReviewTask,
        template("review_task.md", include_str!("../templates/review_task.md")),
    ),
    (
        Mode::ReviewWhole,
        BriefPart::ReviewWhole,
        template("review_whole.md", include_str!("../templates/review_whole.md")),
    ),
    (Mode::Finish, BriefPart::Finish, template("finish.md", include_str!("../templates/finish.md"))),
];

const fn template(name: &'static str, source: &'static str) -> Template<'static> {
    Template { name, source }
}

fn mode_template(mode: Mode, own: &BriefPolicy) -> Template<'_> {
    let (_, part, ours) = MODES.into_iter().find(|(of, _, _)| *of == mode).expect("every mode has its row");
    ours.or_own(own.part(part))
}

/// What the templates see.
#[derive(Serialize)]
struct Page {
    nonce: String,
    reject_nonce: String,
    heading: String,
    name: String,
    iteration: String,
    role: &'static str,
    reviewer: bool,
    /// Whether the workspace has what earlier attempts left.
    carries_on: bool,
    unmerged: Option<Unmerged>,
    goal: String,
    mode: String,
    rules: String,
    task: String,
    acceptance: Vec<String>,
    allow: Vec<String>,
    plan: Vec<String>,
    steering: Vec<String>,
    files_total: u64,
    files: Vec<Files>,
    commands: Vec<String>,
    errors: Vec<String>,
    refused: Vec<String>,
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
    fn of(spec: &BriefSpec, texts: &BriefTexts<'_>) -> Self {
        let size = Size { short: spec.short };
        let reviewer = spec.role == Role::Reviewer;
        let item = |text: &String| indented(&plain(text));
        let of_task = |of: fn(&windlass_core::brief::TaskBrief) -> &Vec<String>| {
            spec.task.as_ref().map(of).map_or(&[][..], Vec::as_slice)
        };
        Self {
            nonce: texts.nonce.to_string(),
            reject_nonce: reject_nonce(texts.nonce).to_owned(),
            heading: size.line(&heading(spec), 1),
            name: spec.name.to_string(),
            iteration: iteration(spec),
            role: spec.role.name(),
            reviewer,
            carries_on: carries_on(spec),
            unmerged: spec.unmerged.as_ref().map(|work| unmerged(work, texts, size)),
            goal: size.line(&indented(&plain(&spec.goal)), 2),
            mode: String::new(),
            rules: String::new(),
            task: size.block(texts.task.trim(), 64),
            acceptance: size.list(of_task(|task| &task.acceptance).iter().map(item), 2, 8),
            allow: size.list(of_task(|task| &task.allow).iter().map(|glob| code(glob)), 1, 2),
            plan: match spec.mode {
                Mode::Implement | Mode::ReviewTask => Vec::new(),
                Mode::Fix | Mode::ReviewWhole | Mode::Finish => size.list(spec.plan.iter().map(item), 1, 8),
            },
            steering: size.list(spec.steering.iter().map(item), 4, 12),
            files_total: spec.change.files,
            files: files(&spec.change, size),
            commands: size.list(spec.summary.commands.iter().map(command), 1, 8),
            errors: size.list(spec.summary.errors.iter().map(item), 1, 4),
            refused: size.list(spec.summary.refused.iter().map(item), 1, 4),
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
            finish_prompt: match spec.mode {
                Mode::Finish => size.block(spec.finish_prompt.trim(), 8),
                Mode::Implement | Mode::Fix | Mode::ReviewTask | Mode::ReviewWhole => String::new(),
            },
            finish_skill: match spec.mode {
                Mode::Finish => size.block(spec.finish_skill.trim(), 1),
                Mode::Implement | Mode::Fix | Mode::ReviewTask | Mode::ReviewWhole => String::new(),
            },
            answers: texts.answers,
        }
    }
}

/// How much of everything, in KiB; a quarter of it in a short brief.
#[derive(Clone, Copy)]
struct Size {
    short: bool,
}

impl Size {
    fn bytes(self, kib: usize) -> usize {
        if self.short { kib * 256 } else { kib * 1024 }
    }

    fn line(self, text: &str, kib: usize) -> String {
        bound::line(text, self.bytes(kib))
    }

    fn block(self, text: &str, kib: usize) -> String {
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
        Mode::Implement => format!("Do {subject}"),
        Mode::Fix => "Repair the whole".to_owned(),
        Mode::ReviewTask => format!("Review {subject}"),
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
    let is_elsewhere = spec.unmerged.is_some() && spec.change.files == 0;
    let before = spec.change.files > 0
        || !spec.failing.is_empty()
        || !spec.findings.is_empty()
        || !spec.pending.is_empty()
        || !spec.last_review.is_empty()
        || !spec.last_end.is_empty();
    before && !is_elsewhere
}

fn command(ran: &Ran) -> String {
    let ending = match (ran.exit, ran.ok) {
        (Some(exit), _) => format!("exit {exit}"),
        (None, true) => "done".to_owned(),
        (None, false) => "failed".to_owned(),
    };
    format!("{}: {ending}", code(bound::head(&ran.what, 600)))
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

/// A block that its own content cannot close.
fn fenced(text: &str) -> String {
    let fence = "`".repeat(longest_backticks(text).max(2) + 1);
    format!("{fence}\n{text}\n{fence}")
}

/// A name, a path or a command on one line, that its own content cannot close.
fn code(text: &str) -> String {
    let text = visible(text).replace('\n', "\\n");
    match longest_backticks(&text) {
        0 => format!("`{text}`"),
        n => {
            let fence = "`".repeat(n + 1);
            format!("{fence} {text} {fence}")
        }
    }
}

fn longest_backticks(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

/// Several lines inside one item of a list.
fn indented(text: &str) -> String {
    text.trim().replace('\n', "\n  ").replace("\n  \n", "\n\n")
}
