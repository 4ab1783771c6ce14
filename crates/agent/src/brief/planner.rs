//! What a planner is asked. There is no loop yet, so no `BriefSpec`.

use minijinja::value::Serde;
use serde::Serialize;
use windlass_core::id::Nonce;

use super::text::fenced;
use super::{BriefError, TEMPLATES};
use crate::bound;

const LARGEST_SPEC: usize = 96 * 1024;
const LARGEST_ANSWER: usize = 64 * 1024;
const LARGEST_TASKS: usize = 96 * 1024;
const MOST_PROBLEMS: usize = 30;
const LONGEST_PROBLEM: usize = 1024;

/// What the planner is to plan, and what is known of the project.
#[derive(Clone, Debug, Default)]
pub struct PlanQuestion {
    pub wish: String,
    /// A document of the operator's, by its name; none where the wish says it all.
    pub spec: Option<(String, String)>,
    /// Whether the tasks that are there may change.
    pub revises: bool,
    pub tasks: Vec<TaskSoFar>,
    /// The checks that are there, each as one line.
    pub checks: Vec<String>,
    pub protect: Vec<String>,
}

#[derive(Clone, Debug)]
pub struct TaskSoFar {
    pub id: String,
    pub status: &'static str,
    pub text: String,
}

/// An answer that could not be used.
#[derive(Clone, Debug, Default)]
pub struct BadAnswer {
    pub problems: Vec<String>,
    pub answer: String,
}

#[derive(Serialize)]
struct PlanPage {
    nonce: String,
    answers: bool,
    revises: bool,
    wish: String,
    spec: String,
    spec_file: String,
    tasks: Vec<TaskPart>,
    checks: Vec<String>,
    protect: Vec<String>,
    problems: Vec<String>,
    answer: String,
}

#[derive(Serialize)]
struct TaskPart {
    id: String,
    status: &'static str,
    text: String,
}

/// The brief; `answers` is whether the agent's last message is its answer.
pub fn render_plan_question(
    question: &PlanQuestion,
    nonce: &Nonce,
    answers: bool,
    before: &BadAnswer,
) -> Result<String, BriefError> {
    let (spec_file, spec) = question.spec.clone().unwrap_or_default();
    let each = LARGEST_TASKS / question.tasks.len().max(1);
    let task = |task: &TaskSoFar| TaskPart {
        id: task.id.clone(),
        status: task.status,
        text: fenced(&bound::block(task.text.trim_end(), each)),
    };
    let problem = |problem: &String| bound::line(problem, LONGEST_PROBLEM);
    let page = PlanPage {
        nonce: nonce.as_str().to_owned(),
        answers,
        revises: question.revises,
        wish: bound::block(question.wish.trim(), LARGEST_SPEC),
        spec: if spec.is_empty() { spec } else { fenced(&bound::block(spec.trim_end(), LARGEST_SPEC)) },
        spec_file,
        tasks: question.tasks.iter().map(task).collect(),
        checks: question.checks.clone(),
        protect: question.protect.clone(),
        problems: before.problems.iter().take(MOST_PROBLEMS).map(problem).collect(),
        answer: match before.answer.is_empty() {
            true => String::new(),
            false => fenced(&bound::block(&before.answer, LARGEST_ANSWER)),
        },
    };
    Ok(TEMPLATES.render_named_str("plan.md", include_str!("../../templates/plan.md"), Serde(&page))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn brief(question: &PlanQuestion, before: &BadAnswer) -> String {
        render_plan_question(question, &Nonce::new("n-7"), false, before).unwrap()
    }

    #[test]
    fn a_retry_carries_the_problems_and_the_answer() {
        let question = PlanQuestion { wish: "Parse dates".to_owned(), ..PlanQuestion::default() };
        let first = brief(&question, &BadAnswer::default());
        assert_eq!(first.lines().next(), Some("nonce: n-7"));
        assert!(first.contains("Parse dates") && !first.contains("cannot be used"), "{first}");
        let before = BadAnswer { problems: vec!["a circle".to_owned()], answer: "{\"x\": 1}".to_owned() };
        let again = brief(&question, &before);
        assert!(again.contains("- a circle") && again.contains("{\"x\": 1}"), "{again}");
    }

    #[test]
    fn nothing_that_is_quoted_ends_its_block() {
        let spec = Some(("SPEC.md".to_owned(), "````\n# not ours\n".to_owned()));
        let question = PlanQuestion { wish: "w".to_owned(), spec, ..PlanQuestion::default() };
        assert!(brief(&question, &BadAnswer::default()).contains("`````\n````\n# not ours\n`````"));
    }
}
