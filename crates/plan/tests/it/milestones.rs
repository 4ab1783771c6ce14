//! Documents with section markers.

use windlass_plan::{PlanFormat, Planned};

use crate::files::{outline, planned, problems, problems_as};

const FORGE: &str = "# Objective

Parse durations everywhere.
Loop Name: durations

<!-- forge-section -->
## Phase 1: Lexer

### Files
- src/lexer.rs

### Edits
- Add the tokens.

### Acceptance Criteria
- [ ] every unit is a token
- [ ] an unknown unit is an error

### Verification
```sh
cargo test lexer
```

<!-- forge-section -->
## Phase 2: Parser

Like this:

```markdown
<!-- forge-section -->
## Not a phase
```

### Acceptance Criteria
- `1h30m` is 90 minutes

## Decisions
- No dependency for this.

## Conventions
- Errors name the column.
";

#[test]
fn a_forge_plan_is_a_chain_of_its_sections() {
    let plan = planned("PLAN.md", FORGE);
    assert_eq!(plan.format, Some(PlanFormat::Milestones));
    assert_eq!(
        outline(&plan),
        "goal: Parse durations everywhere.\n\
         6: phase-1-lexer | Phase 1: Lexer | on [] | 0 | [\"every unit is a token\", \"an unknown unit is an error\"]\n\
         24: phase-2-parser | Phase 2: Parser | on [\"phase-1-lexer\"] | 0 | [\"`1h30m` is 90 minutes\"]\n"
    );
    let first = &plan.tasks[0];
    assert_eq!(first.files, ["src/lexer.rs"]);
    assert_eq!(first.edits, ["Add the tokens."]);
    assert_eq!(first.verification, ["cargo test lexer"]);
    assert!(plan.tasks[1].text.starts_with("## Phase 2: Parser\n\nLike this:\n"), "{}", plan.tasks[1].text);
    assert!(plan.tasks[1].text.contains("## Not a phase"), "code is text");
}

#[test]
fn what_is_about_all_sections_is_told_with_each() {
    for task in planned("PLAN.md", FORGE).tasks {
        let (_, about) = task.text.split_once("About the whole plan").unwrap();
        for said in ["Parse durations everywhere.", "No dependency for this.", "Errors name the column."] {
            assert!(about.contains(said), "{}: {about}", task.id);
        }
    }
}

#[test]
fn own_markers_work_at_any_level_and_name_further_dependencies() {
    let plan = planned(
        "plan.md",
        "<!-- windlass-task -->\n# One\n## Verification\n- run it\n<!--windlass-task-->\n# Two\nText.\n\
         <!-- windlass-task -->\n# Three\n<!-- depends_on: one -->\nText.\n",
    );
    assert_eq!(
        outline(&plan),
        "goal: 3 tasks, from “One” to “Three”\n1: one | One | on [] | 0 | []\n\
         5: two | Two | on [\"one\"] | 0 | []\n8: three | Three | on [\"one\", \"two\"] | 0 | []\n"
    );
    assert_eq!(plan.tasks[0].verification, ["run it"]);
}

fn sections(count: usize) -> Planned {
    let section = |n| format!("<!-- forge-section -->\n## Phase {n}\nDo part {n}.\n");
    planned("PLAN.md", &(1..=count).map(section).collect::<String>())
}

#[test]
fn no_section_is_dropped_however_many_there_are() {
    for count in [24, 40, 1_000] {
        let plan = sections(count);
        assert_eq!(plan.tasks.len(), count);
        assert_eq!(plan.tasks[count - 1].depends_on[0].as_str(), format!("phase-{}", count - 1));
    }
}

#[test]
fn bad_documents_are_refused_with_place_and_remedy() {
    for (text, told) in [
        (
            "<!-- windlass-task -->\n<!-- windlass-task -->\n## Two\nText.\n",
            "p.md:1:1: the task says nothing; write in p.md what is to be done, or delete it\n",
        ),
        (
            "## One <!-- windlass-task -->\nText.\n",
            "p.md:1:8: the marker is not alone on its line; put it on a line of its own, before the heading of the section\n",
        ),
        (
            "<!-- windlass_task -->\n## One\nText.\n",
            "p.md:1:1: `windlass_task` is not a marker; did you mean `<!-- windlass-task -->`?\n",
        ),
        (
            "<!-- windlass-task\n## One\nText.\n<!-- windlass-task -->\n## Two\nText.\n",
            "p.md:1:1: the marker that starts here is never closed; close it with `-->` on the same line\n",
        ),
        (
            "<!-- windlass-task: one -->\n## One\nText.\n",
            "p.md:1:1: a marker has nothing but its name; write `<!-- windlass-task -->`; the heading below it gives the title and the id\n",
        ),
        (
            "<!-- forge-section:start -->\n## One\nText.\n<!-- forge-section:end -->\n",
            "p.md:1:1: `forge-section:start` marks no section: forge reads only `forge-section`; write `<!-- forge-section -->` before each section\n",
        ),
        (
            "<!-- windlass-task -->\n## One\n### Files\n### Edits\n- a\n",
            "p.md:3:1: there is nothing under “Files”; write what belongs there, or remove the heading\n",
        ),
        (
            "<!-- windlass-task -->\n## One\nA.\n<!-- windlass-task -->\n## one\nB.\n",
            "p.md:4:1: two tasks have the id one, the first on line 1; give one of them another name; upper and lower case are the same\n",
        ),
        (
            "<!-- windlass-task -->\n## One\n<!-- depends_on: two -->\n<!-- windlass-task -->\n## Two\nB.\n",
            "p.md:3:18: tasks depend on one another in a circle: one → two → one; remove one of these dependencies\n",
        ),
    ] {
        assert_eq!(problems("p.md", text), told, "{text}");
    }
    assert_eq!(
        problems_as("p.md", "```\n<!-- windlass-task -->\n```\n", Some(PlanFormat::Milestones)),
        "p.md: there is no task in this file; put a line `<!-- windlass-task -->` before each section that is a task\n"
    );
}

#[test]
fn a_preamble_that_would_fill_the_memory_is_refused() {
    let section = |n| format!("<!-- windlass-task -->\n## S{n}\nText.\n");
    let text = "word ".repeat(20_000) + "\n" + &(0..1_000).map(section).collect::<String>();
    assert_eq!(
        problems("p.md", &text),
        "p.md: what is said about all 1000 tasks makes more than 64 MiB; \
         shorten the text outside of the tasks, and let it name the files that hold the rest\n"
    );
}

/// A marker that a fence or a comment takes in would be a task that vanished.
#[test]
fn a_marker_that_something_never_closed_hides_is_a_fault() {
    let two = "<!-- windlass-task -->\n## A\nDo a.\nHERE\n\n<!-- windlass-task -->\n## B\nDo b.\n";
    let with = |opening: &str| two.replace("HERE", opening);
    let fence = "p.md:4:1: the fence that starts here is never closed: it hides the marker on line 7; \
                 close it before line 7 with a line that has only the marks it starts with\n";
    let comment = "p.md:4:1: the comment that starts here is never closed: it hides the marker on line 6; \
                   close it with `-->` before line 6\n";
    assert_eq!(problems("p.md", &with("```sh\nmake a")), fence);
    assert_eq!(problems("p.md", &with("~~~\nmake a\n")).replace("line 8", "line 7"), fence);
    assert_eq!(problems("p.md", &with("<!-- TODO: ask Bob")), comment);
    // The only marker there is.
    assert_eq!(problems("p.md", "a\n\nb\n<!-- ask Bob\n\n<!-- forge-section -->\n## A\nDo a.\n"), comment);
    // The end of the second fence closes the first.
    let within = with("```\nnever closed\n") + "```sh\nmake b\n```\n";
    assert_eq!(problems("p.md", &within).replace("line 8", "line 7"), fence);
}

#[test]
fn a_marker_inside_of_what_is_closed_is_text() {
    for closed in [
        "```\n<!-- windlass-task -->\n```",
        "````\n<!-- windlass-task -->\n```sh\n````",
        "~~~\n<!-- windlass-task -->\n```\n~~~",
        "- a\n  ```\n  <!-- windlass-task -->\n  ```",
        "    <!-- windlass-task -->",
        "<!-- a note -->",
    ] {
        let plan = planned("p.md", &format!("<!-- windlass-task -->\n## A\n\n{closed}\n\nText.\n"));
        assert_eq!(plan.tasks.len(), 1, "{closed}");
    }
}

#[test]
fn the_first_heading_that_names_no_part_is_the_title() {
    let section = |text: &str| planned("p.md", &format!("<!-- windlass-task -->\n{text}\nText.\n"));
    for (text, title) in [
        ("# Phase 1: Lexer\n\n## Background", "Phase 1: Lexer"),
        ("# Phase 1: Lexer\n\n## Rules of it", "Phase 1: Lexer"),
        ("## Background:\n\n## Lexer", "Lexer"),
        ("### Files\n- a\n\n## Lexer", "Lexer"),
        ("## Background", "Background"),
        ("Nothing.", "Nothing."),
    ] {
        assert_eq!(section(text).tasks[0].title, title, "{text}");
    }
}

#[test]
fn a_section_without_a_title_is_the_same_task_whatever_stands_above_it() {
    let ids = |text: &str| {
        let tasks = planned("p.md", text).tasks;
        tasks.into_iter().map(|task| (task.id.to_string(), task.title)).collect::<Vec<_>>()
    };
    let sections = "<!-- windlass-task -->\n- Build the lexer,\n  all of it.\n<!-- windlass-task -->\n## !!!\n\n\
                    Build the lexer,\nagain.\n<!-- windlass-task -->\n### Files\n- a.rs\n";
    let named = [("build-the-lexer", "Build the lexer,"), ("build-the-lexer-2", "!!!"), ("a-rs", "a.rs")]
        .map(|(id, title)| (id.to_owned(), title.to_owned()));
    assert_eq!(ids(sections), named);
    assert_eq!(ids(&format!("# Plan\n\nA line more.\n\n{sections}")), named);
}

#[test]
fn what_is_said_of_all_tasks_is_told_with_each_and_is_not_its_own_text() {
    let sections = "<!-- windlass-task -->\n## One\nText.\n<!-- windlass-task -->\n## Two\nMore.\n";
    let alone = planned("p.md", sections);
    let with = planned("p.md", &format!("# Plan\n\n{sections}\n## Decisions\n- one more\n"));
    for (alone, with) in alone.tasks.iter().zip(&with.tasks) {
        assert!(with.text.contains("- one more") && !alone.text.contains("- one more"), "{}", with.text);
        assert_eq!((alone.own_text.as_deref(), with.own_text.as_ref()), (None, Some(&alone.text)));
    }
}
