//! The terms of the trial: what an agent changes beside the product is tried
//! without, too, and what needs it is for a reviewer to accept.

use serde_json::Value;

use crate::case::{Case, LOOP, Seen, Setup};

/// A check that a setting can switch off.
const TEST: &str =
    "for t in tests/*.sh; do . ./settings.cfg; [ -n \"$skip\" ] || sh \"$t\" || exit 1; done\n";
const GATE: &str = r#"product = ["answer.txt", "src/**"]
protect = ["tests/**", "test.sh"]
[[gate.check]]
name = "test"
run = "sh ./test.sh"
"#;
const SWITCHED_OFF: &str = "echo skip=1 >settings.cfg\necho $n >src/n\ncomplete";
pub const ACCEPTS_TERMS: &str = r#"say '"verdict":"accept","summary":"fine","criteria":[{"text":"Changed terms: needed","met":"yes","where":"settings.cfg"}],"findings":[],"resolved":[],"pending":[],"blocker":""'"#;

fn setup(agent: &str) -> Setup {
    Setup::new(agent)
        .file("test.sh", TEST)
        .file("settings.cfg", "skip=\n")
        .file("tests/answer.sh", "test \"$(cat answer.txt)\" = 42\n")
        .file("src/n", "0\n")
        .gate(GATE)
}

fn proof_step(case: &Case, name: &str) -> String {
    let proof: Value = case.windlass(&["prove", LOOP, "--json"]).expect_code(0).json();
    let steps = proof["steps"].as_array().unwrap();
    steps.iter().find(|step| step["step"] == name).unwrap()["detail"].as_str().unwrap().to_owned()
}

#[track_caller]
fn found(seen: &Seen, file: &str) -> Value {
    let found = seen.findings_in(file);
    assert_eq!(found.len(), 1, "{}", seen.findings);
    found[0].clone()
}

#[test]
fn a_setting_that_hides_a_failure_is_not_believed() {
    let case = setup(SWITCHED_OFF).ready();
    let seen = case.run();
    seen.blocked("failing");
    let found = found(&seen, "settings.cfg");
    let said = found["description"].as_str().unwrap();
    assert!(said.contains("green only with terms that the work itself changed (settings.cfg)"), "{said}");
    assert!(said.ends_with("allow: [\"settings.cfg\"]"), "the line to paste: {said}");
    assert!(case.left("author-2.brief").contains("settings.cfg"), "the author is told");
}

#[test]
fn a_task_that_may_change_a_setting_is_judged_with_it() {
    let task = "---\nallow: [settings.cfg]\n---\n# Switch the tests off\n";
    let case = setup(SWITCHED_OFF).task("off", task).ready();
    case.run().completed();
    assert_eq!(proof_step(&case, "terms"), "no term of the trial was changed");
}

#[test]
fn an_accept_that_says_nothing_of_changed_terms_is_none() {
    let case = setup(SWITCHED_OFF).review("tasks = true\nfinal = false\n").ready();
    let seen = case.run();
    seen.ended(3, "blocked", "review_failed");
    let reviews = seen.log.of("review_recorded");
    assert!(reviews.iter().all(|review| review["failure"]["kind"] == "terms_not_judged"), "{}", seen.log);
    let brief = case.left("reviewer-1.brief");
    assert!(brief.contains("## Changed terms") && brief.contains("- `settings.cfg`"), "{brief}");
}

#[test]
fn terms_that_a_reviewer_accepts_are_trusted_from_then_on() {
    let case = setup(SWITCHED_OFF).reviewer(ACCEPTS_TERMS).review("tasks = true\nfinal = false\n").ready();
    let seen = case.run();
    seen.completed();
    assert_eq!(seen.log.of("gate_needs_terms").len(), 1, "{}", seen.log);
    assert!(proof_step(&case, "terms").starts_with("1 changed term accepted (settings.cfg)"));
    assert!(proof_step(&case, "tasks").contains("1 task green on the tree that landed"));
    let page = case.windlass(&["prove", LOOP, "--rerun"]).expect_code(0).stdout;
    let flat = page.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("on trusted terms, without what it changed of them: exit 1"), "{page}");
    assert!(flat.contains("1 changed term accepted (settings.cfg)"), "{page}");
    assert!(!flat.contains("red: exit code 1"), "the reviewer decided: {page}");
}

#[test]
fn tests_and_lines_of_tests_are_added_freely() {
    let agent = "echo 42 >answer.txt\necho 'test -s answer.txt' >tests/new.sh\n\
                 echo 'test -f answer.txt' >>tests/answer.sh\ncomplete";
    let case = setup(agent).ready();
    let seen = case.run();
    seen.completed();
    assert_eq!(seen.findings.as_array().unwrap().len(), 0, "{:#}", seen.findings);
    assert!(case.landed("tests/answer.sh").trim_end().ends_with("test -f answer.txt"));
    assert_eq!(proof_step(&case, "terms"), "no term of the trial was changed");
    assert!(proof_step(&case, "gate").contains("and without what it changed of its terms"));
}

#[test]
fn a_test_that_was_changed_is_put_back() {
    let case = setup("echo true >tests/answer.sh\ncomplete").ready();
    let seen = case.run();
    seen.blocked("no_progress");
    assert_eq!(
        found(&seen, "tests/answer.sh")["description"],
        "a protected path was edited: lines may be added to it, but here lines were changed or removed; the \
         gate used the base's version. If the work needs it, let the task file say: allow: [\"tests/answer.sh\"]"
    );
}

#[test]
fn lines_added_to_a_makefile_need_a_word_that_is_told() {
    let gate = "product = [\"answer.txt\"]\nprotect = [\"Makefile\", \"tests/**\"]\n\
                [[gate.check]]\nname = \"test\"\nrun = \"make test\"\n";
    let agent = "echo 42 >answer.txt\nprintf 'install:\\n\\ttrue\\n' >>Makefile\ncomplete";
    let base = |agent| {
        let setup = Setup::new(agent).file("Makefile", "test:\n\tsh tests/answer.sh\n.PHONY: test\n");
        setup.file("tests/answer.sh", "test \"$(cat answer.txt)\" = 42\n").gate(gate)
    };
    let case = base(agent).ready();
    let seen = case.run();
    seen.blocked("no_progress");
    let said = found(&seen, "Makefile")["description"].as_str().unwrap().to_owned();
    let allow = "let the task file say: allow: [\"Makefile\"]";
    assert!(said.starts_with("lines were added to what runs the tests") && said.ends_with(allow), "{said}");
    assert!(case.left("author-2.brief").contains(allow), "the author is told");
    let task = "---\nallow: [\"Makefile\"]\n---\n# Add a target\n";
    base(agent).task("install", task).ready().run().completed();
}

#[test]
fn what_a_makefile_runs_is_explained() {
    let gate = "[[gate.check]]\nname = \"test\"\nrun = \"make test\"\n";
    let setup = Setup::new("complete").file("Makefile", "test:\n\tsh ./check.sh\n-include src/*.d\n");
    let case = setup.file("check.sh", "true\n").gate(gate).ready();
    for (path, why) in [
        ("test", "switch off"),
        ("check.sh", "the makefile or package.json has it run by a check"),
        ("src/new.d", "a makefile includes it"),
    ] {
        let said = case.windlass(&["gate", "explain", path]).expect_code(0).stdout;
        assert!(said.contains(why), "{path}: {said}");
    }
}

#[test]
fn an_added_line_that_weakens_a_test_is_a_bug() {
    let agent =
        "echo $n >src/n\nprintf 'exit 0\\ntest \"$(cat answer.txt)\" = 42\\n' >tests/answer.sh\ncomplete";
    let case = setup(agent).reviewer(ACCEPTS_TERMS).review("tasks = true\nfinal = false\n").ready();
    let seen = case.run();
    seen.blocked("failing");
    let said = found(&seen, "tests/answer.sh")["description"].as_str().unwrap().to_owned();
    assert!(said.contains("green only with tests that the work itself added (tests/answer.sh)"), "{said}");
    assert_eq!(seen.view["reviews"], 0, "nobody is asked about it");
}

#[test]
fn a_harmless_setting_lands_and_stays_untrusted() {
    let case = setup("echo 42 >answer.txt\necho colour=1 >>settings.cfg\ncomplete").ready();
    let seen = case.run();
    seen.completed();
    assert!(case.landed("settings.cfg").contains("colour=1"));
    let terms = proof_step(&case, "terms");
    assert!(terms.starts_with("1 changed term accepted by nobody (settings.cfg)"), "{terms}");
}

#[test]
fn the_first_test_of_a_project_is_judged_as_it_lands() {
    let agent = "echo 42 >answer.txt\nmkdir -p checks\necho 'test -s answer.txt' >checks/a.sh\ncomplete";
    let gate = "protect = [\"checks/**\"]\nproduct = [\"answer.txt\"]\n[[gate.check]]\nname = \"test\"\n\
                run = \"set -- checks/*; test -f $1 && cat checks/* | sh\"\n";
    let case = Setup::new(agent).gate(gate).ready();
    let seen = case.run();
    seen.completed();
    assert!(seen.log.of("check_finished").iter().all(|check| check["trial"].is_null()), "{}", seen.log);
}

#[test]
fn compiled_python_is_never_part_of_the_work() {
    let agent = "echo 42 >answer.txt\nmkdir -p src/__pycache__\necho x >src/__pycache__/a.pyc\necho x >src/b.pyc\n\
                 echo '!*.pyc' >.gitignore\ncomplete";
    let case = setup(agent).ready();
    case.run().completed();
    let landed = case.repo.git(["ls-tree", "-r", "--name-only", &format!("windlass/{LOOP}")]);
    assert!(!landed.contains("pyc"), "{landed}");
}

#[test]
fn what_a_path_is_can_be_asked() {
    let case = setup("complete").ready();
    let said =
        case.windlass(&["gate", "explain", "src/a.rs", "tests/x", "Cargo.toml", "data.json", "AGENTS.md"]);
    assert_eq!(
        said.expect_code(0).stdout,
        "src/a.rs: product\n  gate.product has \"src/**\"\n\
         tests/x: protected\n  gate.protect has \"tests/**\"; it may be added to\n\
         Cargo.toml: term\n  it is a manifest\n\
         data.json: term\n  no glob of gate.product names it\n\
         AGENTS.md: protected\n  **/AGENTS.md steers agents, windlass or git, also when new\n"
    );
    let whole = case.repo.path().join("src/a.rs");
    for path in ["./src//a.rs", "src/a.rs/", whole.to_str().unwrap()] {
        let said = case.windlass(&["gate", "explain", path]).expect_code(0).stdout;
        assert!(said.starts_with("src/a.rs: product"), "{said}");
    }
    for path in ["/etc/passwd", "src/../../x", ".", ""] {
        let said = case.windlass(&["gate", "explain", path]).expect_code(2).stderr;
        assert!(said.contains("is no path in the repository"), "{said}");
    }
    let rules = case.windlass(&["gate", "explain"]).expect_code(0).stdout;
    assert!(rules.contains("product    answer.txt  src/**"), "{rules}");
    assert!(rules.lines().all(|line| line.chars().count() <= 80), "{rules}");
}
