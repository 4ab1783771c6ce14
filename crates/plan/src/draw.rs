//! A plan as a picture: a tree for a terminal, Graphviz and Mermaid. Pure text
//! in, text out; whoever shows it knows how each task stands.

use std::collections::{BTreeSet, VecDeque};
use std::fmt::Write as _;

use windlass_core::id::TaskId;

use crate::graph::TaskGraph;

/// How a task stands, as a picture shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskMark {
    /// One character before the id.
    pub symbol: char,
    /// One word for those who cannot see it.
    pub word: &'static str,
    pub done: bool,
}

/// Each task once, below the first of those it waits for; named again, with an
/// arrow, below the others. A task with a single follower has it right below,
/// so that a chain stays narrow.
pub fn tree(graph: &TaskGraph<'_>, mark: impl Fn(&TaskId) -> TaskMark) -> String {
    let critical: BTreeSet<usize> = graph.critical_path(|id| mark(id).done).into_iter().collect();
    let label = |at: usize| {
        let task = &graph.tasks[at];
        let title = if task.title == task.id.as_str() { String::new() } else { format!("  {}", task.title) };
        let path = if critical.contains(&at) { "  (critical path)" } else { "" };
        format!("{} {}{title}{path}", mark(&task.id).symbol, task.id)
    };
    let mut drawing = Drawing { graph, drawn: vec![false; graph.tasks.len()], out: String::new() };
    let mut roots: VecDeque<usize> =
        (0..graph.tasks.len()).filter(|at| graph.depends_on[*at].is_empty()).collect();
    while let Some(root) = roots.pop_front() {
        if !drawing.drawn[root] {
            drawing.subtree(root, &label, &mut roots);
        }
    }
    drawing.out
}

/// Deeper than this a subtree is drawn at the left again: a line has an end.
const MAX_DEPTH: usize = 12;

struct Drawing<'a> {
    graph: &'a TaskGraph<'a>,
    drawn: Vec<bool>,
    out: String,
}

/// A line still to be drawn.
struct Pending {
    at: usize,
    /// What stands before its own branch.
    indent: String,
    branch: Branch,
    depth: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Branch {
    Root,
    /// The only follower of the line above.
    Next,
    Middle,
    Last,
}

impl Branch {
    fn before(self) -> &'static str {
        match self {
            Self::Root => "",
            Self::Next => "↓ ",
            Self::Middle => "├─ ",
            Self::Last => "└─ ",
        }
    }

    fn below(self) -> &'static str {
        match self {
            Self::Root | Self::Next => "",
            Self::Middle => "│  ",
            Self::Last => "   ",
        }
    }
}

impl Drawing<'_> {
    fn subtree(&mut self, root: usize, label: &impl Fn(usize) -> String, later: &mut VecDeque<usize>) {
        let mut stack = vec![Pending { at: root, indent: String::new(), branch: Branch::Root, depth: 0 }];
        while let Some(Pending { at, indent, branch, depth }) = stack.pop() {
            self.out.push_str(&indent);
            let again = self.drawn[at] || depth > MAX_DEPTH;
            if !again || branch != Branch::Next {
                self.out.push_str(branch.before());
            }
            if again {
                let arrow = if self.drawn[at] { '↑' } else { '…' };
                _ = writeln!(self.out, "{arrow} {}", self.graph.tasks[at].id);
                if !self.drawn[at] {
                    later.push_front(at);
                }
                continue;
            }
            self.drawn[at] = true;
            self.out.push_str(&label(at));
            self.out.push('\n');
            let below = format!("{indent}{}", branch.below());
            let followers = &self.graph.dependants[at];
            for (number, follower) in followers.iter().enumerate().rev() {
                let branch = match followers.len() {
                    1 => Branch::Next,
                    count if number + 1 == count => Branch::Last,
                    _ => Branch::Middle,
                };
                let depth = if branch == Branch::Next { depth } else { depth + 1 };
                stack.push(Pending { at: *follower, indent: below.clone(), branch, depth });
            }
        }
    }
}

/// The plan in Graphviz's language.
pub fn dot(graph: &TaskGraph<'_>, mark: impl Fn(&TaskId) -> TaskMark) -> String {
    let critical = graph.critical_path(|id| mark(id).done);
    let on_path: BTreeSet<usize> = critical.iter().copied().collect();
    let mut out = "digraph plan {\n  rankdir=LR;\n  node [shape=box];\n".to_owned();
    for (at, task) in graph.tasks.iter().enumerate() {
        let mark = mark(&task.id);
        let text = format!("{} {}\n{}", mark.symbol, task.id, task.title);
        let bold = if on_path.contains(&at) { ", penwidth=2" } else { "" };
        _ = writeln!(out, "  n{at} [label={}, class={}{bold}];", quoted(&text), quoted(mark.word));
    }
    for (on, at, bold) in arrows(graph, &critical) {
        let bold = if bold { " [penwidth=2]" } else { "" };
        _ = writeln!(out, "  n{on} -> n{at}{bold};");
    }
    out.push_str("}\n");
    out
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

/// The plan in Mermaid's language.
pub fn mermaid(graph: &TaskGraph<'_>, mark: impl Fn(&TaskId) -> TaskMark) -> String {
    let critical = graph.critical_path(|id| mark(id).done);
    let mut out = "flowchart LR\n".to_owned();
    for (at, task) in graph.tasks.iter().enumerate() {
        let mark = mark(&task.id);
        let text = format!("{} {}<br>{}", mark.symbol, escaped(task.id.as_str()), escaped(&task.title));
        _ = writeln!(out, "  n{at}[\"{text}\"]:::{}", mark.word);
    }
    for (on, at, bold) in arrows(graph, &critical) {
        _ = writeln!(out, "  n{on} {} n{at}", if bold { "==>" } else { "-->" });
    }
    out
}

/// Mermaid takes `#name;` for a character, and the text for Markdown and HTML.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '"' | '#' | '<' | '>' | '&' | '`' | ';' => _ = write!(out, "#{};", u32::from(c)),
            _ => out.push(c),
        }
    }
    out
}

/// Every arrow, and whether it is one of the critical path.
fn arrows(graph: &TaskGraph<'_>, critical: &[usize]) -> Vec<(usize, usize, bool)> {
    let steps: BTreeSet<(usize, usize)> = critical.windows(2).map(|step| (step[0], step[1])).collect();
    let of_task = |(at, on): (usize, &Vec<usize>)| {
        let arrow = |on: &usize| (*on, at, steps.contains(&(*on, at)));
        on.iter().map(arrow).collect::<Vec<_>>()
    };
    graph.depends_on.iter().enumerate().flat_map(of_task).collect()
}
