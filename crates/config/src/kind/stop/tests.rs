//! Stop checks in; policies, refusals and limits out.

use windlass_core::policy::{CheckPolicy, CheckWhen};
use windlass_core::stop::{StopCheck, StopCondition};
use windlass_core::time::Millis;

use crate::tests::format;
use crate::{Layer, LayerKind, Resolved};

const KINDS: &str = r#"[loop]
max_iterations = 9
[gate]
timeout = "10s"
[stop]
step_check = "sh ./one-step.sh"
[[stop.check]]
name = "reached one"
run = '[ "$(tail -n 1 seq.txt)" = 1 ]'
[[stop.check]]
name = "there"
exists = "./out/"
[[stop.check]]
name = "said"
contains = { file = "f", text = "a \"b\"" }
[[stop.check]]
name = "line"
matches = { file = "f", pattern = '(?m)^\d+$' }
[[stop.check]]
name = "value"
json = { file = "f", path = "a.b", equals = { n = [1, 2.5, true, "x"] } }
"#;

fn resolved(text: &str) -> Resolved {
    let layer = Layer::new(LayerKind::Project, "windlass.toml", text);
    format().resolve(vec![layer]).unwrap_or_else(|error| panic!("{error}"))
}

fn refused(text: &str) -> String {
    let layer = Layer::new(LayerKind::Project, "windlass.toml", text);
    let error = format().resolve(vec![layer]).expect_err(text);
    let short = |problem: &crate::ConfigProblem| {
        let (line, column) = problem.at.expect("a place in the file");
        format!("{line}:{column} {} | {}", problem.message, problem.help)
    };
    error.problems.iter().map(short).collect::<Vec<_>>().join("\n")
}

#[test]
fn every_condition_is_read() {
    let policy = resolved(KINDS).policy;
    let step = policy.gate.step.expect("a step check");
    assert_eq!(*step, CheckPolicy::of_step("sh ./one-step.sh", Millis::seconds(10)));
    assert_eq!((step.when, step.control.as_str()), (CheckWhen::Task, "off"));
    let check = |name: &str, condition| StopCheck { name: name.to_owned(), condition };
    let f = || "f".to_owned();
    assert_eq!(
        policy.stop.checks,
        [
            check("reached one", StopCondition::Run { run: "[ \"$(tail -n 1 seq.txt)\" = 1 ]".to_owned() }),
            check("there", StopCondition::Exists { path: "out".to_owned() }),
            check("said", StopCondition::Contains { file: f(), text: "a \"b\"".to_owned() }),
            check("line", StopCondition::Matches { file: f(), pattern: "(?m)^\\d+$".to_owned() }),
            check(
                "value",
                StopCondition::Json {
                    file: f(),
                    path: "a.b".to_owned(),
                    equals: "{\"n\":[1,2.5,true,\"x\"]}".to_owned()
                }
            ),
        ]
    );
}

#[test]
fn what_is_shown_reads_back_as_the_same() {
    let policy = resolved(KINDS).policy;
    let key = |name: &str| format().show(name, &policy).expect("a key");
    let text = format!(
        "[loop]\nmax_iterations = 9\n[gate]\ntimeout = \"10s\"\n[stop]\nstep_check = {}\ncheck = {}\n",
        key("stop.step_check"),
        key("stop.check")
    );
    assert_eq!(resolved(&text).policy, policy, "{text}");
}

#[test]
fn an_open_ended_loop_has_only_the_iteration_limit_that_was_written() {
    let stop = "[[stop.check]]\nname = \"a\"\nexists = \"a\"\n";
    let limit = |text: &str| resolved(text).policy.limits.max_iterations;
    assert_eq!(limit(&format!("[budget]\nwall = \"1h\"\n{stop}")), 0);
    assert_eq!(limit(&format!("[loop]\nmax_iterations = 30\n{stop}")), 30);
    assert_eq!(limit("[budget]\nwall = \"1h\"\n"), 30);
    for budget in ["tokens = 5", "cost_usd = 1.5", "wall = \"1s\""] {
        assert_eq!(limit(&format!("[budget]\n{budget}\n{stop}")), 0, "{budget}");
    }
    let help =
        "write [budget] with wall, tokens or cost_usd, such as wall = \"8h\", or [loop] with max_iterations";
    assert_eq!(
        refused(stop),
        format!("1:8 an open-ended loop needs a limit, and this one has none | {help}")
    );
    assert!(refused(&format!("[loop]\nmax_iterations = 0\n{stop}")).contains("needs a limit"));
}

#[test]
fn a_policy_in_force_keeps_the_limit_that_was_written_for_it() {
    let policy = resolved(KINDS).policy;
    let revised = format().revise(&policy, None, &["gate.timeout=1m".to_owned()]).expect("fits");
    assert_eq!(revised.policy.limits.max_iterations, 9);
    let without = format().revise(&policy, None, &["loop.max_iterations=0".to_owned()]);
    assert!(without.is_err_and(|error| error.to_string().contains("needs a limit")));
}

#[test]
fn what_cannot_be_meant_is_refused_at_its_place() {
    let at = |check: &str| refused(&format!("[budget]\nwall = \"1h\"\n[[stop.check]]\n{check}\n"));
    let one = "give it exactly one of `run`, `exists`, `contains`, `matches`, `json`";
    let cases = [
        ("name = \"a\"", format!("4:8 the stop check \"a\" has no condition | {one}")),
        (
            "name = \"a\"\nexists = \"a\"\nrun = \"b\"",
            format!("5:1 the stop check \"a\" has two conditions | {one}"),
        ),
        (
            "name = \"a\"\nexits = \"b\"",
            "5:1 unknown key `stop.check.exits` | did you mean `exists`?".to_owned(),
        ),
        (
            "name = \"a\"\nexists = \"../b\"",
            "5:10 in `stop.check.exists`, \"../b\" leads out of the repository | write a path from the root of the repository".to_owned(),
        ),
        (
            "name = \"a\"\nrun = \" \"",
            "5:7 `stop.check.run` is empty | write what is meant".to_owned(),
        ),
        (
            "name = \"a\"\ncontains = { file = \"f\", txt = \"t\" }",
            "5:26 unknown key `stop.check.contains.txt` | did you mean `text`?".to_owned(),
        ),
        (
            "name = \"a\"\njson = { file = \"f\", path = \"p\" }",
            "5:8 `stop.check.json` has no `equals` | write it like { file = \"state.json\", path = \"jobs.left\", equals = 0 }".to_owned(),
        ),
    ];
    for (check, said) in cases {
        assert_eq!(at(check), said);
    }
    assert!(at("name = \"a\"\nmatches = { file = \"f\", pattern = \"(\" }").contains("unclosed group"));
    let huge = at("name = \"a\"\nmatches = { file = \"f\", pattern = '\\w{1000}{1000}' }");
    assert!(huge.contains("is not a pattern"), "{huge}");
    let twice = at("name = \"a\"\nexists = \"a\"\n[[stop.check]]\nname = \"A\"\nexists = \"b\"");
    assert!(twice.contains("two stop checks are named \"A\""), "{twice}");
    let named = refused(
        "[budget]\nwall = \"1h\"\n[[gate.check]]\nname = \"step\"\nrun = \"x\"\n[stop]\nstep_check = \"y\"\n\
         [[stop.check]]\nname = \"a\"\nexists = \"a\"\n",
    );
    assert!(named.contains("a check cannot be named \"step\" beside `stop.step_check`"), "{named}");
    let alone = refused("[stop]\nstep_check = \"y\"\n");
    assert!(alone.contains("has no effect without a stop check"), "{alone}");
}
