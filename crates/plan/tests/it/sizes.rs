//! Ten times the plan costs about ten times the work. The processor's time is
//! compared, with room for a busy machine: what is quadratic costs a hundred times.

use rustix::time::{ClockId, clock_gettime};
use windlass_plan::{PlanFormat, TaskGraph, TaskMark, tree};

use crate::files::{planned_as, problems_as};

fn stories(count: usize) -> String {
    let story = |n: usize| {
        let on: Vec<String> =
            [1, 7, 31].iter().filter(|d| **d <= n).map(|d| format!("\"US-{}\"", n - d)).collect();
        format!("{{\"id\": \"US-{n}\", \"title\": \"Story {n}\", \"dependsOn\": [{}]}}", on.join(","))
    };
    format!("{{\"userStories\": [{}]}}", (0..count).map(story).collect::<Vec<_>>().join(","))
}

fn sections(count: usize) -> String {
    (0..count)
        .map(|n| format!("<!-- windlass-task -->\n## Part {n}\n\n### Files\n- a{n}\n\nText `x`.\n\n"))
        .collect()
}

/// The nanoseconds of the shortest of a few runs.
fn cost(format: PlanFormat, text: &str) -> i64 {
    let now = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        time.tv_sec * 1_000_000_000 + time.tv_nsec
    };
    let once = || {
        let start = now();
        let plan = planned_as("plan.any", text, Some(format));
        let graph = TaskGraph::new(&plan);
        let drawn = tree(&graph, |_| TaskMark { symbol: '○', word: "open", done: false });
        assert!(drawn.len() > plan.tasks.len() && graph.levels().len() == plan.tasks.len());
        now() - start
    };
    (0..3).map(|_| once()).min().unwrap()
}

#[test]
fn ten_times_the_tasks_cost_about_ten_times_as_much() {
    for (format, make) in [
        (PlanFormat::Prd, stories as fn(usize) -> String),
        (PlanFormat::Milestones, sections as fn(usize) -> String),
    ] {
        let (small, large) = (cost(format, &make(1_000)), cost(format, &make(10_000)));
        assert!(large < small * 40, "{format}: {small} ns for 1000 tasks, {large} ns for 10000");
    }
}

#[test]
fn one_task_too_many_is_refused_and_none_is_cut() {
    let items = |count: usize| (0..count).map(|n| format!("- [ ] item {n}\n")).collect::<String>();
    let issues = |count: usize| {
        let issue = |n| format!("{{\"number\": {n}, \"title\": \"T\"}}");
        format!("[{}]", (0..count).map(issue).collect::<Vec<_>>().join(","))
    };
    for (format, make) in [
        (PlanFormat::Prd, &stories as &dyn Fn(usize) -> String),
        (PlanFormat::Milestones, &sections),
        (PlanFormat::Checklist, &items),
        (PlanFormat::GithubIssues, &issues),
    ] {
        assert_eq!(planned_as("plan.any", &make(10_000), Some(format)).tasks.len(), 10_000, "{format}");
        assert_eq!(
            problems_as("plan.any", &make(10_001), Some(format)),
            "plan.any: 10001 tasks are more than the 10000 a plan may have; split the plan over several loops\n"
        );
    }
}
