//! What the guides print: the agent in ten lines is run as it stands there, and every command is one that
//! windlass takes.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use windlass_testkit::{Repo, Scratch};

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
         [sandbox]\nextra_read = [\"{}\"]\n",
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

/// Accepts what the second author wrote, and is no reviewer that changes anything.
const JUDGING_MODEL: &str = r#"#!/bin/sh
case $1 in
--review) grep -qx 42 answer.txt && grep -qx again log.txt ;;
*) [ -e log.txt ] && echo again >> log.txt || : > log.txt; echo 42 > answer.txt ;;
esac
"#;

#[test]
fn an_agent_of_shell_that_is_its_own_reviewer() {
    let script = block("## An agent in ten lines", "sh");
    let review = block("**Reviewer**", "sh");
    let (head, rest) = script.split_once("brief=$(cat)").expect("the script reads its brief");
    let repo = Repo::empty();
    let bin = repo.beside("bin");
    fs::create_dir_all(&bin).unwrap();
    fs::write(bin.join("your-model"), JUDGING_MODEL).unwrap();
    fs::set_permissions(bin.join("your-model"), fs::Permissions::from_mode(0o755)).unwrap();
    repo.file("agent.sh", format!("{head}{review}brief=$(cat)  {rest}"));
    repo.file("tasks/answer.md", "# Write the answer\n\nMake the test pass.\n");
    let policy = format!(
        "[agent]\nuse = \"command\"\ncommand = [\"sh\", \"agent.sh\"]\n[plan]\nsource = \"tasks/\"\n\
         [[gate.check]]\nname = \"test\"\nrun = \"grep -qx 42 answer.txt\"\n\
         [sandbox]\nextra_read = [\"{}\"]\n",
        bin.display()
    );
    let case = Case::of(repo, &policy);
    let mut command = case.command(&["run", "--name", LOOP]);
    command.env("PATH", format!("{}:{}", bin.display(), std::env::var("PATH").unwrap()));
    let ran = case.home.start(command).finish(RUN);
    let note = "note: your command is called as reviewer too (WINDLASS_ROLE=reviewer) and must write a verdict; \
                --no-review, or [role.reviewer]";
    let said = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(said.matches(note).count(), 1, "{ran}");
    assert!(ran.stdout.contains(" (reviewer) ended"), "{ran}");
    let seen = case.look(ran);
    seen.completed();
    let verdicts: Vec<_> = seen.log.of("review_recorded").iter().map(|of| of["verdict"].clone()).collect();
    assert_eq!(verdicts, ["reject", "accept"], "{}", seen.log);
    let failed = seen.log.of("review_recorded").iter().filter(|of| !of["failure"].is_null()).count();
    assert_eq!(failed, 0, "{}", seen.log);
}

/// The commands of windlass in a page, in its blocks and in its sentences.
fn commands(page: &str) -> Vec<String> {
    let mut typed = Vec::new();
    for (number, part) in page.split("```").enumerate() {
        let is_block = number % 2 == 1;
        if is_block {
            let lines = part.lines().map(|line| {
                let line = line.trim_start().trim_start_matches("$ ").trim_start_matches("- run: ");
                // What follows three spaces or a mark is a remark.
                let line = line.split("   ").next().unwrap_or_default();
                line.split(" #").next().unwrap_or_default()
            });
            typed.extend(lines);
        } else {
            typed.extend(part.split('`').skip(1).step_by(2).filter(|code| !code.contains('\n')));
        }
    }
    // Not the words of windlass itself, and no form with optional parts.
    let is_command = |typed: &&str| typed.starts_with("windlass ") && !typed.contains(['[', '<', '…']);
    let first = |typed: &str| {
        let ends = [" && ", " | ", ";", " &"];
        let end = ends.iter().filter_map(|end| typed.find(end)).min().unwrap_or(typed.len());
        typed[..end].trim().to_owned()
    };
    typed.into_iter().filter(is_command).map(first).collect()
}

#[test]
fn every_command_of_the_guides_to_loops_is_one() {
    let home = Scratch::new(env!("CARGO_BIN_EXE_windlass"));
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let is_taken = |typed: &str| {
        let rest = typed.strip_prefix("windlass").expect("only such commands are looked at");
        let mut shell = Command::new("sh");
        // With a request for help nothing is done, and an argument that there is not is refused all the same.
        shell.args(["-c", &format!("exec '{}' {rest} --help", home.binary().display())]);
        home.isolate(shell.current_dir(home.path()));
        home.start(shell).finish(RUN).status.success()
    };
    assert!(is_taken("windlass log demo -n 3") && !is_taken("windlass log --no-such-option"));
    assert!(!is_taken("windlass no-such-command"));
    let mut looked = 0;
    for page in ["docs/guide/operating.md", "docs/guide/when-it-stops.md", "README.md"] {
        let text = fs::read_to_string(root.join(page)).unwrap();
        for typed in commands(&text) {
            assert!(is_taken(&typed), "{page}: {typed}");
            looked += 1;
        }
    }
    assert!(looked > 40, "{looked} commands");
}
