//! Which kind of plan a source is: its name and its marks tell, or the operator.

use std::fs;

use windlass_plan::{PlanError, PlanFormat, check, read};

use crate::files::{problems, problems_as, project, shown};

#[test]
fn a_source_is_what_is_there_and_else_a_sentence() {
    let dir = project("== PLAN.md\n## Section\n== notes.txt\nhm\n");
    fs::create_dir(dir.path().join("my tasks")).unwrap();
    fs::write(dir.path().join("my tasks/a.md"), "# Do a\n").unwrap();
    let read = |source| read(source, dir.path(), None);
    assert_eq!(read("my tasks").unwrap().tasks[0].title, "Do a");
    assert_eq!(read("my tasks").unwrap().format, Some(PlanFormat::Tasks));
    assert_eq!(read(" make it fast ").unwrap().goal, "make it fast");
    assert_eq!(read(" make it fast ").unwrap().format, None);
    assert_eq!(read("PLAN.md").unwrap().tasks[0].id.as_str(), "PLAN");
    assert!(matches!(read("notes.txt"), Err(PlanError::UnknownFormat { .. })));
    assert!(matches!(read("task/"), Err(PlanError::DirectoryMissing { .. })));
    assert!(matches!(read("prd.json"), Err(PlanError::FileMissing { .. })));
    assert!(matches!(read("  "), Err(PlanError::NoSource)));
}

#[test]
fn a_file_that_could_be_two_kinds_is_refused_with_both() {
    let remedy = |a, b| format!("say which it is: plan.format = \"{a}\" or plan.format = \"{b}\"");
    for (text, first, second) in [
        ("# Parse it\n\nAll of it.\n\n- [ ] one\n", "task", "checklist"),
        ("# Parse it\n## Acceptance\n- [ ] one\n", "task", "checklist"),
        ("# T\n- [ ] one\n- two\n", "task", "checklist"),
        ("<!-- windlass-task -->\n### Task 1: a\n- [ ] b\n", "milestones", "checklist"),
        ("---\npriority: 1\n---\n<!-- windlass-task -->\n## A\n", "milestones", "task"),
        ("---\npriority: 1\n---\n### Task 1: a\n- [ ] b\n", "checklist", "task"),
    ] {
        assert_eq!(
            problems("p.md", text),
            format!("p.md: this can be read as `{first}` and as `{second}`; {}\n", remedy(first, second)),
            "{text}"
        );
    }
}

#[test]
fn a_format_that_is_given_is_not_looked_for() {
    let dir = project("== a.txt\nDo it.\n");
    assert_eq!(read("a.txt", dir.path(), Some(PlanFormat::Task)).unwrap().tasks[0].id.as_str(), "a.txt");
    for (source, format, told) in [
        (
            ".",
            PlanFormat::Prd,
            ".: is a directory, and a plan of format `prd` is a file; name a file, or set plan.format = \"tasks\"\n",
        ),
        (
            "a.txt",
            PlanFormat::Tasks,
            "a.txt: is a file, and a plan of format `tasks` is a directory; name the directory of the task files, or set plan.format to another format\n",
        ),
        (
            "no such",
            PlanFormat::Prd,
            "no such: there is no such file; set plan.source to where the plan is; a goal is given as windlass run \"what is to be done\"\n",
        ),
        (
            "no such",
            PlanFormat::Tasks,
            "no such: there is no such directory; create no such with one .md file for each task, or set plan.source to where they are\n",
        ),
    ] {
        assert_eq!(shown(&check(source, dir.path(), Some(format)).unwrap_err(), dir.path()), told);
    }
}

#[test]
fn every_format_has_a_name_that_is_read_back() {
    for format in PlanFormat::ALL {
        assert_eq!(format.to_string().parse(), Ok(format));
    }
    let error = "milestone".parse::<PlanFormat>().unwrap_err();
    assert_eq!(
        format!("{error}; {}", error.remedy()),
        "there is no plan format \"milestone\"; did you mean `milestones`?"
    );
    let error = "yaml".parse::<PlanFormat>().unwrap_err();
    assert_eq!(
        error.remedy(),
        "known formats: tasks, task, milestones, prd, codescribe, checklist, github-issues"
    );
}

#[test]
fn a_file_that_cannot_be_a_plan_is_refused_before_it_is_read_whole() {
    let big = "x".repeat(10 * 1024 * 1024);
    assert_eq!(
        problems("big.md", &big),
        "big.md: the file is larger than 1024 KiB; keep the task short and let it name the files that hold the rest\n"
    );
    assert_eq!(
        problems_as("big.json", &big, Some(PlanFormat::Prd)),
        "big.json: the file is larger than 8192 KiB; keep the task short and let it name the files that hold the rest\n"
    );
    let dir = project("== a.md\n");
    fs::write(dir.path().join("prd.json"), b"{\n\"a\xff").unwrap();
    assert_eq!(
        shown(&check("prd.json", dir.path(), None).unwrap_err(), dir.path()),
        "prd.json:2:3: the text is not UTF-8; save the file as UTF-8\n"
    );
    std::os::unix::fs::symlink("nowhere at all", dir.path().join("no where.md")).unwrap();
    assert!(matches!(read("no where.md", dir.path(), None), Err(PlanError::Unreadable { .. })));
}

#[test]
fn a_mistyped_name_of_a_file_is_no_goal() {
    let dir = project("== my plan.md\n# Do it\n== notes.txt\nhm\n");
    fs::create_dir(dir.path().join("my tasks")).unwrap();
    fs::write(dir.path().join("my tasks/a b.md"), "# Do a\n").unwrap();
    for (source, told) in [
        ("my plans.md", "my plans.md: there is no such file; did you mean `my plan.md`?\n"),
        (
            "our plan of it.JSON",
            "our plan of it.JSON: there is no such file; set plan.source to where the plan is; a goal is given as windlass run \"what is to be done\"\n",
        ),
        ("my tasks/a bb.md", "my tasks/a bb.md: there is no such file; did you mean `my tasks/a b.md`?\n"),
        ("my task", "my task: there is no such directory; did you mean `my tasks`?\n"),
        (
            "v/no such",
            "v/no such: there is no such directory; create v/no such with one .md file for each task, or set plan.source to where they are\n",
        ),
    ] {
        assert_eq!(shown(&check(source, dir.path(), None).unwrap_err(), dir.path()), told, "{source}");
    }
    assert_eq!(read("make notes of it", dir.path(), None).unwrap().goal, "make notes of it");
    assert_eq!(read("support .md files", dir.path(), None).unwrap().format, None);
}
