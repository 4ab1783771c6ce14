//! An agent is asked for a plan. It may only read, and what it answers is a proposal.

use serde_json::Value;
use windlass_agent::adapter;
use windlass_agent::brief::{BadAnswer, PlanQuestion, render_plan_question};
use windlass_core::id::Nonce;
use windlass_core::input::AttemptEnd;
use windlass_core::live::Live;
use windlass_core::policy::{Policy, Role};
use windlass_gate::{Globs, MissingFile, missing_files};

use crate::agents::{Probe, Question, ask};
use crate::ask_for_checks::fresh_copy;
use crate::clock;
use crate::repositories::Repositories;
use crate::surroundings::Surroundings;
use crate::try_checks::TryPlace;

pub use windlass_agent::brief;

/// Why there is no plan.
#[derive(Debug)]
pub enum NoPlan {
    /// The agent cannot be called, or ended otherwise than by itself.
    Unusable(String),
    /// It ended, and gave no answer that can be read.
    NoAnswer(String),
    Interrupted,
}

/// Asks once. `before` is the answer that could not be used; empty the first time.
pub fn ask_for_plan(
    place: &TryPlace<'_>,
    probe: &Probe<'_>,
    question: &PlanQuestion,
    asked: &AskedPlan<'_>,
) -> Result<Value, NoPlan> {
    let agent = adapter(probe.agent).map_err(|error| NoPlan::Unusable(error.to_string()))?;
    fresh_copy(place, probe.scratch).map_err(NoPlan::Unusable)?;
    let nonce = Nonce::new(clock::marker());
    let brief = render_plan_question(question, &nonce, agent.answers(), asked.before)
        .map_err(|error| NoPlan::Unusable(error.to_string()))?;
    let question = Question {
        role: Role::Planner,
        nonce,
        brief: &brief,
        interrupts: place.interrupts,
        live: asked.live,
    };
    let told = ask(probe, &question).map_err(NoPlan::Unusable)?;
    if place.interrupts.is_raised() {
        return Err(NoPlan::Interrupted);
    }
    match (told.answer, told.finished.result.end) {
        (Some(answer), _) => Ok(answer),
        (None, AttemptEnd::Normal) => {
            let why = told.unread.map_or_else(
                || "there was no answer".to_owned(),
                |why| format!("the answer cannot be read: {why}"),
            );
            Err(NoPlan::NoAnswer(why))
        }
        (None, end) => Err(NoPlan::Unusable(end.to_string())),
    }
}

/// What came before, and who is told what is heard.
pub struct AskedPlan<'a> {
    pub before: &'a BadAnswer,
    pub live: &'a (dyn Fn(Live) + Sync),
}

/// What checks name and the head of the repository does not have.
pub fn missing_in_head(place: &TryPlace<'_>, policy: &Policy) -> Vec<String> {
    let surroundings = Surroundings { state: place.vault.state().to_owned(), ..place.surroundings.clone() };
    let Ok(Repositories { repository, .. }) = Repositories::open(&surroundings, place.project, place.vault)
    else {
        return Vec::new();
    };
    let in_head = |path: &str| repository.has_path(&repository.head, path).unwrap_or(false);
    let named = |missing: MissingFile| {
        format!("check {:?} names {}, which is not in the repository", missing.check, missing.file)
    };
    missing_files(policy, &in_head).into_iter().map(named).collect()
}

/// The patterns that cover one of these paths, each with the first.
pub fn reaching<'p>(globs: &[String], paths: &'p [String]) -> Vec<(String, &'p str)> {
    let one = |glob: &String| {
        let covers = Globs::new("`allow`", std::slice::from_ref(glob)).ok()?;
        let path = paths.iter().find(|path| covers.covers(path.as_bytes()))?;
        Some((glob.clone(), path.as_str()))
    };
    globs.iter().filter_map(one).collect()
}

/// The patterns that are none.
pub fn bad_globs(place: &'static str, globs: &[String]) -> Vec<String> {
    let one = |glob: &String| Globs::new(place, std::slice::from_ref(glob)).err().map(|bad| bad.to_string());
    globs.iter().filter_map(one).collect()
}
