//! Files that an agent needs in the workspace: there for each of its attempts as the operator has them, and
//! never part of the work.

use crate::case::{LOOP, Setup};

const INJECT: &str =
    "inject = { \".tool/settings.json\" = \"agents/settings.json\", \".mcp.json\" = \"agents/mcp.json\" }\n";

/// Sees the files, changes both, leaves something beside them, and does the work in its second turn only.
const MEDDLER: &str = r#"cat .tool/settings.json .mcp.json >"$side/seen-$n"
echo 'mine now' >.tool/settings.json
rm .mcp.json && mkdir .mcp.json && echo x >.mcp.json/inside
echo "note $n" >.tool/notes.txt
git add -fA . && git -c user.name=x -c user.email=x@x commit -qm "with everything"
if [ "$n" -ge 2 ]; then echo 42 >answer.txt; fi
complete
"#;

fn setup(agent: &str) -> Setup {
    Setup::new(agent)
        .agent_keys(INJECT)
        .file("agents/settings.json", "{\"tool\": true}\n")
        .file("agents/mcp.json", "{\"servers\": {}}\n")
}

#[test]
fn an_injected_file_is_there_for_every_attempt_and_never_lands() {
    let case = setup(MEDDLER).ready();
    let seen = case.run();
    seen.completed();
    assert_eq!(case.turns("author"), 2, "{}", seen.log);
    for turn in ["seen-1", "seen-2"] {
        assert_eq!(
            case.left(turn),
            "{\"tool\": true}\n{\"servers\": {}}\n",
            "{turn}: as the operator has them"
        );
    }
    let landed = case.repo.git(["ls-tree", "-r", "--name-only", &format!("windlass/{LOOP}")]);
    assert!(landed.contains(".tool/notes.txt"), "what lies beside them is work: {landed}");
    let injected =
        landed.lines().filter(|path| *path == ".tool/settings.json" || path.starts_with(".mcp.json"));
    assert_eq!(injected.count(), 0, "{landed}");
    assert!(seen.findings_in(".mcp.json").is_empty(), "no change of it was seen: {}", seen.findings);
    assert_eq!(seen.findings.as_array().map(Vec::len), Some(0), "{}", seen.findings);
}

#[test]
fn no_snapshot_has_an_injected_file() {
    let case = setup("echo stolen >.tool/settings.json\necho 42 >answer.txt\ncomplete").ready();
    case.run().completed();
    let vaults = case.home.state().join("windlass/vaults");
    let vault = std::fs::read_dir(&vaults).unwrap().next().unwrap().unwrap().path().join("vault.git");
    let git_dir = format!("--git-dir={}", vault.display());
    let every = case.repo.git([&git_dir, "rev-list", "--all", "--objects"]);
    assert!(every.contains("answer.txt"), "{every}");
    assert!(!every.contains(".tool"), "{every}");
}

#[test]
fn the_reviewer_reads_no_injected_file_of_the_author() {
    let case = setup("echo 42 >answer.txt\ncomplete")
        .review("tasks = true\nfinal = false\n")
        .reviewer("ls -A >\"$side/seen\"\naccept")
        .more("[role.reviewer.inject]\n")
        .ready();
    case.run().completed();
    let seen = case.left("seen");
    assert!(seen.contains("answer.txt") && !seen.contains(".mcp.json"), "{seen}");
}

#[test]
fn a_file_that_the_repository_has_is_not_hidden_by_an_injected_one() {
    let case = setup("complete").file(".mcp.json", "{}\n").ready();
    let ran = case.windlass(&["run", "--name", LOOP]).expect_code(2);
    assert!(ran.stderr.contains(".mcp.json") && ran.stderr.contains("is in the repository"), "{ran}");
    case.nothing_was_made();
}

#[test]
fn a_file_of_the_repository_does_not_become_a_directory_for_an_injected_one() {
    let keys = "inject = { \"README.md/x.json\" = \"agents/mcp.json\" }\n";
    let case = Setup::new("complete").agent_keys(keys).file("agents/mcp.json", "{}").ready();
    let ran = case.windlass(&["run", "--name", LOOP]).expect_code(2);
    assert!(ran.stderr.contains("README.md/x.json, which lies below a file of the repository"), "{ran}");
    case.nothing_was_made();
}

#[test]
fn a_file_that_is_not_there_is_not_injected() {
    let case = Setup::new("complete").agent_keys("inject = { \"x.json\" = \"agents/none.json\" }\n").ready();
    let ran = case.windlass(&["run", "--name", LOOP]).expect_code(2);
    assert!(ran.stderr.contains("agents/none.json, which is no file of your checkout"), "{ran}");
    case.nothing_was_made();
}

#[test]
fn a_path_that_leads_out_of_the_workspace_is_refused_with_its_place() {
    for target in ["../x.json", "/etc/x.json", "a/../../x.json", ".git/hooks/post-checkout", ".", ""] {
        let keys = format!("inject = {{ \"{target}\" = \"agents/mcp.json\" }}\n");
        let case = Setup::new("complete").agent_keys(&keys).file("agents/mcp.json", "{}").ready();
        let ran = case.windlass(&["run", "--name", LOOP]).expect_code(2);
        assert!(ran.stderr.contains("windlass.toml:5:12"), "{target}: {ran}");
        case.nothing_was_made();
    }
}
