//! Open-ended loops: one step in each iteration, until windlass itself sees the end.

use std::time::{Duration, Instant};

use serde_json::Value;
use windlass_testkit::{Repo, capability, poll};

use crate::case::{Case, LONG, LOOP, RUN, Seen, Setup};

const GUIDE: &str = include_str!("../../../../docs/guide/open-ended.md");

/// One line more than before, and it is the next number.
const COUNTED: &str = r#"was=$(wc -l <"$WINDLASS_PREVIOUS/seq.txt") is=$(wc -l <seq.txt)
[ $((is - was)) -eq 1 ] || { echo "not one number but $((is - was))"; exit 1; }
[ "$(tail -n 1 seq.txt)" = "$is" ] || { echo "the next number is $is"; exit 1; }
"#;

/// Counts on by one.
const COUNTS: &str = "echo $(($(tail -n 1 seq.txt) + 1)) >>seq.txt\n";

fn counting(agent: &str, last: u32) -> Setup {
    let stop = format!(
        "[stop]\nstep_check = \"sh ./one-step.sh\"\n[[stop.check]]\nname = \"end\"\n\
         run = '[ \"$(tail -n 1 seq.txt)\" = {last} ]'\n"
    );
    counting_until(agent, &stop)
}

fn counting_until(agent: &str, stop: &str) -> Setup {
    Setup::new(agent)
        .checks("")
        .file("seq.txt", "1\n")
        .file("one-step.sh", COUNTED)
        .task("count", "# Count\n\nAppend the next number to seq.txt.\n")
        .more(&format!("[budget]\nwall = \"2h\"\n{stop}"))
}

fn numbers(case: &Case) -> Vec<u64> {
    case.landed("seq.txt").lines().map(|line| line.parse().expect("a number")).collect()
}

/// Each step landed once, and the stop checks were looked at once before the first and once after each.
#[track_caller]
fn stepped(seen: &Seen, steps: usize) {
    assert_eq!(seen.view["stop"]["steps"].as_u64(), Some(steps as u64), "{}", seen.log);
    assert_eq!(seen.log.count("step_landed"), steps, "{}", seen.log);
    assert_eq!(seen.log.count("stop_checked"), steps + 1, "{}", seen.log);
    assert_eq!(seen.view["stop"]["holds"], true);
    assert_eq!(seen.view["stop"]["tree"], seen.view["tree"]);
}

/// strict-agent-loop 3.
#[test]
fn it_ends_when_the_stop_checks_hold_and_not_when_an_agent_says_so() {
    let case = counting(&format!("{COUNTS}complete"), 5).ready();
    let seen = case.run();
    seen.completed().task_is("count", "done", None);
    stepped(&seen, 4);
    assert_eq!(numbers(&case), [1, 2, 3, 4, 5]);
    assert_eq!(seen.view["iteration"], 4);
    assert_eq!(seen.view["max_iterations"], 0, "no limit unless it is written");
    assert_eq!(seen.view["unchecked"], false, "the step check and the stop checks speak for it");
    let said = &seen.log.of("stop_checked")[1]["results"][0];
    assert_eq!((said["check"].as_str(), said["holds"].as_bool()), (Some("end"), Some(false)), "{said}");
    let titles = case.repo.git(["log", "--format=%s", &format!("HEAD..windlass/{LOOP}")]);
    assert_eq!(titles.lines().next(), Some("Count (step 4)"), "{titles}");
    let brief = case.left("author-2.brief");
    assert!(
        brief.contains("iteration 2 (there is no limit)") && brief.contains("exactly one step"),
        "{brief}"
    );
    let status = case.windlass(&["status", LOOP]).expect_code(0);
    assert!(status.stdout.contains("4 steps landed; all stop checks hold"), "{status}");
    assert!(status.stdout.contains("holds, end: exit code 0"), "{status}");
    let trail = case.repo.path().join(".windlass/loops").join(LOOP);
    let report = std::fs::read_to_string(trail.join("stop-report.json")).expect("a trail");
    let report: Value = serde_json::from_str(&report).expect("JSON");
    assert_eq!(report["stop"]["checks"][0]["holds"], true, "{report:#}");
}

#[test]
fn the_proof_shows_the_stop_checks_on_the_landed_tree() {
    let stop = "[stop]\nstep_check = \"sh ./one-step.sh\"\n[[stop.check]]\nname = \"end\"\nrun = 'grep -qx 3 seq.txt'\n\
                [[stop.check]]\nname = \"line\"\nmatches = { file = \"seq.txt\", pattern = '(?m)^3$' }\n";
    let case = counting_until(COUNTS, stop).ready();
    case.run().completed();
    let proof = case.windlass(&["prove", LOOP, "--rerun", "--json"]).expect_code(0).json();
    let steps = proof["steps"].as_array().expect("a list");
    let detail = |name: &str| {
        let step = steps.iter().find(|step| step["step"] == name).unwrap_or_else(|| panic!("{proof:#}"));
        step["detail"].as_str().unwrap_or_default().to_owned()
    };
    let held = "2 stop checks held on exactly the landed tree, 1 looked at again; 2 steps green";
    assert_eq!(detail("stop"), held);
    assert_eq!(detail("gate"), "no final check exists: the stop checks speak for the end");
    assert!(detail("rerun").ends_with("; 2 stop checks looked at again"), "{}", detail("rerun"));
    let usual = Setup::new("echo 42 >answer.txt\ncomplete").ready();
    usual.run().completed();
    let proof = usual.windlass(&["prove", LOOP, "--json"]).expect_code(0).stdout;
    assert!(!proof.contains("stop check"), "only an open-ended loop has them: {proof}");
}

#[test]
fn two_at_once_one_left_out_and_the_end_at_once_are_caught_every_time() {
    let agent = r#"case $n in
1) printf '2\n3\n' >>seq.txt ;;
2) echo 3 >>seq.txt ;;
3) echo 4 >>seq.txt ;;
4) echo 'exit 0' >one-step.sh; printf '2\n3\n4\n' >>seq.txt ;;
5) : ;;
*) echo $(($(tail -n 1 seq.txt) + 1)) >>seq.txt ;;
esac
complete"#;
    let case = counting(agent, 4).ready();
    let seen = case.run();
    seen.completed();
    stepped(&seen, 3);
    assert_eq!(numbers(&case), [1, 2, 3, 4]);
    let results: Vec<&str> =
        seen.log.of("iteration_closed").iter().filter_map(|line| line["result"].as_str()).collect();
    let bad = ["failed", "failed", "failed", "failed", "no_progress"];
    assert_eq!(results, [&bad[..], &["stepped"; 3]].concat());
    let opened = seen.log.of("iteration_opened");
    let base = &seen.view["base_tree"];
    assert!(opened[..6].iter().all(|line| line["tree"] == *base), "each begins anew: {}", seen.log);
    let brief = case.left("author-2.brief");
    assert!(brief.contains("not one number but 2"), "{brief}");
    assert!(brief.contains("begin this step anew"), "{brief}");
    assert!(case.left("author-3.brief").contains("the next number is 2"));
    assert_eq!(
        seen.findings_in("one-step.sh").len(),
        1,
        "a script of a check is protected: {:#}",
        seen.findings
    );
    assert_eq!(seen.task("count")["failures"], 0, "a landed step begins anew");
}

#[test]
fn an_agent_that_never_makes_one_step_blocks_its_task() {
    let case = counting("printf '2\\n3\\n' >>seq.txt\necho \"$n\" >>noise.txt\ncomplete", 3).ready();
    let seen = case.run();
    seen.ended(3, "blocked", "failing").task_is("count", "blocked", Some("failing"));
    assert_eq!(seen.log.count("step_landed"), 0);
    let blocked = counting(
        "say '\"status\":\"blocked\",\"summary\":\"no key\",\"blockers\":[\"no key\"],\"next\":[]'",
        3,
    );
    blocked.ready().run().ended(3, "blocked", "agent_blocked");
}

#[test]
fn each_kind_of_stop_check_holds_when_it_should() {
    let stop = r#"[[stop.check]]
name = "run"
run = "test -e a"
[[stop.check]]
name = "exists"
exists = "dir/b"
[[stop.check]]
name = "contains"
contains = { file = "c.txt", text = "all done" }
[[stop.check]]
name = "matches"
matches = { file = "d.txt", pattern = '(?m)^end: [0-9]+$' }
[[stop.check]]
name = "json"
json = { file = "e.json", path = "jobs.0.left", equals = 0 }
"#;
    let agent = r#"case $n in
1) touch a ;;
2) mkdir real; touch real/b; ln -s real dir; echo x >c.txt ;;
3) rm dir; mkdir dir; touch dir/b ;;
4) echo 'it is all done' >c.txt ;;
5) printf 'x\nend: 12\n' >d.txt ;;
6) echo '{"jobs": [{"left": 0}]}' >e.json ;;
esac
complete"#;
    let case = counting_until(agent, &format!("[stop]\nstep_check = \"true\"\n{stop}")).ready();
    let held = |seen: &Value| -> String {
        let checks = seen["checks"].as_array().expect("a list");
        let held = checks.iter().filter(|check| check["holds"] == true);
        held.filter_map(|check| check["check"].as_str()).collect::<Vec<_>>().join(" ")
    };
    for (steps, due) in [("2", "run"), ("2", "run exists contains"), ("1", "run exists contains matches")] {
        case.windlass(&["run", "--name", LOOP, "--max", steps]).expect_code(0);
        let view = case.status();
        assert_eq!(held(&view["stop"]), due, "{:#}", view["stop"]);
        let checked = case.windlass(&["check", LOOP, "--json"]).expect_code(1).json();
        assert_eq!((held(&checked).as_str(), &checked["stop"]), (due, &Value::Bool(false)), "{checked:#}");
    }
    case.run().completed();
    let checked = case.windlass(&["check", LOOP]).expect_code(0);
    assert!(checked.stdout.contains("stop: all hold"), "{checked}");
}

#[test]
fn an_interrupted_step_counts_once_and_a_look_changes_nothing() {
    let agent = format!("{COUNTS}if [ $n = 2 ]; then hold; fi\ncomplete");
    let case = counting(&agent, 4).ready();
    let running = case.start_until("author", 2);
    assert!(poll::until(LONG, || case.log().count("step_landed") == 1));
    let before = case.log().len();
    let checked = case.windlass(&["check", LOOP]).expect_code(1);
    assert!(checked.stdout.contains("open   end: exit code 1"), "{checked}");
    assert_eq!(case.log().len(), before, "nothing is recorded");
    running.kill();
    case.all_die();
    let seen = case.run();
    seen.completed();
    stepped(&seen, 3);
    assert_eq!(numbers(&case), [1, 2, 3, 4]);
    assert_eq!(seen.view["iteration"], 3, "the same iteration again");
    assert!(
        case.left("author-3.brief").contains("is not in the workspace"),
        "{}",
        case.left("author-3.brief")
    );
    case.windlass(&["check", LOOP]).expect_code(0);
}

#[test]
fn an_end_that_is_reached_already_needs_no_step() {
    let case = counting(COUNTS, 1).ready();
    let seen = case.run();
    seen.ended(3, "blocked", "nothing_changed");
    assert_eq!((case.turns("author"), seen.log.count("stop_checked")), (0, 1));
}

#[test]
fn a_written_limit_ends_it() {
    let case = counting(COUNTS, 99).limits("max_iterations = 3").ready();
    let seen = case.run();
    seen.ended(4, "limit", "max_iterations");
    assert_eq!(numbers(&case), [1, 2, 3, 4]);
    case.windlass(&["check", LOOP]).expect_code(1);
}

/// What is wrong with a policy, and a part of what is said about it.
const REFUSED: [(&str, &str); 12] = [
    ("[[stop.check]]\nname = \"a\"\nexists = \"a\"\n", "an open-ended loop needs a limit"),
    ("[budget]\nwall = \"1h\"\n[stop]\nstep_check = \"true\"\n", "has no effect without a stop check"),
    ("[[stop.check]]\nname = \"a\"\n", "the stop check \"a\" has no condition"),
    (
        "[[stop.check]]\nname = \"a\"\nrun = \"true\"\nexists = \"a\"\n",
        "the stop check \"a\" has two conditions",
    ),
    ("[[stop.check]]\nexists = \"a\"\n", "a check has no name"),
    ("[[stop.check]]\nname = \"a\"\nexits = \"a\"\n", "did you mean `exists`?"),
    ("[[stop.check]]\nname = \"a\"\nexists = \"../a\"\n", "leads out of the repository"),
    ("[[stop.check]]\nname = \"a\"\ncontains = { file = \"a\" }\n", "`stop.check.contains` has no `text`"),
    (
        "[[stop.check]]\nname = \"a\"\nmatches = { file = \"a\", pattern = \"(\" }\n",
        "is not a pattern: unclosed group",
    ),
    (
        "[[stop.check]]\nname = \"a\"\njson = { file = \"a\", path = \"b\", equals = 1979-05-27 }\n",
        "must be a value of JSON",
    ),
    (
        "[[stop.check]]\nname = \"a\"\nrun = \"sh ./absent.sh\"\n[budget]\nwall = \"1h\"\n",
        "names `absent.sh`, which is not in the base",
    ),
    ("[stop]\ncheck = \"true\"\n", "write `[[stop.check]]`, with two brackets"),
];

#[test]
fn a_policy_that_cannot_be_meant_is_refused_before_anything_starts() {
    for (tables, said) in REFUSED {
        let case = Setup::new(COUNTS).task("count", "# Count\n").more(tables).ready();
        let ran = case.windlass(&["run", "--name", LOOP]).expect_code(2);
        assert!(ran.stderr.contains(said), "{said}\n{ran}");
        case.nothing_was_made();
    }
    let two = Setup::new(COUNTS).task("a", "# A\n").task("b", "# B\n");
    let case = two.more("[budget]\nwall = \"1h\"\n[[stop.check]]\nname = \"a\"\nexists = \"a\"\n").ready();
    let ran = case.windlass(&["run", "--name", LOOP]).expect_code(2);
    assert!(ran.stderr.contains("its plan must have exactly one task, and has 2"), "{ran}");
    case.nothing_was_made();
    let usual = Setup::new("echo 42 >answer.txt\ncomplete").ready();
    usual.run().completed();
    let ran = usual.windlass(&["check", LOOP]).expect_code(2);
    assert!(ran.stderr.contains("has no stop checks"), "{ran}");
}

/// strict-agent-loop 1.
#[test]
fn collatz_from_27_takes_111_steps_whatever_is_killed() {
    let kills = if capability::full() { 20 } else { 3 };
    let repo = Repo::empty();
    let [_, policy] = blocks("toml");
    let [step, agent] = blocks("sh");
    repo.file("seq.txt", "27\n").file("one-step.sh", step).file("agent.sh", agent);
    let sentence = "Append the next number of the\nCollatz sequence to seq.txt.";
    assert!(GUIDE.contains(sentence), "the guide has the task");
    repo.file("tasks/collatz.md", format!("# Collatz\n\n{sentence}\n"));
    let case = Case::of(repo, &format!("{policy}[sandbox]\nminimum = \"none\"\n"));
    let mut draw = Draw(27);
    for kill in 0..kills {
        kill_after(&case, kill * 105 / kills, draw.below(250));
    }
    let began = Instant::now();
    let seen = case.run();
    let took = began.elapsed();
    seen.completed();
    let steps = 111;
    stepped(&seen, steps);
    assert_eq!(numbers(&case), collatz(27));
    assert_eq!(seen.view["iteration"], steps, "no step was counted twice");
    let summary = seen.view["completion_summary"].as_str().map(str::trim_end);
    assert_eq!(summary, Some("111 steps, the highest number is 9232"));
    println!("after {kills} kills the rest took {took:?}");
}

/// The blocks of the guide in this language.
fn blocks(language: &str) -> [&'static str; 2] {
    let fence = format!("```{language}\n");
    let block = |part: &'static str| part.split_once("```").expect("a block has an end").0;
    let found: Vec<&str> = GUIDE.split(fence.as_str()).skip(1).map(block).collect();
    found.try_into().unwrap_or_else(|found: Vec<&str>| panic!("{} blocks of {language}", found.len()))
}

fn collatz(from: u64) -> Vec<u64> {
    let next = |n: &u64| (*n != 1).then(|| if n.is_multiple_of(2) { n / 2 } else { 3 * n + 1 });
    std::iter::successors(Some(from), next).collect()
}

/// Kills the supervisor so many milliseconds after so many steps have landed.
fn kill_after(case: &Case, steps: usize, millis: u64) {
    let events = case.repo.path().join(".windlass/loops").join(LOOP).join("events.jsonl");
    let landed = || {
        let text = std::fs::read_to_string(&events).unwrap_or_default();
        text.matches("\"event\":\"step_landed\"").count()
    };
    let mut running = case.start();
    assert!(poll::until(RUN, || running.has_ended() || landed() >= steps), "the step never came");
    let end = Instant::now() + Duration::from_millis(millis);
    assert!(poll::until(RUN, || running.has_ended() || Instant::now() >= end), "the moment never came");
    assert!(!running.has_ended(), "it ended by itself: {}", running.finish(RUN));
    running.kill();
}

/// The same numbers on every machine.
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}
