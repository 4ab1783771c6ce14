//! CodeScribe's task files.

use std::fs;

use windlass_plan::PlanFormat;

use crate::files::{outline, planned, problems, shown};

#[test]
fn a_chat_is_a_task_and_its_tools_are_kept() {
    let plan = planned(
        "port.toml",
        "[[chat.user]]\ncontent = '''\n# Port the solver\n\nTo Rust.\n'''\n\n[[chat.assistant]]\ncontent = \"Which part?\"\n\n\
         [[chat.user]]\ncontent = \"All of it.\"\n\n[tools]\nbash = [\"rg\", \"python3.8\"]\n",
    );
    assert_eq!(outline(&plan), "goal: Port the solver\n1: port | Port the solver | on [] | 0 | []\n");
    assert_eq!(plan.format, Some(PlanFormat::Codescribe));
    let tools: Vec<_> = plan.tools.iter().map(|tool| (tool.value.as_str(), tool.line, tool.column)).collect();
    assert_eq!(tools, [("rg", 15, 9), ("python3.8", 15, 15)]);
    assert_eq!(
        plan.tasks[0].text,
        "## user\n\n# Port the solver\n\nTo Rust.\n\n## assistant\n\nWhich part?\n\n## user\n\nAll of it.\n"
    );
}

#[test]
fn the_older_way_to_write_a_chat_is_read_too() {
    let plan = planned("a.toml", "[[chat]]\nrole = \"user\"\ncontent = \"Do it.\"\n");
    assert_eq!((plan.tasks[0].text.as_str(), plan.tools.len()), ("Do it.\n", 0));
}

#[test]
fn bad_tasks_are_refused_with_place_and_remedy() {
    for (text, told) in [
        (
            "[[chat.user]]\ncontent = \"never closed\n",
            "t.toml:2:24: this is not TOML: invalid basic string, expected `\"`; close what is open: text of several lines stands between ''' and '''\n",
        ),
        (
            "# don't\n[[chat.user]]\ncontent = '''\nnever \"closed\n\n[tools]\nbash = ['rg']\n",
            "t.toml:3:11: the text that starts here with ''' is never closed; close it with '''\n",
        ),
        (
            "[[chat.user]]\ncontent = '''a'''\n[[chat.assistant]]\ncontent = \"\"\"\nit \\\"\"\"\n",
            "t.toml:4:11: the text that starts here with \"\"\" is never closed; close it with \"\"\"\n",
        ),
        (
            "[tools]\n",
            "t.toml:1:1: there is no `chat`; write what is to be done: [[chat.user]] and content = '''…'''\n",
        ),
        ("[[chat.user]]\n", "t.toml:1:1: a message has no `content`; give it a line `content = …`\n"),
        ("[[chat.user]]\ncontent = 3\n", "t.toml:2:11: `content` must be a text; write a text\n"),
        (
            "[[chat.user]]\ncontent = ' '\n",
            "t.toml:1:1: the task says nothing; write in t.toml what is to be done, or delete it\n",
        ),
        (
            "[[chat.assistant]]\ncontent = 'a'\n[[chat.assistant]]\ncontent = 'b'\n",
            "t.toml:3:1: two messages of the assistant follow one another; join them, or write the answer that stands between them\n\
             t.toml:1:1: the chat must start and end with a message of the user; put [[chat.user]] first and last\n",
        ),
        (
            "[[chat]]\nrole = 'system'\ncontent = 'a'\n[tool]\n[tools]\nbash = ['rg', 'sh -c', 3]\n",
            "t.toml:4:2: unknown key `tool`; did you mean `tools`?\n\
             t.toml:6:15: \"sh -c\" is not the bare name of a program; write only the name, such as \"python3\": no path and no arguments\n\
             t.toml:6:24: `bash` must be a list of names; write a list of names\n\
             t.toml:1:1: a role is `user` or `assistant`, not \"system\"; write role = \"user\" or role = \"assistant\"\n",
        ),
    ] {
        assert_eq!(problems("t.toml", text), told, "{text}");
    }
}

#[test]
fn the_file_must_lie_in_the_project_after_its_links() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("t.toml"), "[[chat.user]]\ncontent = 'a'\n").unwrap();
    let project = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(outside.path().join("t.toml"), project.path().join("t.toml")).unwrap();
    let problems = windlass_plan::check("t.toml", project.path(), None).unwrap_err();
    assert_eq!(
        shown(&problems, project.path()),
        "t.toml: lies outside of the project DIR; move it into the project; links are followed\n"
    );
    fs::create_dir(project.path().join("sub")).unwrap();
    fs::copy(outside.path().join("t.toml"), project.path().join("sub/t.toml")).unwrap();
    assert!(windlass_plan::read("sub/../sub/t.toml", project.path(), None).is_ok());
}
