//! One Markdown file as one task.

use windlass_core::id::TaskId;
use windlass_plan::{PlanFormat, with_commented_dependencies};

use crate::files::{outline, planned, planned_as, problems};

#[test]
fn a_file_is_a_task_named_by_the_file() {
    let plan = planned(
        "parser.md",
        "---\npriority: 2\nmode: fix\nscope:\n  files_changed: 3\n  lines_written: 400\n  files_read: 0\n  \
         within: [src/**, \"tests/{a,b}.rs\"]\nacceptance:\n  - it works: always\n  - text: no panic\n    \
         check: cargo test --lib\n---\n# Parse it\n",
    );
    assert_eq!(
        outline(&plan),
        "goal: Parse it\n1: parser | Parse it | on [] | 2 | [\"it works: always\", \"no panic\"]\n"
    );
    assert_eq!(plan.format, Some(PlanFormat::Task));
    let task = &plan.tasks[0];
    let mode = task.mode.as_ref().unwrap();
    assert_eq!((mode.value.as_str(), mode.line, mode.column), ("fix", 3, 7));
    let check = task.acceptance[1].check.as_ref().unwrap();
    assert_eq!((check.value.as_str(), check.line, check.column), ("cargo test --lib", 12, 12));
    let scope = &task.scope;
    let limits = [&scope.files_changed, &scope.lines_written, &scope.files_read];
    assert_eq!(limits.map(|limit| limit.as_ref().map(|limit| limit.value)), [Some(3), Some(400), Some(0)]);
    let within: Vec<&str> = scope.within.iter().map(|glob| glob.value.as_str()).collect();
    assert_eq!(within, ["src/**", "tests/{a,b}.rs"]);
}

#[test]
fn what_scope_and_acceptance_do_not_know_is_refused_with_its_place() {
    for (front, told) in [
        (
            "scope: 3",
            "2:1: `scope` must have keys of its own; write the keys of `scope` on lines of their own below it, indented",
        ),
        (
            "scope:\n  files: 3",
            "3:3: unknown key `files`; known keys: files_changed, lines_written, files_read, within",
        ),
        ("scope:\n  file_changed: 3", "3:3: unknown key `file_changed`; did you mean `files_changed`?"),
        (
            "scope:\n  lines_written: -1",
            "3:18: `lines_written` must be a whole number; write a number such as 10; 0 means no limit",
        ),
        ("acceptance:\n  - txt: a", "3:5: unknown key `txt`; did you mean `text`?"),
        ("acceptance:\n  - check: a", "3:5: `text` has no value; give `text` a value or remove the line"),
        (
            "acceptance:\n  - [a]",
            "3:5: an item of `acceptance` must be a text; write one text for each item; put quotes around it if it has `: ` in it",
        ),
        (
            "mode: [fix]",
            "2:1: `mode` takes one value, not a list; write one value on the same line; put quotes around it if it starts with `[`",
        ),
    ] {
        assert_eq!(
            problems("a.md", &format!("---\n{front}\n---\nText.\n")),
            format!("a.md:{told}\n"),
            "{front}"
        );
    }
}

#[test]
fn a_dependency_of_the_only_task_is_none() {
    assert_eq!(
        problems("a.md", "<!-- depends_on: elephant -->\nDo it.\n"),
        "a.md:1:18: task a depends on elephant, which is not in the plan; remove the dependency; one file is one task\n"
    );
}

#[test]
fn boxes_of_a_task_file_are_acceptance_where_the_format_is_given() {
    let text = "# Parse it\n\nAll of it.\n\n## Acceptance\n- [ ] fast\n- [x] right\n";
    let plan = planned_as("parser.md", text, Some(PlanFormat::Task));
    assert_eq!(outline(&plan), "goal: Parse it\n1: parser | Parse it | on [] | 0 | [\"fast\", \"right\"]\n");
    assert_eq!(planned("parser.md", &format!("---\npriority: 1\n---\n{text}")).tasks.len(), 1);
}

#[test]
fn acceptance_of_the_body_adds_to_that_of_the_front_matter() {
    let plan = planned(
        "a.md",
        "---\nacceptance:\n  - text: it is fast\n    check: make bench\n  - it is small\n---\n# A\n\nDo it.\n\n\
         ## Acceptance\n- it is right\n- it is fast\n",
    );
    assert!(outline(&plan).ends_with("[\"it is fast\", \"it is small\", \"it is right\"]\n"), "{plan:?}");
    let checks = plan.tasks[0].acceptance.iter().map(|criterion| criterion.check.is_some());
    assert_eq!(checks.collect::<Vec<_>>(), [true, false, false]);
}

#[test]
fn the_name_of_a_mode_is_no_path() {
    let with = |mode: &str| format!("---\nmode: \"{mode}\"\n---\nText.\n");
    for mode in ["../../../outp", "a/b", "a.b", "a b"] {
        assert_eq!(
            problems("a.md", &with(mode)),
            format!(
                "a.md:2:7: \"{mode}\" is no name of a mode; write implement, explore or fix, or the name of a mode \
                 of yours: letters, digits, `-` and `_`\n"
            )
        );
    }
    assert_eq!(planned("a.md", &with("port_2-größer")).tasks.len(), 1);
}

#[test]
fn front_matter_below_a_blank_line_is_read() {
    let plan = planned("a.md", "\n  \n---\ntitle: Given\npriority: 2\n---\n# A\n");
    assert_eq!(outline(&plan), "goal: Given\n1: a | Given | on [] | 2 | []\n");
    assert_eq!(planned("a.md", "\n---\n\nWords between rules.\n\n---\n").tasks[0].priority, 0);
    assert!(problems("a.md", "\ntext\0\n").starts_with("a.md:2:5: the text has a NUL byte; "));
    assert!(
        problems("a.md", "\n---\npriorty: 1\n---\nText.\n").starts_with("a.md:3:1: unknown key `priorty`")
    );
    let open = problems("a.md", "\n---\npriority: 1\nText.\n");
    assert!(open.starts_with("a.md:2:1: the front matter that starts here is never closed"), "{open}");
}

#[test]
fn other_dependencies_are_written_where_a_comment_names_them() {
    let ids = |names: &[&str]| names.iter().map(|name| TaskId::new(*name)).collect::<Vec<_>>();
    let with = |text: &str, names: &[&str]| with_commented_dependencies(text, &ids(names));
    let text = "\u{feff}---\npriority: 1\n---\n# T\n<!-- why -->\n<!--\nDEPENDS_ON:\n- a\n-->\nend\n";
    let other = "\u{feff}---\npriority: 1\n---\n# T\n<!-- why -->\n<!-- depends_on: b, c -->\nend\n";
    assert_eq!(with(text, &["b", "c"]).as_deref(), Some(other));
    let none = with("# T\n<!-- depends_on: a -->\n", &[]);
    assert_eq!(none.as_deref(), Some("# T\n<!-- depends_on: -->\n"));
    for text in [
        "# T\n",
        "`<!-- depends_on: a -->`\n",
        "<!-- depends_on: a -->\n<!-- depends_on: b -->\n",
        "---\ndepends_on: [a]\n---\n<!-- depends_on: b -->\n",
    ] {
        assert_eq!(with(text, &["c"]), None, "{text}");
    }
}
