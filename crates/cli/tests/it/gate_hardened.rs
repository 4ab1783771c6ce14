//! A gate that cannot be fooled: tests counted by windlass, a control that must
//! fail, a second run on the record, chains, and findings that show what was done.

use serde_json::Value;

use crate::case::{LOOP, Seen, Setup};

const HONEST: &str = "echo 42 >answer.txt\ncomplete";

/// A runner that reports each line of `cases.txt` as a test, and fails where
/// the answer is wrong.
const RUNNER: &str = r#"set -e
mkdir -p out
{
    echo '<testsuite name="s">'
    while read -r name how; do
        case $how in
        skip) echo "<testcase name='$name'><skipped/></testcase>" ;;
        *) echo "<testcase name='$name'/>" ;;
        esac
    done <cases.txt
    echo '</testsuite>'
} >out/junit.xml
test "$(cat answer.txt)" = 42
"#;

fn counted(agent: &str) -> Setup {
    counting(agent).limits("max_task_failures = 1\nmax_no_progress = 1")
}

fn counting(agent: &str) -> Setup {
    Setup::new(agent)
        .file("test.sh", RUNNER)
        .file("cases.txt", "adds\ndivides\nrounds\n")
        .checks("[[gate.check]]\nname = \"test\"\nrun = \"sh ./test.sh\"\njunit = \"out/*.xml\"\n")
}

fn checks<'s>(seen: &'s Seen, purpose: &str) -> Vec<&'s Value> {
    let runs = seen.log.of("check_finished").into_iter().filter(|line| line["purpose"] == purpose);
    runs.map(|line| &line["result"]).collect()
}

#[track_caller]
fn finding<'s>(seen: &'s Seen, rule: &str) -> &'s Value {
    let all = seen.findings.as_array().unwrap();
    let of_rule = |finding: &&Value| finding["origin"]["evidence"] == rule;
    all.iter().find(of_rule).unwrap_or_else(|| panic!("no {rule}: {:#}\n{}", seen.findings, seen.log))
}

#[test]
fn tests_are_counted_on_the_base_and_on_the_work() {
    let case = counted("echo 42 >answer.txt\necho 'new' >>cases.txt\ncomplete").ready();
    let seen = case.run();
    seen.completed();
    for (purpose, tests) in [("baseline", 3), ("task", 4), ("final", 4)] {
        let check = checks(&seen, purpose)[0];
        assert_eq!(check["tally"]["tests"], tests, "{purpose}: {check:#}");
    }
    assert_eq!(checks(&seen, "task")[0]["tally"]["compared"]["with"], "baseline");
    assert_eq!(checks(&seen, "final")[0]["tally"]["compared"]["with"], "accepted");
    assert_eq!(seen.findings.as_array().unwrap().len(), 0, "{:#}", seen.findings);
}

#[test]
fn a_test_that_vanishes_is_red_and_a_finding_until_it_is_back() {
    let agent = "echo 42 >answer.txt\n\
                 if [ $n -eq 1 ]; then echo adds >cases.txt; else printf 'adds\\ndivides\\nrounds\\n' >cases.txt; fi\ncomplete";
    let case = counting(agent).ready();
    let seen = case.run();
    seen.completed();
    let found = finding(&seen, "tests_vanished");
    assert_eq!((found["severity"].as_str(), found["life"].as_str()), (Some("bug"), Some("resolved")));
    assert_eq!(found["description"], "tests of the base are gone: s::divides, s::rounds");
    let brief = case.left("author-2.brief");
    assert!(brief.contains("exit code 0, but tests of the base are gone: s::divides, s::rounds"), "{brief}");
}

#[test]
fn a_check_that_exits_well_is_red_for_what_its_report_says() {
    for (agent, words) in [
        (
            "echo 42 >answer.txt\nprintf 'adds\\ndivides skip\\nrounds\\n' >cases.txt\ncomplete",
            "tests that ran on the base are skipped: s::divides",
        ),
        ("echo 42 >answer.txt\n: >cases.txt\ncomplete", "its report has no test"),
        (
            "echo 42 >answer.txt\nrm cases.txt\nmkfifo cases.txt\nrm cases.txt; ln -s /dev/null cases.txt\ncomplete",
            "has no test",
        ),
    ] {
        let case = counted(agent).ready();
        let seen = case.run();
        seen.ended(3, "blocked", "failing");
        let detail = seen.task("answer")["detail"].as_str().unwrap();
        assert!(detail.contains(words), "{detail}");
    }
}

/// The check no longer writes it, so what lies there is the agent's.
#[test]
fn a_report_that_the_work_brings_along_counts_for_nothing() {
    let agent = "mkdir -p out\n\
                 echo '<testsuite><testcase name=\"adds\"/><testcase name=\"divides\"/><testcase name=\"rounds\"/></testsuite>' >out/junit.xml\n\
                 echo 42 >answer.txt\ncomplete";
    let case = counted(agent)
        .file("test.sh", "[ -e out ] || exec sh ./runner.sh\ntest \"$(cat answer.txt)\" = 42\n");
    let case = case.file("runner.sh", RUNNER).ready();
    let seen = case.run();
    seen.ended(3, "blocked", "failing");
    let detail = seen.task("answer")["detail"].as_str().unwrap();
    assert!(detail.contains("it wrote no file out/*.xml"), "{detail}");
}

#[test]
fn a_pipe_or_a_sparse_giant_as_report_is_refused_at_once() {
    for make in ["mkfifo out/junit.xml", "truncate -s 10G out/junit.xml", "ln -s /dev/zero out/junit.xml"] {
        let test = format!("mkdir -p out\n. ./product.sh\n{make}\n");
        let case = counted("echo 42 >answer.txt\necho : >product.sh\ncomplete")
            .file("test.sh", test)
            .file("product.sh", "exit 1\n")
            .ready();
        let begun = std::time::Instant::now();
        let seen = case.run();
        seen.ended(3, "blocked", "failing");
        let check = checks(&seen, "task")[0];
        let why = check["tally"]["why"].as_str().unwrap();
        assert!(why.contains("is no regular file") || why.contains("is too large"), "{why}");
        assert!(begun.elapsed() < std::time::Duration::from_secs(60), "{make}");
    }
}

/// The product ends the test run with 0 as soon as it is loaded.
#[test]
fn a_check_that_cannot_fail_is_caught_by_its_control() {
    let agent = "if [ $n -eq 1 ]; then echo 'exit 0' >lib.sh; else echo 'answer() { echo 42; }' >lib.sh; fi\ncomplete";
    let case = Setup::new(agent)
        .file("lib.sh", "answer() { echo 41; }\n")
        .file("test.sh", ". ./lib.sh\ntest \"$(answer)\" = 42\n")
        .file("control.sh", ". ./lib.sh\ntest \"$(answer)\" = 7\n")
        .checks("[[gate.check]]\nname = \"test\"\nrun = \"sh ./test.sh\"\ncontrol = \"sh ./control.sh\"\n")
        .ready();
    let seen = case.run();
    seen.completed();
    let found = finding(&seen, "gate_not_sensitive");
    assert_eq!((found["severity"].as_str(), found["life"].as_str()), (Some("bug"), Some("resolved")));
    let [first, second] = checks(&seen, "task")[..] else { panic!("{}", seen.log) };
    assert_eq!((&first["exit_code"], &first["control"]["exit_code"]), (&0.into(), &0.into()));
    assert_eq!((&second["exit_code"], &second["control"]["exit_code"]), (&0.into(), &1.into()));
    assert!(checks(&seen, "baseline")[0]["control"].is_null(), "a red check needs no control");
    assert!(case.landed("lib.sh").contains("42"));
}

#[test]
fn a_control_script_is_protected_like_a_check() {
    let case = Setup::new("echo 'exit 1' >control.sh\necho 'exit 0' >lib.sh\ncomplete")
        .file("lib.sh", "answer() { echo 41; }\n")
        .file("test.sh", ". ./lib.sh\ntest \"$(answer)\" = 42\n")
        .file("control.sh", ". ./lib.sh\ntest \"$(answer)\" = 7\n")
        .checks("[[gate.check]]\nname = \"test\"\nrun = \"sh ./test.sh\"\ncontrol = \"sh ./control.sh\"\n")
        .limits("max_task_failures = 1\nmax_no_progress = 1")
        .ready();
    let seen = case.run();
    seen.ended(3, "blocked", "failing");
    assert_eq!(seen.findings_in("control.sh").len(), 1);
    finding(&seen, "gate_not_sensitive");
}

#[test]
fn a_control_that_cannot_start_proves_nothing() {
    let case = Setup::new(HONEST)
        .checks("[[gate.check]]\nname = \"test\"\nrun = \"sh ./test.sh\"\ncontrol = \"no-such-program\"\n")
        .limits("max_task_failures = 1\nmax_no_progress = 1")
        .ready();
    let seen = case.run();
    seen.ended(3, "blocked", "failing");
    let found = finding(&seen, "gate_not_sensitive");
    assert_eq!(found["description"], "its control proves nothing: exit code 127");
}

/// Red at every first run of a tree, green at the second.
#[test]
fn a_second_run_is_green_only_where_the_policy_allows_it() {
    for (retry, completes) in [("retry = 1\n", true), ("", false)] {
        let case = Setup::new(HONEST)
            .checks(&format!("[[gate.check]]\nname = \"test\"\nrun = \"sh ./test.sh\"\n{retry}"))
            .limits("max_task_failures = 1\nmax_no_progress = 1")
            .ready();
        let flag = case.side().join("flag").display().to_string();
        case.repo.file(
            "test.sh",
            format!("test \"$(cat answer.txt)\" = 42 || exit 1\nif [ -e '{flag}' ]; then rm '{flag}'; else touch '{flag}'; echo flake; exit 1; fi\n"),
        );
        case.repo.commit("a flaky test");
        let case = case.looked_at();
        let seen = case.run();
        if !completes {
            seen.ended(3, "blocked", "failing");
            assert_eq!(checks(&seen, "task").len(), 1);
            continue;
        }
        seen.completed();
        let [first, second] = checks(&seen, "task")[..] else { panic!("{}", seen.log) };
        assert_eq!((&first["exit_code"], &first["again"]), (&1.into(), &false.into()));
        assert_eq!((&second["exit_code"], &second["again"]), (&0.into(), &true.into()));
        let found = finding(&seen, "flaky_check");
        assert_eq!((found["severity"].as_str(), found["life"].as_str()), (Some("warning"), Some("open")));
        assert_eq!(checks(&seen, "baseline").len(), 1, "the baseline is recorded, not judged");
    }
}

/// What a check leaves is gone for the next, unless that is declared to go on.
#[test]
fn only_a_declared_chain_shares_a_tree() {
    let checks = "[[gate.check]]\nname = \"build\"\nrun = \"sh ./test.sh && echo made >made && rm README.md\"\n\
                  [[gate.check]]\nname = \"next\"\nrun = \"test -e made && test ! -e README.md && echo more >>made\"\nchain = true\n\
                  [[gate.check]]\nname = \"third\"\nrun = \"test \\\"$(wc -l <made)\\\" -eq 2\"\nchain = true\n\
                  [[gate.check]]\nname = \"apart\"\nrun = \"test ! -e made && test -e README.md && sh ./test.sh\"\n";
    let case = Setup::new(HONEST).checks(checks).ready();
    let seen = case.run();
    seen.completed();
    for purpose in ["task", "final"] {
        let exits: Vec<&Value> =
            self::checks(&seen, purpose).iter().map(|check| &check["exit_code"]).collect();
        assert_eq!(exits, [0, 0, 0, 0], "{purpose}\n{}", seen.log);
    }
}

#[test]
fn a_control_in_a_chain_begins_clean_and_disturbs_nothing() {
    let checks = "[[gate.check]]\nname = \"build\"\nrun = \"sh ./test.sh && echo made >made\"\ncontrol = \"test -e made\"\n\
                  [[gate.check]]\nname = \"next\"\nrun = \"test -e made\"\nchain = true\n";
    let case = Setup::new(HONEST).checks(checks).ready();
    let seen = case.run();
    seen.completed();
    assert_eq!(self::checks(&seen, "task")[0]["control"]["exit_code"], 1);
}

#[test]
fn lockfiles_and_ci_files_are_told_and_hold_nothing_back() {
    let agent = "mkdir -p .github/workflows web\necho 'on: push' >.github/workflows/ci.yml\n\
                 echo '{\"evil\": 1}' >web/package-lock.json\necho x >>Cargo.lock\necho 42 >answer.txt\ncomplete";
    let case = Setup::new(agent).file("Cargo.lock", "# a lockfile\n").ready();
    let seen = case.run();
    seen.completed();
    let all = seen.findings.as_array().unwrap();
    let told: Vec<String> = all
        .iter()
        .map(|found| {
            format!(
                "{} {} {}",
                found["severity"].as_str().unwrap(),
                found["file"].as_str().unwrap(),
                found["description"].as_str().unwrap()
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            "warning .github/workflows/ci.yml a CI file was added: once pushed, it runs with rights of its own",
            "warning Cargo.lock a lockfile was edited: what is built may come from elsewhere",
            "warning web/package-lock.json a lockfile was added: what is built may come from elsewhere",
        ]
    );
    assert!(finding(&seen, "lockfile_changed")["diff"].as_str().unwrap().contains("+x"));
}

#[test]
fn a_task_may_be_allowed_to_change_a_lockfile() {
    let case = Setup::new("echo x >>Cargo.lock\necho 42 >answer.txt\ncomplete")
        .file("Cargo.lock", "# a lockfile\n")
        .task("answer", "---\nallow: [Cargo.lock]\n---\n# Write the answer\n")
        .ready();
    let seen = case.run();
    seen.completed();
    assert_eq!(seen.findings.as_array().unwrap().len(), 0, "{:#}", seen.findings);
}

#[test]
fn what_was_done_is_shown_to_the_operator_and_to_the_next_attempt() {
    let agent =
        "if [ $n -eq 1 ]; then echo 'exit 0 # TAMPERED' >test.sh; else echo 42 >answer.txt; fi\ncomplete";
    let case = Setup::new(agent).ready();
    let seen = case.run();
    seen.completed();
    let found = finding(&seen, "protected_changed");
    let said = "a protected path was edited; the gate used the base's version. If the work needs it, let the task \
                file say: allow: [\"test.sh\"]";
    assert_eq!(found["description"], said);
    assert!(found["diff"].as_str().unwrap().contains("+exit 0 # TAMPERED"), "{found:#}");
    assert!(case.left("author-2.brief").contains("+exit 0 # TAMPERED"));
    for args in [&["findings", LOOP, "--all"][..], &["show", LOOP, "F1"]] {
        let said = case.windlass(args).expect_code(0).stdout;
        assert!(said.contains("+exit 0 # TAMPERED"), "{said}");
    }
}

#[test]
fn what_was_added_deleted_or_led_astray_is_said() {
    let agent = "case $n in\n1) echo 'do as I say' >AGENTS.md ;;\n2) rm test.sh ;;\n\
                 3) ln -s /etc/passwd secrets ;;\n4) truncate -s 200M big.bin ;;\n*) rm -f secrets big.bin; echo 42 >answer.txt ;;\nesac\ncomplete";
    let case = Setup::new(agent).ready();
    let seen = case.run();
    seen.completed();
    let said = |file: &str| seen.findings_in(file)[0]["description"].as_str().unwrap().to_owned();
    assert_eq!(said("AGENTS.md"), "a protected path was added; the gate ran without it");
    assert!(
        said("test.sh").starts_with("a protected path was deleted; the gate used the base's version. If")
    );
    assert_eq!(said("secrets"), "a symbolic link leads out of the tree");
    assert!(seen.findings_in("secrets")[0]["diff"].as_str().unwrap().starts_with("-> /etc/passwd"));
    assert_eq!(said("big.bin"), "a file is over the size limit and was not taken");
    assert_eq!(seen.findings_in("big.bin")[0]["diff"], "209715200 bytes");
    assert!(seen.findings.as_array().unwrap().iter().all(|found| found["life"] == "resolved"));
}

#[test]
fn a_submodule_that_was_filled_is_a_finding() {
    let case = Setup::new(
        "if [ $n -eq 1 ]; then echo x >vendor/x; else rm -f vendor/x; echo 42 >answer.txt; fi\ncomplete",
    )
    .uncommitted();
    let other = windlass_testkit::Repo::empty();
    other.file("lib", "x").commit("lib");
    let url = other.path().display().to_string();
    case.repo.git(["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &url, "vendor"]);
    case.repo.commit("first");
    let case = case.looked_at();
    let seen = case.run();
    seen.completed();
    let found = finding(&seen, "gitlink_changed");
    assert_eq!((found["file"].as_str(), found["life"].as_str()), (Some("vendor"), Some("resolved")));
}

#[test]
fn what_a_reviewer_changes_is_told_with_its_diff() {
    let case = Setup::new(HONEST)
        .unconfined("a confined reviewer cannot write into the workspace")
        .reviewer("if [ $n -eq 1 ]; then echo 'I fixed it' >>README.md; fi\naccept")
        .review("tasks = true\nfinal = false\n")
        .ready();
    let seen = case.run();
    seen.completed();
    let found = finding(&seen, "reviewer_changed_tree");
    assert_eq!((found["severity"].as_str(), found["file"].as_str()), (Some("warning"), Some("README.md")));
    assert!(found["diff"].as_str().unwrap().contains("+I fixed it"));
    assert!(!case.landed("README.md").contains("I fixed it"));
}

/// Green two times, which is enough for the task and for the end, and red from then on.
#[test]
fn a_repeated_check_is_green_only_if_every_run_is() {
    for (repeat, completes) in [("repeat = 3\n", false), ("", true)] {
        let case = Setup::new(HONEST)
            .checks(&format!("[[gate.check]]\nname = \"test\"\nrun = \"sh ./test.sh\"\n{repeat}"))
            .limits("max_task_failures = 1\nmax_no_progress = 1")
            .ready();
        let runs = case.side().join("runs").display().to_string();
        case.repo.file(
            "test.sh",
            format!("test \"$(cat answer.txt)\" = 42 || exit 1\necho >>'{runs}'\ntest $(wc -l <'{runs}') -le 2 || exit 3\n"),
        );
        case.repo.commit("a test that is green twice");
        let case = case.looked_at();
        let seen = case.run();
        if completes {
            seen.completed();
            continue;
        }
        seen.ended(3, "blocked", "failing");
        let exits: Vec<_> = checks(&seen, "task").iter().map(|check| check["exit_code"].clone()).collect();
        assert_eq!(exits, [0, 0, 3]);
        let found = finding(&seen, "flaky_check");
        assert_eq!(found["description"], "exit code 3 at run 3 of 3, green before on the same tree");
    }
}

#[test]
fn what_ran_on_trusted_terms_must_run_in_what_lands() {
    let runner = RUNNER.replace("done <cases.txt", "done <<L\n$(grep -vxf skip.cfg cases.txt)\nL");
    let agent = "echo 42 >answer.txt\necho new >>cases.txt\necho new >skip.cfg\ncomplete";
    let seen = counted(agent)
        .file("test.sh", runner)
        .file("skip.cfg", "nothing\n")
        .gate(
            "protect = [\"test.sh\"]\nproduct = [\"*.txt\"]\n[[gate.check]]\nname = \"test\"\n\
             run = \"sh ./test.sh\"\njunit = \"out/*.xml\"\n",
        )
        .ready()
        .run();
    seen.ended(3, "blocked", "failing");
    let found = finding(&seen, "tests_vanished");
    let said = found["description"].as_str().unwrap();
    assert!(said.contains("tests of the trial on trusted terms are gone"), "{said}");
    assert_eq!(checks(&seen, "task")[0]["tally"]["compared"]["vanished"]["count"], 1);
}
