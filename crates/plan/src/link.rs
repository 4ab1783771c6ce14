//! From what each part of a source says to a plan: every dependency is found
//! or named, and so is everything else that is wrong.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use windlass_core::id::TaskId;
use windlass_core::nearest::nearest;
use windlass_core::task::goal_of_titles;

use crate::error::PlanError;
use crate::format::PlanFormat;
use crate::graph::circles;
use crate::place::{FilePosition, Placed};
use crate::{Planned, PlannedTask};

pub const MAX_TASKS: usize = 10_000;

/// A suggestion is looked for among all tasks, so not for every one of many faults.
const MAX_SUGGESTIONS: usize = 20;

/// One task of a source, as far as it could be read.
pub(crate) struct Slot {
    /// None where not even that could be read.
    pub id: Option<TaskId>,
    /// Where the task, or its id, is written.
    pub at: FilePosition,
    pub task: Option<PlannedTask>,
    /// What it depends on, as it is written.
    pub links: Vec<Placed<String>>,
    pub problems: Vec<PlanError>,
    /// Where it should say what is to be done, and does not.
    pub silent_at: Option<FilePosition>,
}

impl Slot {
    pub fn new(at: FilePosition, mut task: PlannedTask) -> Self {
        task.file = Some(at.file.clone());
        task.line = at.line;
        if task.title.is_empty() {
            task.title = task.id.to_string();
        }
        let id = Some(task.id.clone());
        Self { id, at, task: Some(task), links: Vec::new(), problems: Vec::new(), silent_at: None }
    }

    /// A task of which at most the id is known.
    pub fn unread(id: Option<TaskId>, file: PathBuf, problems: Vec<PlanError>) -> Self {
        let at = FilePosition { file, line: 1, column: 1 };
        Self { id, at, task: None, links: Vec::new(), problems, silent_at: None }
    }
}

/// What a plan is besides its tasks.
pub(crate) struct Frame {
    pub format: PlanFormat,
    pub goal: Option<String>,
    pub tools: Vec<Placed<String>>,
    /// What is wrong outside of the tasks.
    pub problems: Vec<PlanError>,
}

impl Frame {
    pub fn new(format: PlanFormat) -> Self {
        Self { format, goal: None, tools: Vec::new(), problems: Vec::new() }
    }
}

/// A plan that was refused.
#[derive(Debug)]
pub struct BadPlan {
    /// Every problem, in plan order.
    pub problems: Vec<PlanError>,
    /// What could be read of it nevertheless, so that more can be found in the same look.
    pub readable: Planned,
}

impl From<Vec<PlanError>> for BadPlan {
    fn from(problems: Vec<PlanError>) -> Self {
        let readable = Planned { tasks: Vec::new(), goal: String::new(), format: None, tools: Vec::new() };
        Self { problems, readable }
    }
}

/// The plan, or every problem in plan order.
pub(crate) fn finish(mut slots: Vec<Slot>, frame: Frame) -> Result<Planned, BadPlan> {
    find_equal_ids(&mut slots, frame.format);
    let edges = link(&mut slots, frame.format);
    for circle in circles(&edges) {
        let (first, second) = (circle[0], circle[1 % circle.len()]);
        let written = edges[first].iter().find(|edge| edge.on == second);
        let place = written.map_or_else(|| slots[first].at.clone(), |edge| edge.place.clone());
        let cycle = circle.iter().filter_map(|at| slots[*at].id.clone()).collect();
        slots[first].problems.push(PlanError::Cycle { place, cycle });
    }
    let mut problems = frame.problems;
    let mut tasks = Vec::new();
    for (slot, edges) in slots.into_iter().zip(edges) {
        problems.extend(slot.problems);
        problems.extend(slot.silent_at.map(|place| PlanError::SaysNothing { place }));
        if let Some(mut task) = slot.task {
            task.depends_on = edges.into_iter().map(|edge| edge.id).collect();
            tasks.push(task);
        }
    }
    let titles = || tasks.iter().map(|task| task.title.as_str());
    let goal = frame.goal.unwrap_or_else(|| goal_of_titles(titles()));
    let planned = Planned { tasks, goal, format: Some(frame.format), tools: frame.tools };
    if problems.is_empty() { Ok(planned) } else { Err(BadPlan { problems, readable: planned }) }
}

/// One dependency of a task.
pub(crate) struct Edge {
    /// Which task of the plan it is on.
    pub on: usize,
    id: TaskId,
    place: FilePosition,
}

fn find_equal_ids(slots: &mut [Slot], format: PlanFormat) {
    let mut seen: BTreeMap<String, FilePosition> = BTreeMap::new();
    for slot in slots {
        let Some(id) = slot.id.clone() else { continue };
        let Some(first) = seen.insert(id.as_str().to_lowercase(), slot.at.clone()) else { continue };
        let place = slot.at.clone();
        slot.problems.push(match format {
            PlanFormat::Tasks => PlanError::DuplicateId { first: first.file, second: place.file },
            PlanFormat::Task
            | PlanFormat::Milestones
            | PlanFormat::Prd
            | PlanFormat::Codescribe
            | PlanFormat::Checklist
            | PlanFormat::GithubIssues => PlanError::SameId { place, id, first: first.line },
        });
    }
}

/// Finds what each written dependency names: an id, with or without `.md`.
fn link(slots: &mut [Slot], format: PlanFormat) -> Vec<Vec<Edge>> {
    let ids: Vec<Option<TaskId>> = slots.iter().map(|slot| slot.id.clone()).collect();
    let named = |(at, id): (usize, &Option<TaskId>)| id.clone().map(|id| (id, at));
    let index: BTreeMap<TaskId, usize> = ids.iter().enumerate().rev().filter_map(named).collect();
    let find = |name: &str| index.get_key_value(&TaskId::new(name)).map(|(id, at)| (*at, id.clone()));
    let mut suggestions = 0;
    let mut all = Vec::with_capacity(slots.len());
    for (own, slot) in slots.iter_mut().enumerate() {
        let mut edges: Vec<Edge> = Vec::new();
        let mut seen: BTreeSet<TaskId> = BTreeSet::new();
        let Some(task) = slot.id.clone() else {
            all.push(edges);
            continue;
        };
        for written in std::mem::take(&mut slot.links) {
            let bare = written.value.strip_suffix(".md").unwrap_or(&written.value);
            let found = find(&written.value).or_else(|| find(bare));
            let id = found.as_ref().map_or_else(|| TaskId::new(bare), |(_, id)| id.clone());
            if !seen.insert(id.clone()) {
                continue;
            }
            let (place, task) = (written.in_file(&slot.at.file), task.clone());
            match found {
                Some((on, _)) if on == own => slot.problems.push(PlanError::DependsOnItself { place, task }),
                Some((on, _)) => edges.push(Edge { on, id, place }),
                None => {
                    // The number of an issue is never nearly that of another.
                    let is_number = format == PlanFormat::GithubIssues && bare.starts_with("issue-");
                    suggestions += 1;
                    let others = index.keys().filter(|other| **other != task).map(TaskId::as_str);
                    let nearest = nearest(
                        bare,
                        others.take(if is_number || suggestions > MAX_SUGGESTIONS { 0 } else { MAX_TASKS }),
                    );
                    let (dependency, nearest) = (bare.to_owned(), nearest.map(TaskId::new));
                    slot.problems.push(PlanError::MissingDependency {
                        place,
                        task,
                        dependency,
                        nearest,
                        format,
                    });
                }
            }
        }
        all.push(edges);
    }
    all
}
