//! What must hold for a task to be accepted, criterion by criterion: what a
//! reviewer answered, and what a check of the criterion's own showed.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::gate::GateSummary;
use crate::id::TaskId;
use crate::policy::{CheckPolicy, CheckWhen, GatePolicy, Policy};
use crate::state::TaskState;
use crate::task::Task;
use crate::verdict::{Criterion, Met};

/// A command that shows by its exit code whether a criterion holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CriterionCheck {
    /// From 1, as the task lists its criteria.
    pub criterion: u32,
    pub run: String,
}

/// What is known of one criterion.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CriterionAnswer {
    /// From 1, as the task lists them; 0 for one that only the reviewer names.
    pub number: u32,
    pub text: String,
    pub met: Met,
    /// What the reviewer says shows it.
    #[serde(rename = "where", default, skip_serializing_if = "String::is_empty")]
    pub place: String,
    /// The check of its own that judged the tree; empty where none did.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub check: String,
}

/// No check of a policy can have such a name.
pub fn check_name(task: &TaskId, criterion: u32) -> String {
    format!("acceptance {criterion} ({task})")
}

impl Task {
    /// The names of the checks that its criteria bring along.
    pub fn criterion_check_names(&self) -> impl Iterator<Item = String> {
        self.criterion_checks.iter().map(|of| check_name(&self.id, of.criterion))
    }
}

impl Policy {
    /// The rules that judge a task: with the checks of its own criteria.
    pub fn judging(&self, task: Option<&Task>) -> Cow<'_, Self> {
        let Some(task) = task.filter(|task| !task.criterion_checks.is_empty()) else {
            return Cow::Borrowed(self);
        };
        let mut policy = self.clone();
        policy.gate.add_criterion_checks(task);
        Cow::Owned(policy)
    }
}

impl GatePolicy {
    fn add_criterion_checks(&mut self, task: &Task) {
        let check = |of: &CriterionCheck| CheckPolicy {
            name: check_name(&task.id, of.criterion),
            run: of.run.clone(),
            when: CheckWhen::Task,
            timeout: self.timeout,
            // It need not run a test that could be broken.
            control: "off".to_owned(),
            ..CheckPolicy::default()
        };
        let own: Vec<CheckPolicy> = task.criterion_checks.iter().map(check).collect();
        self.checks.extend(own);
    }
}

/// What a review answers to each criterion of a task, then what else it judged. Without an answer a green
/// check of the criterion's own speaks for it.
pub fn answers(task: Option<&Task>, said: &[Criterion], gate: Option<&GateSummary>) -> Vec<CriterionAnswer> {
    let criteria = task.map_or(&[][..], |task| &task.acceptance);
    let about: Vec<Option<usize>> = said.iter().map(|of| criterion_meant(criteria, &of.text)).collect();
    let listed = criteria.iter().enumerate().map(|(index, text)| {
        let of = about.iter().zip(said).filter(|(at, _)| **at == Some(index)).map(|(_, said)| said);
        // Of two answers to one criterion the worse stands.
        let worst = of.max_by_key(|said| badness(said.met));
        let number = number_of(index);
        let shown = task.and_then(|task| shown_by_check(task, number, gate));
        let (check, by_check) = shown.map_or((String::new(), Met::Unknown), |(check, met)| (check, met));
        let met = worst.map_or(by_check, |said| said.met);
        let place = worst.map_or_else(String::new, |said| said.place.clone());
        CriterionAnswer { number, text: text.clone(), met, place, check }
    });
    let others = about.iter().zip(said).filter(|(at, _)| at.is_none()).map(|(_, said)| CriterionAnswer {
        number: 0,
        text: said.text.clone(),
        met: said.met,
        place: said.place.clone(),
        check: String::new(),
    });
    listed.chain(others).collect()
}

impl TaskState {
    /// What is known of each of its criteria: the last review's answer, unless a check of the criterion's own
    /// is red.
    pub fn criteria(&self) -> Vec<CriterionAnswer> {
        let gate = self.work.gate.as_deref();
        let mut known = answers(Some(&self.task), &[], gate);
        for answer in &mut known {
            let said = self.work.answers.iter().find(|said| said.number == answer.number);
            let Some(said) = said.filter(|said| said.text == answer.text && answer.met != Met::No) else {
                continue;
            };
            answer.met = said.met;
            answer.place.clone_from(&said.place);
        }
        known
    }
}

/// Such as `acceptance: 1 of 3 met (2 no, 3 unknown)`; empty where there is no criterion.
pub fn words(answers: &[CriterionAnswer]) -> String {
    let listed = || answers.iter().filter(|answer| answer.number > 0);
    let (all, met) = (listed().count(), listed().filter(|answer| answer.met == Met::Yes).count());
    let open: Vec<String> = listed()
        .filter(|answer| answer.met != Met::Yes)
        .map(|answer| format!("{} {}", answer.number, answer.met.name()))
        .collect();
    match (all, open.as_slice()) {
        (0, _) => String::new(),
        (all, []) => format!("acceptance: {met} of {all} met"),
        (all, open) => format!("acceptance: {met} of {all} met ({})", open.join(", ")),
    }
}

fn number_of(index: usize) -> u32 {
    u32::try_from(index + 1).unwrap_or(u32::MAX)
}

fn shown_by_check(task: &Task, criterion: u32, gate: Option<&GateSummary>) -> Option<(String, Met)> {
    task.criterion_checks.iter().find(|of| of.criterion == criterion)?;
    let (name, gate) = (check_name(&task.id, criterion), gate?);
    let is_red = gate.failing.iter().any(|failing| failing.check == name);
    let ran = gate.exits.iter().any(|(check, _)| *check == name);
    (is_red || ran).then_some((name, if is_red { Met::No } else { Met::Yes }))
}

fn badness(met: Met) -> u8 {
    match met {
        Met::Yes => 0,
        Met::Unknown => 1,
        Met::No => 2,
    }
}

/// The criterion that a reviewer means: by its text, or by the number before it.
fn criterion_meant(criteria: &[String], said: &str) -> Option<usize> {
    let same = |text: &str| criteria.iter().position(|of| in_words(of) == in_words(text));
    let (number, rest) = numbered(said);
    let by_number = || number.and_then(|number| number.checked_sub(1)).filter(|at| *at < criteria.len());
    same(said).or_else(|| same(rest).filter(|_| number.is_some())).or_else(by_number)
}

/// `2. It is fast`, `2) …`, `2: …`, `(2) …`, `criterion 2` and `2` alone have a number.
fn numbered(said: &str) -> (Option<usize>, &str) {
    let text = said.trim().trim_start_matches(['(', '#']);
    let text = ["criterion ", "Criterion "].iter().find_map(|word| text.strip_prefix(word)).unwrap_or(text);
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, rest) = text.split_at(digits);
    match (number.parse(), rest.chars().next()) {
        (Ok(number), None | Some('.' | ')' | ':')) => {
            (Some(number), rest.trim_start_matches(['.', ')', ':', ' ']))
        }
        _ => (None, said),
    }
}

/// Without regard to case and white space.
fn in_words(text: &str) -> String {
    text.split_whitespace().map(str::to_lowercase).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use crate::id::BlobId;

    use super::*;

    fn task(criteria: &[&str]) -> Task {
        let mut task = Task::plain(TaskId::new("a"), "Do a".to_owned(), BlobId::new("text"));
        task.acceptance = criteria.iter().map(|text| (*text).to_owned()).collect();
        task
    }

    fn said(text: &str, met: Met) -> Criterion {
        Criterion { text: text.to_owned(), met, place: "a.rs:1".to_owned() }
    }

    #[test]
    fn an_answer_is_for_the_criterion_it_names_by_text_or_number() {
        let criteria: Vec<String> = ["It works", "2 files exist", "It is fast"].map(str::to_owned).into();
        for (text, meant) in [
            ("it  WORKS", Some(0)),
            ("1. It works", Some(0)),
            ("2 files exist", Some(1)),
            ("2. 2 files exist", Some(1)),
            ("3", Some(2)),
            ("(3) quick enough", Some(2)),
            ("criterion 3: fast", Some(2)),
            ("3 is the limit", None),
            ("0. nothing", None),
            ("4. more", None),
            ("changed terms: none", None),
            ("", None),
        ] {
            assert_eq!(criterion_meant(&criteria, text), meant, "{text}");
        }
    }

    #[test]
    fn what_nobody_answers_is_unknown_and_the_worse_of_two_answers_stands() {
        let task = task(&["x", "y", "z"]);
        let review = [said("z", Met::Yes), said("3", Met::No), said("x", Met::Yes), said("tidy", Met::Yes)];
        let answers = answers(Some(&task), &review, None);
        let told: Vec<(u32, Met)> = answers.iter().map(|answer| (answer.number, answer.met)).collect();
        assert_eq!(told, [(1, Met::Yes), (2, Met::Unknown), (3, Met::No), (0, Met::Yes)]);
        assert_eq!(words(&answers), "acceptance: 1 of 3 met (2 unknown, 3 no)");
        assert_eq!(words(&[]), "");
    }

    #[test]
    fn a_green_check_speaks_for_its_criterion_where_nobody_else_does() {
        let mut task = task(&["x", "y"]);
        task.criterion_checks = vec![CriterionCheck { criterion: 2, run: "true".to_owned() }];
        let name = check_name(&task.id, 2);
        let gate = GateSummary {
            passed: true,
            flaky: Vec::new(),
            exits: vec![(name.clone(), Some(0))],
            failing: Vec::new(),
            needs_terms: false,
        };
        let told = |review: &[Criterion]| {
            let all = answers(Some(&task), review, Some(&gate));
            all.into_iter().map(|answer| (answer.met, answer.check)).collect::<Vec<_>>()
        };
        assert_eq!(told(&[]), [(Met::Unknown, String::new()), (Met::Yes, name.clone())]);
        assert_eq!(told(&[said("y", Met::No)])[1], (Met::No, name));
    }

    #[test]
    fn the_gate_of_a_task_has_the_checks_of_its_criteria_and_no_other_gate_has() {
        let mut task = task(&["x", "y"]);
        task.criterion_checks = vec![CriterionCheck { criterion: 2, run: "test -e y".to_owned() }];
        let policy = Policy::default();
        let gate = &policy.judging(Some(&task)).gate;
        assert_eq!(gate.checks_for(Some(&task)), ["acceptance 2 (a)"]);
        let check = gate.check("acceptance 2 (a)").unwrap();
        assert_eq!((check.run.as_str(), check.timeout), ("test -e y", policy.gate.timeout));
        assert_eq!(policy.gate.checks_for(None), [] as [&str; 0]);
        assert_eq!(*policy.judging(None), policy);
    }
}
