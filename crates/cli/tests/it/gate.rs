//! The gate from outside: a clean tree each time, a fixed environment, and
//! nothing of what a check does lands.

use crate::case::{LOOP, RUN, Setup, TEST};

const HONEST: &str = "echo 42 >answer.txt\ncomplete";

#[test]
fn each_run_of_a_check_begins_clean_and_nothing_of_it_lands() {
    let test = format!("test ! -e produced.txt || exit 9\necho x >produced.txt\necho x >>README.md\n{TEST}");
    let case = Setup::new(HONEST).file("test.sh", test).ready();
    let seen = case.run();
    seen.completed();
    assert!(
        seen.log.of("check_finished").iter().all(|line| line["result"]["exit_code"] != 9),
        "{}",
        seen.log
    );
    assert_eq!(case.repo.git(["diff", "--name-only", "HEAD", &format!("windlass/{LOOP}")]), "answer.txt");
}

#[test]
fn a_check_that_undoes_the_work_undoes_its_own_copy() {
    let case = Setup::new(HONEST)
        .file("test.sh", format!("{TEST}status=$?\nrm -rf ./* 2>/dev/null\nexit $status\n"))
        .ready();
    case.run().completed();
    case.branch_passes_the_base_test();
}

#[test]
fn checks_run_in_order_and_all_are_told() {
    let checks = "[[gate.check]]\nname = \"first\"\nrun = \"exit 3\"\n\
                  [[gate.check]]\nname = \"second\"\nrun = \"sh ./test.sh\"\n";
    let case =
        Setup::new("echo $n >>answer.txt\ncomplete").checks(checks).limits("max_task_failures = 1").ready();
    let seen = case.run();
    seen.blocked("failing");
    let gate = &seen.view["gate"];
    assert_eq!(
        (&gate["purpose"], &gate["task"], &gate["passed"]),
        (&"task".into(), &"answer".into(), &false.into())
    );
    assert_eq!(gate["checks"][0]["ending"], "exit code 3", "it stays after the end: {gate:#}");
    assert_eq!(seen.view["baseline"]["checks"].as_array().map(Vec::len), Some(2));
    let page = case.windlass(&["status", LOOP]).expect_code(0);
    assert!(page.stdout.contains("red (answer), first: exit code 3"), "{page}");
    let told: Vec<_> =
        seen.log.of("check_finished").into_iter().filter(|line| line["purpose"] == "task").collect();
    let told: Vec<_> = told
        .iter()
        .map(|line| (line["result"]["check"].as_str(), line["result"]["exit_code"].as_i64()))
        .collect();
    assert_eq!(told, [(Some("first"), Some(3)), (Some("second"), Some(1))]);
}

#[test]
fn a_check_has_no_terminal_no_input_and_no_secret() {
    let case = Setup::new(HONEST).ready();
    let side = case.side().display().to_string();
    case.repo.file(
        "test.sh",
        format!("cat >'{side}/input'\nenv >'{side}/check-env'\npwd >'{side}/check-cwd'\n{TEST}"),
    );
    case.repo.commit("a curious test");
    let case = case.looked_at();
    let mut command = case.command(&["run", "--name", LOOP]);
    command
        .env("AWS_SECRET_ACCESS_KEY", "canary")
        .env("PATH", format!(".:node_modules/.bin:{}", std::env::var("PATH").unwrap()));
    let ran = case.home.start(command).finish(RUN);
    let seen = case.look(ran);
    seen.completed();
    let env = case.left("check-env");
    assert_eq!(case.left("input"), "");
    assert!(!env.contains("canary") && !env.contains("WINDLASS_REPORT"), "{env}");
    let path = env.lines().find_map(|line| line.strip_prefix("PATH=")).unwrap();
    assert!(path.split(':').all(|entry| entry.starts_with('/')), "no entry a repository could fill: {path}");
    assert_ne!(
        case.left("check-cwd").trim(),
        seen.view["workspace"].as_str().unwrap(),
        "not where the agent works"
    );
}

#[test]
fn a_check_that_does_not_start_is_red() {
    let case = Setup::new(HONEST)
        .checks("[[gate.check]]\nname = \"test\"\nrun = \"env no-such-program --at-all\"\n")
        .limits("max_task_failures = 1\nmax_no_progress = 1")
        .ready();
    let seen = case.run();
    seen.blocked("failing");
    let check = seen.log.of("check_finished").pop().unwrap();
    assert_eq!(check["result"]["exit_code"], 127, "{check}");
}

#[test]
fn a_check_whose_program_is_nowhere_is_refused_before_anything_starts() {
    let check = "[[gate.check]]\nname = \"test\"\nrun = \"no-such-program --at-all\"\n";
    let case = Setup::new(HONEST).checks(check).ready();
    let ran = case.windlass(&["run", "--name", LOOP]).expect_code(2);
    let said = ran.stderr.replace('\n', " ");
    assert!(said.contains("check `test` cannot run: there is no program no-such-program on PATH"), "{ran}");
    case.nothing_was_made();
    // What a set-up brings is not known before it has run.
    let brought = "[workspace]\nsetup = [\"true\"]\n";
    let case = Setup::new(HONEST).checks(check).more(brought).limits("max_iterations = 1").ready();
    assert_eq!(case.run().log.of("check_finished")[0]["result"]["exit_code"], 127);
}

#[test]
fn a_check_killed_by_a_signal_is_red() {
    let case = Setup::new(HONEST)
        .file("test.sh", "kill -SEGV $$\n")
        .limits("max_task_failures = 1\nmax_no_progress = 1")
        .ready();
    let seen = case.run();
    seen.blocked("failing");
}

#[test]
fn the_last_useful_lines_of_a_red_check_are_in_the_next_brief() {
    let test = format!(
        "i=0; while [ $i -lt 500 ]; do echo \"line $i of much\"; i=$((i + 1)); done\necho 'expected 42' >&2\n{TEST}"
    );
    let case =
        Setup::new("if [ $n -gt 1 ]; then echo 42 >answer.txt; else echo 41 >answer.txt; fi\ncomplete")
            .file("test.sh", test)
            .ready();
    case.run().completed();
    let brief = case.left("author-2.brief");
    assert!(brief.contains("expected 42"), "{brief}");
    assert!(brief.len() < 100_000, "bounded: {}", brief.len());
}

#[test]
fn special_files_are_not_waited_for() {
    let agent = "mkfifo pipe\nmkdir -p run && mkfifo run/other\necho 42 >answer.txt\ncomplete";
    let case = Setup::new(agent).ready();
    let seen = case.run();
    seen.completed();
    assert_eq!(case.repo.git(["diff", "--name-only", "HEAD", &format!("windlass/{LOOP}")]), "answer.txt");
    assert_eq!(seen.findings_in("pipe").len(), 1, "{}", seen.findings);
}

/// Root reads everything; for anybody else it is a finding, and no end of the loop.
#[test]
fn what_cannot_be_read_does_not_end_the_loop() {
    let agent = "if [ $n -eq 1 ]; then mkdir locked; echo x >locked/file; chmod 000 locked; echo x >secret; chmod 000 secret; exit 0; fi\n\
                 chmod 700 locked secret 2>/dev/null; rm -rf locked secret\necho 42 >answer.txt\ncomplete";
    let case = Setup::new(agent).ready();
    case.run().completed();
    case.branch_passes_the_base_test();
}

/// More than a pipe holds, to a program that does not read.
#[test]
fn an_agent_that_never_reads_its_brief() {
    let long = format!("# Write the answer\n\n{}", "Every word of this counts.\n".repeat(2_000));
    let case = Setup::new("").task("answer", &long).ready();
    std::fs::write(case.side().join("agent.sh"), "exec </dev/null\necho 42 >answer.txt\n").unwrap();
    case.run().completed();
}
