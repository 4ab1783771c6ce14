//! The agent in ten lines, run as the guide prints it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use windlass_testkit::Repo;

use crate::case::{Case, LOOP, RUN};

const GUIDE: &str = include_str!("../../../../docs/guide/agents.md");

/// Stands for the model's own program: it must be given the task.
const MODEL: &str = r#"#!/bin/sh
[ "$1" = --prompt ] || exit 3
case $2 in *"Make the test pass."*) echo 42 > answer.txt ;; esac
"#;

/// The first block in this language below the heading.
#[track_caller]
fn block(heading: &str, language: &str) -> &'static str {
    let below = GUIDE.split_once(heading).unwrap_or_else(|| panic!("no {heading}")).1;
    let (_, rest) = below.split_once(&format!("```{language}\n")).unwrap_or_else(|| panic!("no {language}"));
    rest.split_once("```").expect("a block has an end").0
}

#[test]
fn an_agent_in_ten_lines_of_shell() {
    let (script, agent) =
        (block("## An agent in ten lines", "sh"), block("## An agent in ten lines", "toml"));
    assert!(script.lines().count() <= 10, "{script}");
    let repo = Repo::empty();
    let bin = repo.beside("bin");
    fs::create_dir_all(&bin).unwrap();
    fs::write(bin.join("your-model"), MODEL).unwrap();
    fs::set_permissions(bin.join("your-model"), fs::Permissions::from_mode(0o755)).unwrap();
    repo.file("agent.sh", script).file("tasks/answer.md", "# Write the answer\n\nMake the test pass.\n");
    let policy = format!(
        "{agent}\n[plan]\nsource = \"tasks/\"\n[[gate.check]]\nname = \"test\"\nrun = \"grep -qx 42 answer.txt\"\n\
         [review]\ntasks = false\nfinal = false\n[sandbox]\nextra_read = [\"{}\"]\n",
        bin.display()
    );
    let case = Case::of(repo, &policy);
    let mut command = case.command(&["run", "--name", LOOP]);
    command.env("PATH", format!("{}:{}", bin.display(), std::env::var("PATH").unwrap()));
    let ran = case.home.start(command).finish(RUN);
    let seen = case.look(ran);
    seen.completed();
    let usage = &seen.view["usage"];
    assert_eq!((usage["input_tokens"].as_u64(), usage["output_tokens"].as_u64()), (Some(1200), Some(340)));
    let claim = &seen.log.of("attempt_finished")[0]["claim"];
    assert_eq!(
        (claim["status"].as_str(), claim["summary"].as_str()),
        (Some("complete"), Some("what was done"))
    );
}
