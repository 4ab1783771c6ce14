//! The text an agent is given, drawn from a `BriefSpec`. Bounded, whatever went into it, and every cut is
//! said where it was made.

mod own;
mod page;
mod planner;
mod text;

use std::sync::LazyLock;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{Environment, UndefinedBehavior};
use windlass_core::brief::{BriefSpec, Mode};
use windlass_core::id::Nonce;
use windlass_core::policy::{BriefPart, BriefPolicy, OwnText};

use self::page::{Page, Size};

pub use own::{BadTemplate, MAX_TEMPLATE_BYTES, NAMES, check};
pub use planner::{BadAnswer, PlanQuestion, TaskSoFar, render_plan_question};

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
    page.mode = mode_template(spec.mode, texts.own).or_own(spec.own_words.as_ref()).render(&page, size)?;
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

/// windlass's own words for a part that the operator may write.
pub fn built_in(part: BriefPart) -> &'static str {
    let of_mode = MODES.iter().find(|(_, of, _)| *of == part).map(|(_, _, ours)| ours.source);
    of_mode.unwrap_or(RULES.source)
}

/// What each mode asks of an agent.
const MODES: [(Mode, BriefPart, Template<'static>); 8] = [
    (
        Mode::Implement,
        BriefPart::Implement,
        template("implement.md", include_str!("../templates/implement.md")),
    ),
    (Mode::Explore, BriefPart::Explore, template("explore.md", include_str!("../templates/explore.md"))),
    (Mode::FixTask, BriefPart::FixTask, template("fix_task.md", include_str!("../templates/fix_task.md"))),
    (
        Mode::ReviewReport,
        BriefPart::ReviewReport,
        template("review_report.md", include_str!("../templates/review_report.md")),
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
