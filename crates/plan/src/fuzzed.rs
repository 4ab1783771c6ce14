//! Any bytes as any kind of plan, and as an agent's proposal of one. A fuzzer calls this, and so do tests.

use std::collections::BTreeSet;
use std::path::Path;

use crate::draw::{TaskMark, dot, mermaid, tree};
use crate::format::{self, PlanFormat};
use crate::front_matter::read_front_matter;
use crate::graph::TaskGraph;
use crate::link::{Frame, Slot, finish};
use crate::place::Placed;
use crate::slug::id_of_file;
use crate::source::{parse, utf8};
use crate::{PlanError, PlanProposal, Planned, ProposedTask, goal, task_file};

/// The first byte chooses the format, and then whether a file tells it itself;
/// what follows is the file. A directory of task files is one text with a line
/// `== name` before each file.
///
/// # Panics
/// Where a reader breaks a promise.
pub fn sources(data: &[u8]) {
    let [choice, bytes @ ..] = data else { return };
    let choice = usize::from(*choice) % (PlanFormat::ALL.len() + 2);
    let Ok(text) = utf8(Path::new("fuzzed"), bytes.to_vec()) else { return };
    let read = match PlanFormat::ALL.get(choice) {
        Some(PlanFormat::Tasks) => directory(&text),
        Some(format) => parse(*format, Path::new(name_of(*format)), &text).map_err(|bad| bad.problems),
        None if choice == PlanFormat::ALL.len() => goal::read(&text).map_err(|error| vec![error]),
        None => {
            ["plan.md", "prd.json", "task.toml"].into_iter().for_each(|name| {
                _ = format::of_file(Path::new(name), &text);
            });
            return;
        }
    };
    match read {
        Ok(planned) => is_a_plan(&planned),
        Err(problems) => are_problems(&problems, &text),
    }
}

/// A planner's answer: what passes becomes task files that say the same, below one directory.
///
/// # Panics
/// Where a promise is broken.
pub fn proposals(data: &[u8]) {
    let Ok(answer) = serde_json::from_slice(data) else { return };
    match PlanProposal::read(&answer) {
        Err(problems) => {
            assert!(!problems.is_empty() && problems.iter().all(|problem| !problem.is_empty()));
        }
        Ok(proposal) => proposal.tasks.iter().for_each(becomes_its_file),
    }
}

fn becomes_its_file(task: &ProposedTask) {
    let name = task.file_name();
    assert!(!name.starts_with('.') && !name.contains(['/', '\0']), "it lies in the directory: {name:?}");
    let written = task.render(None);
    let front = read_front_matter(&written).unwrap_or_else(|fault| panic!("{fault:?} in {written:?}"));
    let listed = |read: &[Placed<String>], asked: &[String]| read.iter().map(|of| &of.value).eq(asked);
    assert_eq!(front.title.as_ref(), Some(&task.title));
    assert!(listed(&front.depends_on, &task.depends_on) && listed(&front.allow, &task.allow));
    assert!(listed(&front.checks, &task.checks));
    assert!(front.acceptance.iter().map(|of| &of.text).eq(&task.acceptance));
    // Whether its text and dependencies make a plan, the reader of task files says.
    let id = id_of_file(Path::new(&name)).unwrap_or_else(|why| panic!("{name:?}: {why:?}"));
    assert_eq!(id, task.task_id());
    let text_slot = task_file::slot(id, Path::new(&name), written.clone());
    match finish(vec![text_slot], Frame::new(PlanFormat::Tasks)) {
        Ok(planned) => is_a_plan(&planned),
        Err(bad) => are_problems(&bad.problems, &written),
    }
}

fn name_of(format: PlanFormat) -> &'static str {
    match format {
        PlanFormat::Tasks | PlanFormat::Task | PlanFormat::Milestones | PlanFormat::Checklist => "plan.md",
        PlanFormat::Prd | PlanFormat::GithubIssues => "plan.json",
        PlanFormat::Codescribe => "plan.toml",
    }
}

fn directory(text: &str) -> Result<Planned, Vec<PlanError>> {
    let slot = |part: &str| {
        let (name, text) = part.split_once('\n').unwrap_or((part, ""));
        let file = Path::new("tasks").join(name.replace('/', "_"));
        match id_of_file(&file) {
            Ok(id) => task_file::slot(id, &file, text.to_owned()),
            Err(why) => Slot::unread(None, file.clone(), vec![PlanError::BadId { file, why }]),
        }
    };
    let slots = text.split("== ").skip(1).map(slot).collect();
    finish(slots, Frame::new(PlanFormat::Tasks)).map_err(|bad| bad.problems)
}

fn is_a_plan(planned: &Planned) {
    let ids: BTreeSet<_> = planned.tasks.iter().map(|task| task.id.clone()).collect();
    assert_eq!(ids.len(), planned.tasks.len(), "every task has an id of its own");
    for task in &planned.tasks {
        assert!(!task.title.contains(char::is_control), "a title is one line");
        assert!(!task.text.trim().is_empty(), "a task says something");
        assert!(
            task.depends_on.iter().all(|id| ids.contains(id) && *id != task.id),
            "dependencies are there"
        );
    }
    let graph = TaskGraph::new(planned);
    assert_eq!(graph.order().len(), planned.tasks.len(), "every task becomes ready");
    let mark = |_: &_| TaskMark { symbol: '○', word: "open", done: false };
    let drawn = tree(&graph, mark);
    assert!(drawn.lines().count() >= planned.tasks.len(), "every task is drawn");
    assert!(dot(&graph, mark).ends_with("}\n") && mermaid(&graph, mark).starts_with("flowchart"));
}

fn are_problems(problems: &[PlanError], text: &str) {
    assert!(!problems.is_empty(), "a refusal has a reason");
    for problem in problems {
        let shown = problem.to_string();
        assert!(!shown.is_empty() && !problem.remedy().is_empty(), "a problem has a message and a remedy");
        let line = shown.split(':').nth(1).and_then(|line| line.parse().ok()).unwrap_or(1);
        assert!(line <= text.split('\n').count() + 1, "a problem lies in the file: {shown}");
    }
}
