//! What a person types first, and what is left to do by hand.

use std::fs;

use windlass_testkit::{Repo, Scratch, alive, fingerprint, repo};

use crate::case::{LOOP, Setup};

const HONEST: &str = "echo 42 >answer.txt\ncomplete";

fn home() -> Scratch {
    Scratch::new(env!("CARGO_BIN_EXE_windlass"))
}

#[test]
fn the_demo_shows_each_lie_caught_and_leaves_nothing() {
    let home = home();
    let ran = home.run(home.path(), ["demo"]).expect_code(0);
    for words in ["no file changed", "test.sh", "background", "proven", "windlass init"] {
        assert!(ran.stdout.contains(words), "{words:?}: {ran}");
    }
    let left = alive::carrying(&home.path().display().to_string());
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(fs::read_dir(home.tmp()).unwrap().count(), 0, "no temporary file is left");
    assert_eq!(fs::read_dir(home.state()).unwrap().count(), 0, "no record is left");
}

#[test]
fn the_demo_can_be_kept() {
    let home = home();
    let dir = home.path().join("kept");
    let ran = home.run(home.path(), ["demo", "--keep", "--dir", &dir.display().to_string()]).expect_code(0);
    assert!(ran.stdout.contains(&dir.display().to_string()), "it says where: {ran}");
    let found = fs::read_dir(&dir).unwrap().flatten().map(|entry| entry.path()).chain([dir.clone()]);
    let project = found.into_iter().find(|path| path.join(".git").exists()).expect("a repository was kept");
    assert!(!repo::git(&project, ["-c", "safe.directory=*", "branch", "--list", "windlass/*"]).is_empty());
}

#[test]
fn init_proposes_what_it_sees_and_run_names_what_is_missing() {
    let home = home();
    for (file, text, check) in [
        ("Cargo.toml", "[package]\nname = \"x\"\nversion = \"0.1.0\"\n", "cargo test"),
        ("package.json", "{\"scripts\":{\"test\":\"node t.js\"}}\n", "npm"),
        ("go.mod", "module x\n", "go test"),
        ("pyproject.toml", "[project]\nname = \"x\"\n[tool.pytest.ini_options]\n", "pytest"),
        ("Makefile", "test:\n\ttrue\n", "make test"),
    ] {
        let project = Repo::with(&[(file, text)]);
        home.run(project.path(), ["init", "--no-try"]).expect_code(0);
        let policy = fs::read_to_string(project.path().join("windlass.toml")).unwrap();
        assert!(policy.contains(check), "{file}: {policy}");
        let refused = home.run(project.path(), ["run"]).expect_code(2);
        assert!(!refused.stderr.trim().is_empty(), "{file}: {refused}");
        let again = home.run(project.path(), ["init"]).expect_code(2);
        assert!(again.stderr.contains("windlass.toml"), "{again}");
        assert_eq!(
            fs::read_to_string(project.path().join("windlass.toml")).unwrap(),
            policy,
            "nothing is overwritten"
        );
    }
}

#[test]
fn init_leaves_the_agent_to_the_operators_own_configuration() {
    let home = home();
    let user = home.config().join("windlass");
    fs::create_dir_all(&user).unwrap();
    fs::write(user.join("config.toml"), "[agent]\nuse = \"command\"\ncommand = [\"sh\", \"a.sh\"]\n")
        .unwrap();
    let project = Repo::with(&[("Makefile", "test:\n\ttrue\n")]);
    let made = home.run(project.path(), ["init", "--no-try"]).expect_code(0);
    assert!(!made.stdout.contains("set `command`"), "{made}");
    let policy = fs::read_to_string(project.path().join("windlass.toml")).unwrap();
    assert!(!policy.contains("\n[agent]\n") && !policy.contains("your-agent-here"), "{policy}");
    let told = home.run(project.path(), ["config", "explain", "agent.command"]).expect_code(0).stdout;
    assert!(told.contains("a.sh") && told.contains("config.toml"), "{told}");
}

#[test]
fn init_makes_a_repository_only_when_asked() {
    let home = home();
    let plain = home.path().join("plain");
    fs::create_dir(&plain).unwrap();
    fs::write(plain.join("notes.txt"), "mine\n").unwrap();
    home.run(&plain, ["init"]).expect_code(2);
    assert!(!plain.join(".git").exists());
    home.run(&plain, ["init", "--git", "Write it all down"]).expect_code(0);
    assert!(plain.join(".git").is_dir() && plain.join("windlass.toml").is_file());
    assert!(
        !repo::git(&plain, ["-c", "safe.directory=*", "rev-parse", "HEAD"]).is_empty(),
        "with a first commit"
    );
}

#[test]
fn init_before_the_first_commit_writes_nothing_and_says_how_to_make_it() {
    let home = home();
    let repo = Repo::empty();
    repo.file("package.json", r#"{"scripts": {"test": "node --test"}}"#);
    let before = fingerprint(repo.path());
    let refused = home.run(repo.path(), ["init"]).expect_code(2);
    assert!(refused.stderr.contains("has no commits on its current branch"), "{refused}");
    let hints: Vec<&str> = refused.stderr.lines().filter(|line| line.contains("hint:")).collect();
    assert_eq!(
        hints,
        [
            "  hint: git add -A && git commit --allow-empty -m start",
            "  hint: then: windlass init",
            "  hint: or do both: windlass init --git"
        ]
    );
    assert_eq!(refused.stdout, "");
    assert_eq!(fingerprint(repo.path()), before);
}

#[test]
fn init_with_git_makes_the_first_commit_of_an_empty_repository() {
    let home = home();
    let repo = Repo::empty();
    let made = home.run(repo.path(), ["init", "--git", "--no-plan", "Write it all down"]).expect_code(0);
    assert!(made.stdout.contains("made the first commit of this repository"), "{made}");
    assert_eq!(repo.git(["rev-list", "--count", "HEAD"]).trim(), "1");
    let by_hand = Repo::empty();
    by_hand.git(["add", "-A"]);
    by_hand.git(["commit", "--quiet", "--allow-empty", "-m", "start"]);
    home.run(by_hand.path(), ["init", "--no-plan", "Write it all down"]).expect_code(0);
}

#[test]
fn take_brings_the_work_into_a_clean_checkout() {
    let case = Setup::new(HONEST).ready();
    case.run().completed();
    case.windlass(&["take", LOOP]).expect_code(0);
    assert_eq!(fs::read_to_string(case.repo.path().join("answer.txt")).unwrap(), "42\n");
    assert_eq!(case.repo.rev("HEAD"), case.repo.rev(&format!("windlass/{LOOP}")));
    assert_eq!(case.repo.git(["symbolic-ref", "HEAD"]), "refs/heads/main");
    assert_eq!(case.repo.git(["status", "--porcelain"]), "");
}

#[test]
fn take_leaves_a_dirty_checkout_alone_and_says_how() {
    let case = Setup::new(HONEST).ready();
    case.run().completed();
    case.repo.file("answer.txt", "mine\n");
    let case = case.looked_at();
    let ran = case.windlass(&["take", LOOP]);
    assert!(format!("{}{}", ran.stdout, ran.stderr).contains("merge"), "{ran}");
    case.untouched();
}

#[test]
fn an_export_is_the_whole_history() {
    let case = Setup::new(HONEST).ready();
    let seen = case.run();
    seen.completed();
    let to = case.side().join("export");
    for _ in 0..2 {
        let told = case.windlass(&["export", LOOP, "--to", &to.display().to_string(), "--json"]);
        let told = told.expect_code(0).json();
        let below = to.join(told["directory"].as_str().expect("it says where"));
        assert!(below.starts_with(&to), "{told}");
        let events = fs::read_to_string(below.join("events.jsonl")).unwrap();
        assert_eq!(events, case.windlass(&["log", LOOP, "--json"]).stdout, "the log, line by line");
        let state: serde_json::Value =
            serde_json::from_str(&fs::read_to_string(below.join("state.json")).unwrap()).unwrap();
        assert_eq!(state["loop"], LOOP);
    }
    case.untouched();
}

#[test]
fn config_says_which_layer_set_a_value() {
    let case = Setup::new(HONEST).limits("max_iterations = 7").ready();
    let told = case.windlass(&["config", "explain", "loop.max_iterations"]).expect_code(0).stdout;
    assert!(told.contains('7') && told.contains("windlass.toml"), "{told}");
    let told =
        case.windlass(&["config", "explain", "loop.max_iterations", "--set", "loop.max_iterations=9"]).stdout;
    assert!(told.contains('9') && told.contains("--set"), "{told}");
    let user = case.home.config().join("windlass");
    fs::create_dir_all(&user).unwrap();
    fs::write(user.join("config.toml"), "[budget]\ntokens = 5000\n").unwrap();
    let told = case.windlass(&["config", "explain", "budget.tokens"]).expect_code(0).stdout;
    assert!(told.contains("5000") && told.contains("config.toml"), "{told}");
    case.windlass(&["config", "explain", "loop.max_iteration"]).expect_code(2);
}

#[test]
fn the_schema_knows_every_field_of_the_view() {
    let case = Setup::new(HONEST).ready();
    let seen = case.run();
    let schema = case.windlass(&["config", "schema"]).expect_code(0).json();
    let known = schema["properties"].as_object().expect("the shape is an object");
    for field in seen.view.as_object().expect("a view is an object").keys() {
        assert!(known.contains_key(field), "{field} is not in the schema");
    }
}

#[test]
fn doctor_and_completions_answer() {
    let case = Setup::new(HONEST).ready();
    let touched = || fs::metadata(case.repo.path()).unwrap().modified().unwrap();
    let before = touched();
    let told = case.windlass(&["doctor", "--json"]).expect_code(0);
    assert_eq!(touched(), before, "what is tried is not tried in the project");
    assert!(told.stdout.contains("git"), "{told}");
    case.nothing_was_made();
    for shell in ["bash", "zsh", "fish"] {
        let script = case.windlass(&["completions", shell]).expect_code(0).stdout;
        assert!(script.contains("windlass") && script.contains("unblock"), "{shell}");
    }
    assert!(case.windlass(&["--version"]).expect_code(0).stdout.starts_with("windlass "));
}
