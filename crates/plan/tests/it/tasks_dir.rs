//! Directories of task files.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use windlass_core::id::BlobId;
use windlass_plan::{PlanError, Planned, tasks_dir};

use crate::files::{project, shown};

fn planned(files: &str) -> Planned {
    let dir = project(files);
    tasks_dir::read(dir.path()).unwrap_or_else(|error| panic!("{error}"))
}

/// The error and its remedy, with the directory's own path left out.
fn refusal(dir: &Path) -> String {
    let error = tasks_dir::read(dir).unwrap_err();
    let dir = dir.display().to_string();
    format!("{error}\n{}", error.remedy()).replace(&format!("{dir}/"), "").replace(&dir, "DIR")
}

fn refused(files: &str) -> String {
    refusal(project(files).path())
}

fn show(planned: &Planned) -> String {
    let mut out = format!("goal: {}\n", planned.goal);
    for task in &planned.tasks {
        let plain = task.clone().into_task(|_| Ok::<_, ()>(BlobId::new("b"))).unwrap();
        let on: Vec<&str> = plain.depends_on.iter().map(|id| id.as_str()).collect();
        out += &format!(
            "{} | {} | on {on:?} | {} | allow {:?} | checks {:?} | accept {:?}\n",
            plain.id, plain.title, plain.priority, plain.allow, plain.checks, plain.acceptance
        );
    }
    out
}

#[test]
fn a_plan_is_its_files_in_byte_order() {
    let planned = planned(
        "== b.md\n---\ndepends_on: [a.md, B2]\npriority: 3\n---\nNo heading. <!-- depends_on: a, c-d -->\n\
         == B2.md\n---\ntitle: Given\nallow: tests/**\nchecks: unit\nacceptance: [it holds]\n---\n# Written\n## Acceptance\n- and that\n\
         == a.md\n# First thing\n\n## Acceptance\n- [ ] tests pass\n\
         == c-d.md\nNo more than this.\n\
         == notes.txt\nnot a task\n\
         == .#a.md\nan editor's lock\n",
    );
    assert_eq!(
        show(&planned),
        "goal: 4 tasks, from “Given” to “c-d”\n\
         B2 | Given | on [] | 0 | allow [\"tests/**\"] | checks [\"unit\"] | accept [\"it holds\", \"and that\"]\n\
         a | First thing | on [] | 0 | allow [] | checks [] | accept [\"tests pass\"]\n\
         b | b | on [\"a\", \"B2\", \"c-d\"] | 3 | allow [] | checks [] | accept []\n\
         c-d | c-d | on [] | 0 | allow [] | checks [] | accept []\n"
    );
    assert!(planned.tasks[2].text.starts_with("---\ndepends_on"), "the text is the whole file");
}

#[test]
fn one_task_is_its_own_goal() {
    assert_eq!(planned("== a.md\n# Make it so\n").goal, "Make it so");
}

#[test]
fn a_fault_in_a_file_names_file_line_and_column() {
    assert_eq!(
        refused("== a.md\n---\ndepend_on: b\n---\n"),
        "a.md:2:1: unknown key `depend_on`\ndid you mean `depends_on`?"
    );
    assert_eq!(
        refused("== a.md\n# A\n<!-- depends on: b -->\n"),
        "a.md:2:1: `depends on` in a comment names no dependency\nwrite `<!-- depends_on: id, id -->`"
    );
}

#[test]
fn a_missing_dependency_names_both_ends() {
    assert_eq!(
        refused("== parser.md\n---\ndepends_on:\n  - shcema.md\n---\n== schema.md\n"),
        "parser.md:3:5: task parser depends on shcema, which is not in the plan\ndid you mean `schema`?"
    );
    assert_eq!(
        refused("== a.md\n<!-- depends_on: elephant -->\n== b.md\n"),
        "a.md:1:18: task a depends on elephant, which is not in the plan\n\
         add elephant.md to the plan, or remove the dependency; a task is named by its file name"
    );
}

#[test]
fn a_cycle_is_named_and_placed() {
    assert_eq!(
        refused(
            "== a.md\n<!-- depends_on: b -->\n== b.md\n<!-- depends_on: c -->\n== c.md\n---\ndepends_on: a\n---\n"
        ),
        "a.md:1:18: tasks depend on one another in a circle: a → b → c → a\nremove one of these dependencies"
    );
    assert_eq!(
        refused("== a.md\n---\ndepends_on: a.md\n---\n"),
        "a.md:2:13: task a depends on itself\nremove a from its own dependencies"
    );
}

#[test]
fn ids_that_differ_only_in_case_are_one_id() {
    let dir = project("== A.md\n# Big\n== a.md\n# Small\n");
    if fs::read_dir(dir.path()).unwrap().count() < 2 {
        return; // The file system already says they are one.
    }
    assert_eq!(
        refusal(dir.path()),
        "A.md and a.md give two tasks with one id\n\
         rename a.md: names that differ only in case are one file on some systems"
    );
}

#[test]
fn a_directory_without_tasks_is_no_plan() {
    assert_eq!(
        refused("== notes.txt\n"),
        "DIR: there is no task file (*.md) in this directory\n\
         write the first task to 001-first.md, or: windlass task add \"TITLE\"; without a file: windlass run \"GOAL\""
    );
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(
        refusal(&dir.path().join("tasks")),
        "DIR: there is no such directory\ncreate DIR with one .md file for each task, or set plan.source to where they are"
    );
}

#[test]
fn what_cannot_be_read_is_named() {
    let dir = project("== a.md\n# A\n");
    fs::create_dir(dir.path().join("b.md")).unwrap();
    assert_eq!(refusal(dir.path()), "b.md: is not a regular file\nrename b.md or move it out of the plan");

    let dir = project("== a.md\n# A\n");
    std::os::unix::fs::symlink("nowhere", dir.path().join("b.md")).unwrap();
    assert!(refusal(dir.path()).starts_with("b.md: the file cannot be read: No such file"));

    let dir = project("== a.md\n# A\n");
    fs::write(dir.path().join("b.md"), b"# Caf\xc3\xa9\nab\xff\n").unwrap();
    assert_eq!(refusal(dir.path()), "b.md:2:3: the text is not UTF-8\nsave the file as UTF-8");

    let dir = project("== a.md\n# A\n");
    fs::write(dir.path().join("b.md"), vec![b'x'; 1024 * 1024 + 1]).unwrap();
    assert!(refusal(dir.path()).starts_with("b.md: the file is larger than 1024 KiB"));
    fs::write(dir.path().join("b.md"), vec![b'x'; 1024 * 1024]).unwrap();
    assert!(tasks_dir::read(dir.path()).is_ok());
}

#[test]
fn a_file_this_user_may_not_read_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let dir = project("== a.md\n# A\n");
    let file = dir.path().join("a.md");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read(&file).is_ok() {
        return; // Root reads everything.
    }
    assert!(matches!(tasks_dir::read(dir.path()), Err(PlanError::Unreadable { .. })));
}

#[test]
fn a_file_name_must_give_an_id() {
    for (name, why) in [
        (&b".md"[..], "nothing stands before `.md`"),
        (b"a\nb.md", "it has a control character in it"),
        (b" a.md", "it starts or ends with a blank"),
        (b"a\xff.md", "it is not UTF-8"),
    ] {
        let dir = project("== ok.md\n");
        if fs::write(dir.path().join(OsStr::from_bytes(name)), "").is_err() {
            continue; // Not every file system takes every name.
        }
        let refused = refusal(dir.path());
        assert!(refused.contains(&format!("gives no usable task id: {why}\n")), "{refused}");
    }
}

#[test]
fn a_check_nobody_defined_is_refused_with_its_place() {
    let planned = planned("== a.md\n---\nchecks: [unit, formt]\n---\nDo it.\n");
    assert!(planned.unknown_checks(&["unit", "formt"]).is_empty());
    let errors = planned.unknown_checks(&["format"]);
    let shown: Vec<String> = errors.iter().map(ToString::to_string).collect();
    assert!(shown[0].ends_with("a.md:2:10: there is no check named \"unit\""), "{shown:?}");
    assert!(shown[1].ends_with("a.md:2:16: there is no check named \"formt\""), "{shown:?}");
    assert_eq!(errors[1].remedy(), "did you mean `format`?");
}

#[test]
fn ten_thousand_tasks_are_a_plan_and_one_more_is_not() {
    let dir = project("== t00000.md\n# One of many\n");
    for n in 1..10_000 {
        fs::hard_link(dir.path().join("t00000.md"), dir.path().join(format!("t{n:05}.md"))).unwrap();
    }
    assert_eq!(tasks_dir::read(dir.path()).unwrap().tasks.len(), 10_000);
    fs::write(dir.path().join("one-more.md"), "").unwrap();
    assert_eq!(
        refusal(dir.path()),
        "DIR: 10001 task files are more than the 10000 a plan may have\nsplit the plan over several loops"
    );
}

#[test]
fn every_problem_of_every_file_is_named_in_plan_order() {
    let dir = project(
        "== a.md\n---\ndepends_on: [b, nobody, a]\n---\nDo it.\n\
         == b.md\n---\npriority: high\ncolour: red\ndone: maybe\n---\n\
         == c.md\n---\ntitle: never closed\n\
         == d.md\n<!-- depends-on: a -->\nText.\n<!-- depends_on: a,, b -->\n\
         == e.md\n\n<!-- only a comment -->\n\
         == f.md\n<!-- depends_on: g -->\nF.\n\
         == g.md\n<!-- depends_on: f -->\nG.\n",
    );
    fs::write(dir.path().join("h.md"), b"\xff").unwrap();
    assert_eq!(
        shown(&tasks_dir::check(dir.path()).unwrap_err(), dir.path()),
        "a.md:2:17: task a depends on nobody, which is not in the plan; \
         add nobody.md to the plan, or remove the dependency; a task is named by its file name\n\
         a.md:2:25: task a depends on itself; remove a from its own dependencies\n\
         b.md:2:11: `priority` must be a whole number; write a number such as 10; lower goes first\n\
         b.md:3:1: unknown key `colour`; known keys: title, depends_on, priority, allow, checks, acceptance, done, mode, scope\n\
         b.md:4:7: `done` is neither true nor false; write true for a task that is done already; nothing of it is proven then\n\
         b.md:6:1: the task says nothing; write in b.md what is to be done, or delete it\n\
         c.md:1:1: the front matter that starts here is never closed; close it with a line `---`; a rule at the top of a file can be written `***`\n\
         d.md:1:1: `depends-on` in a comment names no dependency; write `<!-- depends_on: id, id -->`\n\
         d.md:3:20: an item of the list is empty; remove the extra comma, or write the item\n\
         e.md:1:1: the task says nothing; write in e.md what is to be done, or delete it\n\
         f.md:1:18: tasks depend on one another in a circle: f → g → f; remove one of these dependencies\n\
         h.md:1:1: the text is not UTF-8; save the file as UTF-8\n"
    );
}

#[test]
fn every_circle_is_named_once() {
    let dir = project(
        "== a.md\n<!-- depends_on: b -->\nA.\n== b.md\n<!-- depends_on: c, a -->\nB.\n\
         == c.md\n<!-- depends_on: a -->\nC.\n== d.md\n<!-- depends_on: a, e -->\nD.\n\
         == e.md\n<!-- depends_on: d -->\nE.\n",
    );
    let text = shown(&tasks_dir::check(dir.path()).unwrap_err(), dir.path());
    let circles: Vec<&str> = text.lines().filter_map(|line| line.split("circle: ").nth(1)).collect();
    assert_eq!(
        circles,
        ["a → b → c → a; remove one of these dependencies", "d → e → d; remove one of these dependencies"]
    );
}

#[test]
fn what_looks_like_a_task_file_and_is_none_is_a_fault() {
    let dir = project(
        "== a.md\nDo a.\n== b.MD\nDo b.\n== c.markdown\nDo c.\n== notes.txt\nno task\n== .d.MD\nhidden\n",
    );
    for (below, file) in [("late", "d.md"), ("data", "d.json"), (".done", "e.md")] {
        fs::create_dir(dir.path().join(below)).unwrap();
        fs::write(dir.path().join(below).join(file), "Do it.\n").unwrap();
    }
    assert_eq!(
        shown(&tasks_dir::check(dir.path()).unwrap_err(), dir.path()),
        "b.MD: the name of a task file ends in `.md`, and this one would be left out; rename it to b.md, or move it elsewhere\n\
         c.markdown: the name of a task file ends in `.md`, and this one would be left out; rename it to c.md, or move it elsewhere\n\
         late: has task files (*.md), and only those of the directory above are read; move the task files up; to leave them out, give the directory a name that starts with a dot\n"
    );
}

#[test]
fn a_task_file_is_no_link_out_of_the_project() {
    use std::os::unix::fs::symlink;
    let dir = tempfile::tempdir().unwrap();
    let (outside, project) = (dir.path().join("outside.md"), dir.path().join("project"));
    fs::create_dir_all(project.join("tasks")).unwrap();
    fs::write(&outside, "Secrets.\n").unwrap();
    fs::write(project.join("notes.md"), "Do it.\n").unwrap();
    symlink("../notes.md", project.join("tasks/inside.md")).unwrap();
    let checked = || windlass_plan::check("tasks", &project, None);
    assert_eq!(checked().unwrap().tasks.len(), 1);
    symlink(&outside, project.join("tasks/led-out.md")).unwrap();
    symlink("nowhere.md", project.join("tasks/to-nothing.md")).unwrap();
    symlink(&outside, project.join("plan.md")).unwrap();
    let told = shown(&checked().unwrap_err(), &project);
    assert!(told.starts_with("tasks/led-out.md: lies outside of the project"), "{told}");
    assert!(
        told.contains("tasks/to-nothing.md is a link that leads nowhere: correct it, or remove it"),
        "{told}"
    );
    assert!(windlass_plan::check("plan.md", &project, None).is_err());
    assert!(
        windlass_plan::check(&outside.display().to_string(), &project, None).is_ok(),
        "named by the operator"
    );
}
