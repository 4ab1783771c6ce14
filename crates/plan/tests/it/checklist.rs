//! Boxes to check, and ralphex's plans.

use windlass_plan::PlanFormat;

use crate::files::{outline, planned, planned_as, problems, problems_as};

#[test]
fn every_outermost_box_is_a_task() {
    let plan = planned(
        "TODO.md",
        "# Durations\n\n- [x] Write the lexer\n- [ ] Write the parser <!-- depends_on: write-the-lexer -->\n  \
         - [ ] `1h30m` is 90 minutes\n  - [x] errors\n\n## Later\n* [ ] Document it\n",
    );
    assert_eq!(plan.format, Some(PlanFormat::Checklist));
    assert_eq!(
        outline(&plan),
        "goal: Durations\n\
         3: write-the-lexer | Write the lexer | on [] | 0 | [] | done\n\
         4: write-the-parser | Write the parser | on [\"write-the-lexer\"] | 0 | [\"`1h30m` is 90 minutes\", \"errors\"]\n\
         9: document-it | Document it | on [] | 0 | []\n"
    );
    assert!(plan.tasks[0].text.contains("About the whole plan"), "the headings are told with each");
}

#[test]
fn a_box_is_told_the_headings_it_stands_below() {
    let plan = planned(
        "TODO.md",
        "# To do\n\n- [ ] First\n\n## Backend\n- [ ] Add tests\n### API\n- [ ] Document it\n\n## Frontend\n- [ ] Style it\n",
    );
    let told = |at: usize| plan.tasks[at].text.split_once("it stands below: ").map(|(_, path)| path.trim());
    assert_eq!([0, 1, 2, 3].map(told), [None, Some("Backend"), Some("Backend / API"), Some("Frontend")]);
    let own = plan.tasks[1].own_text.as_deref();
    assert_eq!(own, Some("- [ ] Add tests\n"), "what was asked for is the same below another heading");
}

#[test]
fn boxes_below_a_plain_item_are_tasks_too() {
    let plan =
        planned_as("t.md", "Some words.\n\n- Group\n  - [ ] one\n  - [ ] two\n", Some(PlanFormat::Checklist));
    assert_eq!(plan.tasks.iter().map(|task| task.id.as_str()).collect::<Vec<_>>(), ["one", "two"]);
    assert!(plan.tasks[1].text.contains("Some words."));
}

#[test]
fn a_plan_of_ralphex_has_its_tasks_under_headings() {
    let plan = planned(
        "plan.md",
        "# Plan: durations\n\n## Overview\nParse them.\n\n## Validation Commands\n- `cargo test`\n- `cargo clippy`\n\n\
         ## Implementation\n\n### Task 1: Lexer\n- [x] tokens\n- [x] tests\n\n### Task 2: Parser\nWith care.\n\n- [x] numbers\n- [ ] units\n\n\
         ### Iteration 2b: Docs\n- [ ] write\n\n```\n- [ ] an example\n```\n\n## Success criteria\n- [ ] all is well\n",
    );
    assert_eq!(
        outline(&plan),
        "goal: Plan: durations\n\
         12: task-1 | Lexer | on [] | 0 | [\"tokens\", \"tests\"] | done\n\
         16: task-2 | Parser | on [] | 0 | [\"numbers\", \"units\"]\n\
         22: task-2b | Docs | on [] | 0 | [\"write\"]\n"
    );
    assert_eq!(plan.tasks[1].verification, ["cargo test", "cargo clippy"]);
    assert!(plan.tasks[1].text.starts_with("### Task 2: Parser\nWith care.\n"));
    assert!(plan.tasks[1].text.contains("all is well"), "what is outside of the tasks is told with each");
}

#[test]
fn bad_boxes_are_refused_with_place_and_remedy() {
    for (text, told) in [
        (
            "- [x] a\n  - [ ] b\n",
            "c.md:1:1: this is checked, but the box below it on line 2 is not; check the box below it, or clear this one\n",
        ),
        (
            "- [ ] a\n- [] b\n",
            "c.md:2:1: `- [] b` is not a box; write `- [ ] text`, or `- [x] text` for what is done\n",
        ),
        (
            "- [ ] a\n- [ ]\n",
            "c.md:2:1: the task says nothing; write in c.md what is to be done, or delete it\n",
        ),
        (
            "- [ ] a\n\n-[ ] b\n",
            "c.md:3:1: `-[ ] b` is not a box; write `- [ ] text`, or `- [x] text` for what is done\n",
        ),
        (
            "- [ ] a\n- [ ] A!\n",
            "c.md:2:1: two tasks have the id a, the first on line 1; give one of them another name; upper and lower case are the same\n",
        ),
        (
            "# Only\n\nText.\n",
            "c.md: there is no task in this file; write one item `- [ ] what is to be done` for each task\n",
        ),
        (
            "### Task 1\n### Task 2: b\n- [ ] x\n",
            "c.md:1:1: the task says nothing; write in c.md what is to be done, or delete it\n",
        ),
    ] {
        assert_eq!(problems_as("c.md", text, Some(PlanFormat::Checklist)), told, "{text}");
    }
    assert_eq!(
        problems("c.md", "- [ ] a <!-- depends_on: b -->\n- [ ] b <!-- depends_on: a -->\n"),
        "c.md:1:26: tasks depend on one another in a circle: a → b → a; remove one of these dependencies\n"
    );
}

#[test]
fn headings_of_ralphex_are_read_however_they_are_written() {
    let plan = planned(
        "plan.md",
        "# Plan\n\n### Task 1: A\n- [ ] a\n\n### Task 2 - B\n- [ ] b\n\n## Task 3: C\n- [ ] c\n\n### task 4. D\n- [ ] d\n\n\
         #### TASK #5 – E\n- [ ] e\n\n## Success criteria\n- [ ] all is well\n",
    );
    assert_eq!(
        outline(&plan),
        "goal: Plan\n\
         3: task-1 | A | on [] | 0 | [\"a\"]\n6: task-2 | B | on [] | 0 | [\"b\"]\n\
         9: task-3 | C | on [] | 0 | [\"c\"]\n12: task-4 | D | on [] | 0 | [\"d\"]\n\
         15: task-5 | E | on [] | 0 | [\"e\"]\n"
    );
    let grouped = planned(
        "plan.md",
        "## Task 1: All of it\nText.\n### Task 1.1: A\n- [ ] a\n### Task 1.2: B\n- [ ] b\n",
    );
    assert_eq!(grouped.tasks.len(), 2, "a heading above others, without boxes, is none");
}

#[test]
fn a_heading_that_is_nearly_one_of_a_task_is_a_fault() {
    let text = "### Task 1: A\n- [ ] a\n\n### Task three: C\n- [ ] c\n\n### Task 4 D\n- [ ] d\n\n### Task list\n\n### Tasks\n";
    assert_eq!(
        problems("p.md", text),
        "p.md:4:1: `Task three: C` is nearly the heading of a task; write `### Task 2: C`, or another word than “Task” at its start\n\
         p.md:7:1: `Task 4 D` is nearly the heading of a task; write `### Task 4: D`, or another word than “Task” at its start\n"
    );
}

#[test]
fn a_box_that_something_never_closed_hides_is_a_fault() {
    assert_eq!(
        problems("p.md", "- [ ] a\n\n```sh\nmake a\n\n- [ ] b\n"),
        "p.md: this can be read as `task` and as `checklist`; say which it is: plan.format = \"task\" or plan.format = \"checklist\"\n"
    );
    for (text, told) in [
        (
            "- [ ] a\n\n```sh\nmake a\n\n- [ ] b\n",
            "p.md:3:1: the fence that starts here is never closed: it hides what is on line 6; close it before line 6 with a line that has only the marks it starts with\n",
        ),
        (
            "- [ ] a\n\n<!-- later\n\n- [ ] b <!-- depends_on: a -->\n",
            "p.md:3:1: the comment that starts here is never closed: it hides what is on line 5; close it with `-->` before line 5\n",
        ),
    ] {
        assert_eq!(problems_as("p.md", text, Some(PlanFormat::Checklist)), told, "{text}");
    }
    let commented = planned("p.md", "- [ ] a\n\n<!--\n- [ ] b\n-->\n");
    assert_eq!(commented.tasks.len(), 1, "what is in a comment was taken out on purpose");
}

#[test]
fn tasks_right_below_the_validation_commands_are_no_commands() {
    let plan = planned(
        "plan.md",
        "# Plan\n\n## Validation Commands\n- `cargo test`\n- `a` and then `b`\n- run `c`\n\n### Task 1: A\n- [ ] write `x`\n\n\
         ### Task 2: B\n- [ ] `y` is 1\n",
    );
    for task in &plan.tasks {
        assert_eq!(task.verification, ["cargo test", "`a` and then `b`", "run `c`"], "{}", task.id);
    }
}

#[test]
fn a_misspelt_task_is_no_part_of_the_one_before() {
    let text =
        "### Task 1: A\n- [ ] a\n\n### Tasks 2: B\n- [ ] b\n\n### Tsak 3: C\n- [ ] c\n\n### Step 4: D\n";
    assert_eq!(
        problems("p.md", text),
        "p.md:4:1: `Tasks 2: B` is nearly the heading of a task; write `### Task 2: B`, or another word than “Task” at its start\n\
         p.md:7:1: `Tsak 3: C` is nearly the heading of a task; write `### Task 3: C`, or another word than “Task” at its start\n"
    );
}
