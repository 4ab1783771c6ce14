//! Order, levels, the critical path, and pictures of all that.

use windlass_core::id::TaskId;
use windlass_plan::{Planned, PlannedTask, TaskGraph, TaskMark, dot, mermaid, tree};

/// `id priority: dependencies` on each line, in plan order.
fn plan(text: &str) -> Planned {
    let task = |line: &str| {
        let (name, on) = line.split_once(':').unwrap();
        let (id, priority) = name.trim().split_once(' ').unwrap_or((name.trim(), "0"));
        PlannedTask {
            priority: priority.parse().unwrap(),
            depends_on: on.split_whitespace().map(TaskId::new).collect(),
            ..PlannedTask::new(TaskId::new(id), id, "Do it.\n")
        }
    };
    let tasks = text.lines().map(task).collect();
    Planned { tasks, goal: String::new(), format: None, tools: Vec::new() }
}

fn mark(id: &TaskId) -> TaskMark {
    match id.as_str().strip_suffix('!') {
        Some(_) => TaskMark { symbol: '✓', word: "done", done: true },
        None => TaskMark { symbol: '○', word: "open", done: false },
    }
}

fn names(plan: &Planned, at: &[usize]) -> String {
    at.iter().map(|at| plan.tasks[*at].id.as_str()).collect::<Vec<_>>().join(" ")
}

#[test]
fn priority_decides_among_the_tasks_that_are_ready() {
    let plan = plan("a 5:\nb 1: a\nc 3:\nd 3:\ne 0: d");
    let graph = TaskGraph::new(&plan);
    assert_eq!(names(&plan, &graph.order()), "c d e a b");
    assert_eq!(graph.levels(), [0, 1, 0, 0, 1]);
}

#[test]
fn the_critical_path_is_the_longest_chain_of_what_is_left() {
    let path = |text: &str| {
        let plan = plan(text);
        let graph = TaskGraph::new(&plan);
        names(&plan, &graph.critical_path(|id| mark(id).done))
    };
    assert_eq!(path("a:\nb: a\nc: b\nd: a\ne: c d"), "a b c e");
    assert_eq!(path("a!:\nb!: a!\nc: b!\nd:\ne: d"), "d e");
    assert_eq!(path("a!:"), "");
}

#[test]
fn a_tree_has_each_task_once_and_names_it_again_with_an_arrow() {
    let plan = plan("a!:\nb: a!\nc: a!\nd: b c\ne: d\nf:");
    assert_eq!(
        tree(&TaskGraph::new(&plan), mark),
        "✓ a!\n\
         ├─ ○ b  (critical path)\n\
         │  ↓ ○ d  (critical path)\n\
         │  ↓ ○ e  (critical path)\n\
         └─ ○ c\n   ↑ d\n\
         ○ f\n"
    );
}

#[test]
fn a_long_chain_stays_narrow() {
    let text: String = (0..10_000)
        .map(|n| format!("t{n}:{}\n", if n == 0 { String::new() } else { format!(" t{}", n - 1) }))
        .collect();
    let plan = plan(&text);
    let drawn = tree(&TaskGraph::new(&plan), mark);
    assert_eq!(drawn.lines().count(), 10_000);
    assert!(drawn.lines().all(|line| line.chars().count() < 40));
    assert_eq!(TaskGraph::new(&plan).levels()[9_999], 9_999);
}

#[test]
fn a_deep_tree_goes_on_at_the_left() {
    let text: String = (0..60)
        .map(|n| if n < 2 { format!("t{n}:\n") } else { format!("t{n}: t{}\n", (n - 2) / 2 * 2) })
        .collect();
    let plan = plan(&text);
    let drawn = tree(&TaskGraph::new(&plan), mark);
    assert!(drawn.lines().all(|line| line.chars().count() < 80), "{drawn}");
    for task in &plan.tasks {
        let own = format!("○ {}", task.id);
        assert_eq!(
            drawn.lines().filter(|line| line.split("  (").next().unwrap().ends_with(&own)).count(),
            1,
            "{drawn}"
        );
    }
}

#[test]
fn dot_and_mermaid_have_every_task_and_every_arrow() {
    let mut plan = plan("a!:\nb: a!\nc: b");
    plan.tasks[1].title = "say \"hi\" \\ #1 <b>".to_owned();
    let graph = TaskGraph::new(&plan);
    assert_eq!(
        dot(&graph, mark),
        "digraph plan {\n  rankdir=LR;\n  node [shape=box];\n  \
         n0 [label=\"✓ a!\\na!\", class=\"done\"];\n  \
         n1 [label=\"○ b\\nsay \\\"hi\\\" \\\\ #1 <b>\", class=\"open\", penwidth=2];\n  \
         n2 [label=\"○ c\\nc\", class=\"open\", penwidth=2];\n  n0 -> n1;\n  n1 -> n2 [penwidth=2];\n}\n"
    );
    assert_eq!(
        mermaid(&graph, mark),
        "flowchart LR\n  n0[\"✓ a!<br>a!\"]:::done\n  \
         n1[\"○ b<br>say #34;hi#34; \\ #35;1 #60;b#62;\"]:::open\n  n2[\"○ c<br>c\"]:::open\n  \
         n0 --> n1\n  n1 ==> n2\n"
    );
}
