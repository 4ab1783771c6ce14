//! Policy files in; policies, refusals and explanations out, as text.

use windlass_core::policy::{
    CheckPolicy, CheckWhen, NetworkKind, Policy, Rejected, Role, SandboxLevel, WantedLevel,
};
use windlass_core::time::Millis;

use super::*;

/// With agents of no particular crate.
pub fn format() -> PolicyFormat {
    PolicyFormat::new(&AgentNames {
        known: vec!["codex", "claude", "opencode", "gemini", "qwen"],
        adapters: vec!["codex", "claude", "opencode", "gemini", "qwen", "acp", "command", "scripted"],
    })
}

fn resolve(layers: Vec<Layer>) -> Result<Resolved, ConfigError> {
    format().resolve(layers)
}

fn project(text: &str) -> Layer {
    Layer::new(LayerKind::Project, "windlass.toml", text)
}

fn resolved(text: &str) -> Resolved {
    resolve(vec![project(text)]).unwrap_or_else(|error| panic!("{error}"))
}

/// Each problem as `line:column message | help`.
fn problems(layers: Vec<Layer>) -> Vec<String> {
    let error = resolve(layers).unwrap_err();
    let short = |problem: &ConfigProblem| {
        let (line, column) = problem.at.unwrap();
        format!("{line}:{column} {} | {}", problem.message, problem.help)
    };
    error.problems.iter().map(short).collect()
}

fn refused(text: &str, expected: &[&str]) {
    assert_eq!(problems(vec![project(text)]), expected, "{text}");
}

#[test]
fn nothing_written_is_the_defaults() {
    let nothing = resolve(Vec::new()).unwrap();
    assert_eq!(nothing.policy, Policy::default());
    assert!(nothing.origins.is_empty() && !nothing.has_project_file);
    assert!(resolved("# a comment\n").has_project_file);
}

#[test]
fn the_contract_is_read() {
    let policy = resolved(
        r#"
[agent]
use = "command"
command = ["sh", "/path/agent.sh"]
timeout = "20s"
[role.reviewer]
use = "command"
command = ["sh", "/path/reviewer.sh"]
[plan]
source = "tasks/"
[gate]
protect = ["test.sh"]
[[gate.check]]
name = "test"
run = "sh ./test.sh"
[review]
tasks = false
final = false
[sandbox]
level = "none"
minimum = "none"
"#,
    )
    .policy;
    let mut expected = Policy::default();
    expected.agent.command = vec!["sh".to_owned(), "/path/agent.sh".to_owned()];
    expected.agent.timeout = Millis::seconds(20);
    let mut reviewer = expected.agent.clone();
    reviewer.command[1] = "/path/reviewer.sh".to_owned();
    expected.roles.insert(Role::Reviewer, reviewer);
    expected.plan.source = "tasks/".to_owned();
    expected.gate.protect = vec!["test.sh".to_owned()];
    expected.gate.checks = vec![CheckPolicy {
        name: "test".to_owned(),
        run: "sh ./test.sh".to_owned(),
        when: CheckWhen::Both,
        timeout: Millis::minutes(5),
        ..CheckPolicy::default()
    }];
    expected.review.tasks = false;
    expected.review.whole = false;
    (expected.sandbox.level, expected.sandbox.minimum) = (WantedLevel::None, SandboxLevel::None);
    assert_eq!(policy, expected);
}

#[test]
fn every_kind_of_value_is_read() {
    let policy = resolved(
        r#"
loop.max_iterations = 1_000
budget = { wall = "8h", cost_usd = 20.5, tokens = 0x10 }
[agent]
resume = false
silence = 0
env = ["API_KEY"]
[gate]
network = "loopback"
protect = ["./tests/", "**/*.{test,spec}.js"]
timeout = "1m"
[[gate.check]]
name = "slow"
run = "true"
when = "final"
timeout = "1h30m"
[[gate.check]]
name = "quick"
run = "true"
[review]
rejected = "reset"
[sandbox]
level = "landlock"
extra_read = ["/opt/models", "~/.cache/pip"]
memory = "4GiB"
processes = 500
[role.reviewer]
network = "none"
"#,
    )
    .policy;
    assert_eq!(policy.limits.max_iterations, 1000);
    assert_eq!(
        (policy.budget.wall, policy.budget.cost_micro_usd, policy.budget.tokens),
        (Millis::minutes(480), 20_500_000, 16)
    );
    assert_eq!((policy.agent.silence, &policy.agent.env[..]), (Millis(0), &["API_KEY".to_owned()][..]));
    assert_eq!(policy.gate.protect, ["tests/**", "**/*.{test,spec}.js"]);
    let timeouts: Vec<Millis> = policy.gate.checks.iter().map(|check| check.timeout).collect();
    assert_eq!(timeouts, [Millis::minutes(90), Millis::minutes(1)], "a check without one has the gate's");
    assert_eq!((policy.sandbox.level, policy.sandbox.extra_read.len()), (WantedLevel::Landlock, 2));
    assert_eq!((policy.sandbox.resources.memory_bytes, policy.sandbox.resources.processes), (4 << 30, 500));
    assert_eq!(policy.roles[&Role::Reviewer].network.meant(), NetworkKind::None);
    assert_eq!(policy.gate.network.meant(), NetworkKind::Loopback);
    assert_eq!((policy.gate.checks[0].when, policy.review.rejected), (CheckWhen::Final, Rejected::Reset));
}

#[test]
fn a_later_layer_wins_key_by_key() {
    let layers = || {
        vec![
            Layer::new(
                LayerKind::User,
                "/home/me/config.toml",
                "[agent]\ntimeout = \"1m\"\nsilence = \"2m\"\ngrace = \"1s\"\n",
            ),
            project("[agent]\ntimeout = \"3m\"\n[[gate.check]]\nname = \"a\"\nrun = \"a\"\n"),
            Layer::new(LayerKind::PolicyFile, "night.toml", "[agent]\nsilence = \"4m\"\n"),
            Layer::set("agent.silence=5m"),
            Layer::set(" agent.command = [\"sh\", \"x y\"] "),
            Layer::set("agent.model=fast"),
            Layer::set("gate.check=[{name='b', run='b'}]"),
        ]
    };
    let resolved = resolve(layers()).unwrap();
    let agent = &resolved.policy.agent;
    assert_eq!(
        (agent.timeout, agent.silence, agent.grace),
        (Millis::minutes(3), Millis::minutes(5), Millis::seconds(1))
    );
    assert_eq!((&agent.command[1][..], &agent.model[..]), ("x y", "fast"));
    assert_eq!(resolved.policy.gate.checks.len(), 1);
    let explain = |key: &str| {
        format().explain(&resolved, Some(key)).unwrap().iter().map(ToString::to_string).collect::<String>()
    };
    assert_eq!(
        explain("agent.timeout"),
        "agent.timeout = \"3m\"\n  How long one attempt may take.\n  takes: duration such as \"20s\", \"5m\" or \"1h30m\", 0 = off\n  set by: windlass.toml:2:1 (the project's file)\n  default: \"30m\"\n"
    );
    assert!(explain("agent.grace").contains("set by: /home/me/config.toml:4:1 (your own file)"));
    assert!(explain("agent.silence").contains("set by: --set:1:1 (the command line)"));
    assert!(explain("agent.env").contains("set by: nothing; this is the default"));
    assert!(
        explain("gate.check")
            .starts_with("gate.check = [{ name = \"b\", run = \"b\", when = \"both\", timeout = \"5m\" }]\n")
    );
    assert!(explain("gate.check.run").starts_with("gate.check.run = [\"b\"]\n"));
    assert!(
        explain("role.reviewer.timeout")
            .contains("inherited from: agent.timeout\n  set by: windlass.toml:2:1")
    );
    assert_eq!(format().explain(&resolved, Some("budget")).unwrap().len(), 3);
    assert_eq!(
        format().explain(&resolved, Some("agent.timout")).unwrap_err().to_string(),
        "there is no key `agent.timout`; did you mean `agent.timeout`?"
    );
}

#[test]
fn a_shadowed_mistake_is_still_a_mistake() {
    let user = Layer::new(LayerKind::User, "config.toml", "[loop]\nmax_iterations = true\n");
    assert_eq!(
        problems(vec![user, project("[loop]\nmax_iterations = 3\n")]),
        ["2:18 `loop.max_iterations` must be a whole number, not true or false | write a whole number"]
    );
}

#[test]
fn a_role_takes_from_the_agent_what_belongs_to_its_own_kind() {
    let text = r#"
[agent]
use = "command"
command = ["work"]
model = "big"
timeout = "1m"
[role.reviewer]
timeout = "2m"
[role.finisher]
use = "scripted"
script = "finish.toml"
"#;
    let policy = resolved(text).policy;
    let reviewer = policy.agent_for(Role::Reviewer);
    assert_eq!((&reviewer.command[..], &reviewer.model[..]), (&["work".to_owned()][..], "big"));
    assert_eq!(reviewer.timeout, Millis::minutes(2));
    let finisher = policy.agent_for(Role::Finisher);
    assert_eq!((finisher.command.len(), &finisher.model[..], finisher.timeout), (0, "", Millis::minutes(1)));
    assert_eq!(policy.agent_for(Role::Author).command, ["work"]);
    assert!(!policy.roles.contains_key(&Role::Author));
    refused(
        "[agent]\nuse = \"scripted\"\nscript = \"a\"\n[role.reviewer]\ncommand = [\"x\"]\n[role.author]\nuse = \"command\"\n",
        &[
            "7:1 `role.author.use = \"command\"` needs a `command` | write it like command = [\"sh\", \"agent.sh\"]",
            "5:1 `role.reviewer.command` has no effect on a scripted agent | write use = \"command\" beside it, or remove it",
        ],
    );
}

#[test]
fn a_refusal_shows_the_place() {
    let error = resolve(vec![project("[loop]\nmax_stalls = 2\nmax_iteration = 3\n")]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "error: unknown key `loop.max_iteration`
 --> windlass.toml:3:1
  |
3 | max_iteration = 3
  | ^^^^^^^^^^^^^
  |
  = help: did you mean `max_iterations`?"
    );
    assert!(error.render(Styling::Ansi, usize::MAX).contains("\u{1b}["));
    let narrow = error.render(Styling::Plain, 24);
    assert!(narrow.ends_with("\n  = help: did you mean\n          `max_iterations`?"), "{narrow}");
    let narrow = error.render(Styling::Plain, 40);
    assert!(narrow.starts_with("error: unknown key\n       `loop.max_iteration`\n"), "{narrow}");
    assert_eq!(
        resolve(vec![Layer::set("agent.timeout=20")]).unwrap_err().to_string(),
        "error: `agent.timeout` has no unit
 --> --set:1:15
  |
1 | agent.timeout=20
  |               ^^
  |
  = help: write a number with a unit, such as \"20s\", \"5m\" or \"1h30m\"; 0 switches the limit off"
    );
}

#[test]
fn unknown_keys_get_the_nearest() {
    refused("[agnt]\n", &["1:2 unknown table or key `agnt` | did you mean `agent`?"]);
    refused("max_stalls = 3\n", &["1:1 unknown table or key `max_stalls` | `max_stalls` belongs to [loop]"]);
    refused(
        "[role.reviwer]\nuse = \"command\"\n",
        &["1:7 unknown key `role.reviwer` | did you mean `reviewer`?"],
    );
    refused(
        "[role.author]\ntimeot = 0\n",
        &["2:1 unknown key `role.author.timeot` | did you mean `timeout`?"],
    );
    refused("[land]\ncolour = 1\n", &["2:1 unknown key `land.colour` | [land] has: rule, approve"]);
    refused(
        "[colour]\n",
        &[
            "1:2 unknown table or key `colour` | known tables: loop, budget, agent, role, workspace, plan, gate, review, finish, brief, sandbox, land, stop, scope, price",
        ],
    );
    refused(
        "\"loop.max_stalls\" = 1\n",
        &["1:1 unknown key \"loop.max_stalls\" | write a dotted key without quotes"],
    );
    refused(
        "[[gate.check]]\nname = \"a\"\nrunn = \"x\"\n[[gate.check]]\nname = \"b\"\ncolour = 1\n",
        &[
            "3:1 unknown key `gate.check.runn` | did you mean `run`?",
            "6:1 unknown key `gate.check.colour` | a check has: name, run, when, timeout, junit, control, retry, repeat, chain",
        ],
    );
}

#[test]
fn wrong_types_and_values_are_all_reported() {
    refused(
        "[loop]\nmax_iterations = \"3\"\nmax_stalls = -1\nmax_transient = 4294967296\n",
        &[
            "2:18 `loop.max_iterations` must be a whole number, not a text | write a whole number",
            "3:14 `loop.max_stalls` must be a whole number from 0 to 4294967295 | 0 switches the limit off",
            "4:17 `loop.max_transient` must be a whole number from 0 to 4294967295 | 0 switches the limit off",
        ],
    );
    refused(
        "[budget]\nwall = 3\ncost_usd = -1\ntokens = 1.5\n[review]\ntasks = \"yes\"\nrejected = \"rest\"\n",
        &[
            "2:8 `budget.wall` has no unit | write a number with a unit, such as \"20s\", \"5m\" or \"1h30m\"; 0 switches the limit off",
            "3:12 `budget.cost_usd` must be an amount in dollars from 0 to a billion | write it like 20.0; 0 switches the limit off",
            "4:10 `budget.tokens` must be a whole number, not a number with a fraction | write a whole number",
            "6:9 `review.tasks` must be true or false, not a text | write true or false",
            "7:12 `review.rejected` cannot be \"rest\" | did you mean \"reset\"? known here: \"continue\", \"reset\"",
        ],
    );
    refused(
        "agent = 3\n[[review]]\n[workspace]\nhistory = 0\ncopy = [\"../x\"]\n",
        &[
            "1:9 `agent` must be a table, not a number | write its keys under [agent]",
            "2:1 `review` must be a table, not a list | write its keys under [review]",
            "4:11 `workspace.history` must be a whole number from 1 to 4294967295 | write at least 1",
            "5:9 in `workspace.copy`, \"../x\" leads out of the repository | write it like \".env.test\", from the root of the repository",
        ],
    );
}

#[test]
fn agents_that_cannot_start_are_refused() {
    refused(
        "[agent]\nuse = \"codx\"\ncommand = \"sh agent.sh\"\n",
        &[
            "2:7 `agent.use` cannot be \"codx\" | did you mean \"codex\"? known here: \"codex\", \"claude\", \"opencode\", \"gemini\", \"qwen\", \"acp\", \"command\", \"scripted\"",
            "3:11 `agent.command` must be a list of texts, not a text | write [\"sh\", \"agent.sh\"]",
        ],
    );
    refused(
        "[agent]\nuse = \"command\"\n",
        &["2:1 `agent.use = \"command\"` needs a `command` | write it like command = [\"sh\", \"agent.sh\"]"],
    );
    refused(
        "[agent]\nuse = \"acp\"\n",
        &["2:1 `agent.use = \"acp\"` needs a `command` | write it like command = [\"gemini\", \"--acp\"]"],
    );
    let policy = resolved("[agent]\nuse = \"acp\"\ncommand = [\"gemini\", \"--acp\"]\n").policy;
    assert_eq!((policy.agent.adapter.as_str(), policy.agent.command.len()), ("acp", 2));
    refused(
        "[agent]\ncommand = []\n",
        &["2:1 `agent.command` is empty | write it like command = [\"sh\", \"agent.sh\"]"],
    );
    refused(
        "[agent]\ncommand = [\" \"]\n",
        &[
            "2:1 `agent.command` does not start with a program | write it like command = [\"sh\", \"agent.sh\"]",
        ],
    );
    refused(
        "[agent]\nuse = \"scripted\"\n",
        &["2:1 `agent.use = \"scripted\"` needs a `script` | write it like script = \"agent.toml\""],
    );
    refused(
        "[agent]\nenv = [\"A=b\"]\nmodel = \"a\\u0000\"\n",
        &[
            "2:8 in `agent.env`, \"A=b\" cannot be the name of an environment variable | write only the name, such as \"API_KEY\"",
            "3:9 `agent.model` has a NUL character in it | remove it: no program can be given one",
        ],
    );
}

#[test]
fn a_run_needs_its_agents() {
    let missing = resolved("[review]\ntasks = false\nfinal = false\n").require_agents().unwrap_err();
    assert_eq!(
        missing.to_string(),
        "error: windlass.toml: no agent is set for the author\n |\n = help: run `windlass init`, or write [agent] with use = \"command\" and the command of your agent"
    );
    assert!(resolved("[agent]\ncommand = [\"a\"]\n").require_agents().is_ok());
    let author_only = resolved("[role.author]\ncommand = [\"a\"]\n");
    assert_eq!(
        author_only.require_agents().unwrap_err().problems[0].message,
        "no agent is set for the reviewer"
    );

    let fresh = resolved(&project_file(&Proposal::default(), &ChosenChecks::default(), FileAgent::Unknown))
        .require_agents()
        .unwrap_err();
    assert_eq!(fresh.problems.len(), 1);
    assert_eq!(
        fresh.to_string(),
        "error: the command of the author is still the placeholder
  --> windlass.toml:10:1
   |
10 | command = [\"your-agent-here\"]
   | ^^^^^^^
   |
   = help: replace it with the command of your agent; it gets the brief on its standard input"
    );
}

#[test]
fn checks_must_be_able_to_judge() {
    let command = "give it a `run`, such as run = \"make test\"";
    let name =
        "name it with letters, digits, `-`, `_`, `.`, `:`, `+` or blanks, at most 64, letter or digit first";
    refused(
        "[[gate.check]]\nname = \"a\"\n[[gate.check]]\nname = \"b\"\nrun = \" \"\n[[gate.check]]\nrun = \"x\"\n[[gate.check]]\nname = \"../c\"\nrun = \"x\"\n",
        &[
            &format!("1:1 the check \"a\" has no command | {command}"),
            &format!("5:7 the check \"b\" has no command | {command}"),
            &format!("6:1 a check has no name | {name}"),
            &format!("9:8 a check cannot be named \"../c\" | {name}"),
        ],
    );
    refused(
        "[[gate.check]]\nname = \"a\"\nrun = \"x\"\n[[gate.check]]\nname = \"a\"\nrun = \"y\"\n[[gate.check]]\nname = \"A\"\nrun = \"y\"\n",
        &[
            "5:8 two checks are named \"a\" | give each check a name of its own",
            "8:8 the checks \"a\" and \"A\" differ only in case | give each check a name of its own",
        ],
    );
    refused(
        "[gate.check]\nname = \"a\"\n",
        &[
            "1:1 `gate.check` must be a list of tables, not a table | write `[[gate.check]]`, with two brackets",
        ],
    );
    refused(
        "[gate]\nprotect = [\"a[\", \"/x\", 3]\n",
        &[
            "2:12 in `gate.protect`, the glob \"a[\" is not valid: unclosed character class; missing ']' | write it like \"tests/**\" or \"test.sh\", from the root of the repository",
            "2:18 in `gate.protect`, \"/x\" leads out of the repository | write it like \"tests/**\" or \"test.sh\", from the root of the repository",
            "2:24 `gate.protect[2]` must be a text in quotes, not a number | write a text in quotes",
        ],
    );
}

#[test]
fn a_known_agent_has_keys_of_its_own() {
    let policy = resolved(
        r#"
[agent]
use = "codex"
args = ["-c", "model_provider=own"]
env = { OWN_KEY = "x" }
path = "/opt/codex"
resume = true
fallback = ["claude"]
inject = { ".mcp.json" = "agents/mcp.json" }
[role.reviewer]
use = "claude"
env = ["PASSED"]
[scope.implement]
files_changed = 10
[scope.port]
lines_written = 400
[price."gpt-5"]
input = 1.25
output = 10
"#,
    )
    .policy;
    let extra = &policy.agent.extra;
    assert_eq!((extra.args.len(), extra.path.as_str(), extra.resume), (2, "/opt/codex", true));
    assert_eq!(extra.set.get("OWN_KEY").map(String::as_str), Some("x"));
    assert_eq!(extra.inject.get(".mcp.json").map(String::as_str), Some("agents/mcp.json"));
    assert_eq!(extra.fallback, ["claude"]);
    let reviewer = policy.agent_for(Role::Reviewer);
    assert_eq!((&reviewer.env[..], reviewer.extra.args.len()), (&["PASSED".to_owned()][..], 0));
    assert_eq!((policy.scope["implement"].files_changed, policy.scope["port"].lines_written), (10, 400));
    let price = policy.prices["gpt-5"];
    assert_eq!((price.input, price.output, price.cache_read), (1_250_000, 10_000_000, 0));
}

#[test]
fn what_is_wrong_in_a_table_is_said_at_its_place() {
    refused(
        "[agent]\nenv = { \"A B\" = \"x\", C = 3 }\ninject = [\".mcp.json\"]\nfallback = [\"codx\"]\n",
        &[
            "2:9 in `agent.env`, \"A B\" cannot be the name of an environment variable | correct it, or remove it",
            "2:26 `agent.env.C` must be a text in quotes, not a number | write a text in quotes",
            "3:10 `agent.inject` must be a table of paths, not a list | write it like { \".mcp.json\" = \"agents/mcp.json\" }",
            "4:13 in `agent.fallback`, there is no agent \"codx\" | write one of codex, claude, opencode, gemini, qwen",
        ],
    );
    refused(
        "[scope]\nimplement = 3\n[scope.fix]\nfiles = 1\nfiles_read = -1\n",
        &[
            "2:13 `scope` must be a table of modes, not a number | write it like [scope.implement] with files_changed = 10 and lines_written = 400",
            "4:1 unknown key `scope.fix.files` | a scope has: files_changed, lines_written, files_read",
            "5:14 `scope.fix.files_read` must be a whole number from 0 to 9223372036854775807 | 0 switches the limit off",
        ],
    );
    refused(
        "[agent]\ninject = { \"../x\" = \"a\" }\n[price.m]\ninptu = 1\noutput = \"1\"\n[price]\nn = 3\n",
        &[
            "2:12 in `agent.inject`, \"../x\" leads out of the repository | correct it, or remove it",
            "4:1 unknown key `price.\"m\".inptu` | did you mean `input`?",
            "5:10 `price.\"m\".output` must be an amount in dollars, not a text | write an amount in dollars",
            "7:5 `price` must be a table of models, not a number | write it like [price.\"gpt-5\"] with input = 1.25 and output = 10.0",
        ],
    );
}

#[test]
fn what_this_version_cannot_do_is_said_so() {
    for (text, place, what) in
        [("[hooks]\npre_iteration = []\n", "1:2", "hooks"), ("notify.webhook = \"x\"\n", "1:1", "notify")]
    {
        refused(
            text,
            &[&format!("{place} `{what}` is not available in this version of windlass | remove it")],
        );
    }
    refused(
        "[sandbox]\nlevel = \"auto\"\nminimum = \"container\"\n[land]\nrule = \"merge\"\n[agent]\nuse = \"external\"\n",
        &[
            "3:11 `sandbox.minimum = \"container\"` is not available in this version of windlass | known here: \"namespaces\", \"landlock\", \"none\"",
            "5:8 `land.rule = \"merge\"` is not available in this version of windlass | known here: \"branch\"",
            "7:7 `agent.use = \"external\"` is not available in this version of windlass | known here: \"codex\", \"claude\", \"opencode\", \"gemini\", \"qwen\", \"acp\", \"command\", \"scripted\"",
        ],
    );
}

#[test]
fn a_container_has_an_image_and_an_engine() {
    let text = "[sandbox]\nlevel = \"container\"\nimage = \"team/agent:1\"\nengine = \"podman\"\n";
    let sandbox = resolved(text).policy.sandbox;
    assert_eq!(
        (sandbox.level, sandbox.image.as_str(), sandbox.engine.name()),
        (WantedLevel::Container, "team/agent:1", "podman")
    );
}

#[test]
fn text_that_is_not_toml_is_refused_at_its_place() {
    refused("[agent]\n[agent]\n", &["2:2 `agent` is written twice | keep one of them"]);
    refused(
        "[plan]\nsource = \"a\"\nsource = \"b\"\n",
        &["3:1 `source` is written twice | keep one of them"],
    );
    refused(
        "[plan]\nsource = \"a\n",
        &[
            "2:12 this is not TOML: invalid basic string, expected `\"` | see https://toml.io for how it is written",
        ],
    );
    let set = |argument: &str| problems(vec![Layer::set(argument)]);
    assert_eq!(
        set("agent.command=[\"sh\""),
        ["1:20 this is not TOML: unclosed array, expected `]` | see https://toml.io for how it is written"]
    );
    assert_eq!(
        set("loop.max_stalls"),
        ["1:1 there is no `=` in it | write --set key=value, such as --set loop.max_iterations=10"]
    );
    assert_eq!(
        set("agent = { timeout = 3, modl = 'x' }"),
        [
            "1:21 `agent.timeout` has no unit | write a number with a unit, such as \"20s\", \"5m\" or \"1h30m\"; 0 switches the limit off",
            "1:24 unknown key `agent.modl` | did you mean `model`?",
        ]
    );
    assert_eq!(
        set("gate.check.name=x"),
        [
            "1:1 unknown key `gate.check.name` | set the whole list: gate.check=[{name=\"test\", run=\"make test\"}]"
        ]
    );
    assert_eq!(
        set("=x"),
        [format!(
            "1:1 unknown table or key `` | {}",
            "known tables: loop, budget, agent, role, workspace, plan, gate, review, finish, brief, sandbox, land, stop, scope, price"
        )]
    );
}

#[test]
fn a_damaged_file_is_read_or_refused_but_never_worse() {
    let text = format().example_file();
    let places: Vec<usize> = text.char_indices().map(|(at, _)| at).step_by(13).collect();
    let mut refused = 0;
    for at in places {
        for damage in ["", "\"", "[", "]", "=", "é", "\n", "\r", "\0", "'''", "{", ".x.", "# "] {
            let damaged = match damage {
                "" => text[..at].to_owned(),
                _ => format!("{}{damage}{}", &text[..at], &text[at..(at + 60).min(text.len())]),
            };
            if let Err(error) = resolve(vec![project(&damaged)]) {
                refused += usize::from(!error.to_string().is_empty());
            }
            let set: String = damaged.chars().rev().take(40).collect();
            refused +=
                usize::from(resolve(vec![Layer::set(set)]).is_err_and(|error| !error.to_string().is_empty()));
        }
    }
    assert!(refused > 1000, "{refused}");
}

#[test]
fn every_key_is_described() {
    let keys = format().keys();
    for key in &keys {
        assert!(key.doc.ends_with('.') && !key.kind.is_empty(), "{key:?}");
    }
    let names: Vec<&str> = keys.iter().map(|key| key.name.as_str()).collect();
    for name in ["loop.max_gate_failures", "agent.env", "role.finisher.use", "gate.check.when", "land.rule"] {
        assert!(names.contains(&name), "{name}");
    }
    let resolved = resolve(Vec::new()).unwrap();
    assert_eq!(format().explain(&resolved, None).unwrap().len(), keys.len());
    for name in &names {
        assert_eq!(format().explain(&resolved, Some(name)).unwrap().len(), 1, "{name}");
    }
}

#[test]
fn the_example_is_the_defaults() {
    let mut policy = resolved(&format().example_file()).policy;
    assert_eq!(policy.agent.command, ["sh", "agent.sh"]);
    assert_eq!(policy.gate.checks.len(), 1);
    policy.agent.command.clear();
    policy.gate.checks.clear();
    assert_eq!(policy, Policy::default());
}

#[test]
fn keys_that_contradict_each_other_are_named() {
    refused(
        "[sandbox]\nlevel = \"none\"\n",
        &[
            "2:1 `sandbox.level = \"none\"` is below `sandbox.minimum = \"landlock\"` | to run with less, write minimum = \"none\" too; or remove `level`",
        ],
    );
    refused(
        "[gate]\nnetwork = \"none\"\nallow = [\"a.example:443\"]\n",
        &[
            "2:1 `gate.network = \"none\"` and `gate.allow` contradict each other | list the hosts in `allow` and write network = \"allow\", or leave both out",
        ],
    );
    refused(
        "[agent]\nnetwork = \"allow\"\n",
        &[
            "2:1 `agent.network = \"allow\"` and `agent.allow` contradict each other | list the hosts in `allow` and write network = \"allow\", or leave both out",
        ],
    );
    let policy = resolved("[gate]\nallow = [\"a.example:443\"]\n").policy;
    assert_eq!(policy.gate.network.meant(), NetworkKind::Allow);
    refused(
        "[sandbox]\nmemory = 4\nfile_size = \"x\"\nextra_read = [\"../up\"]\n[agent]\nallow = [\"nohost\"]\n",
        &[
            "2:10 `sandbox.memory` has no unit | write a number with a unit, such as \"512MB\" or \"4GiB\"; 0 switches the limit off",
            "3:13 `sandbox.file_size` is not a size: \"x\" | write a number with a unit, such as \"512MB\" or \"4GiB\"; 0 switches the limit off",
            "4:15 in `sandbox.extra_read`, \"../up\" goes up with `..` | write it like \"/opt/models\", \"~/.cache/pip\" or \"vendor\"",
            "6:10 in `agent.allow`, \"nohost\" has no port | write it like \"api.example.com:443\" or \"*.example.com:443\"",
        ],
    );
}

#[test]
fn what_hardens_a_check_is_read() {
    let policy = resolved(
        r#"
[gate]
cache = ["./target/", "web/node_modules"]
[[gate.check]]
name = "build"
run = "make"
[[gate.check]]
name = "test"
run = "make test"
junit = "./out/**/TEST-*.xml"
control = "sh control.sh"
chain = true
[[gate.check]]
name = "net"
run = "make net"
retry = 1
"#,
    )
    .policy;
    assert_eq!(policy.gate.cache, ["target", "web/node_modules"]);
    let [build, test, net] = &policy.gate.checks[..] else { panic!("three checks") };
    assert_eq!((build.chain, build.retry, build.junit.as_str(), build.control.as_str()), (false, 0, "", ""));
    assert_eq!(
        (test.junit.as_str(), test.control.as_str(), test.chain),
        ("out/**/TEST-*.xml", "sh control.sh", true)
    );
    assert_eq!((net.retry, net.chain), (1, false));
}

#[test]
fn what_cannot_harden_a_check_is_refused_at_its_place() {
    let check = |line: &str| format!("[[gate.check]]\nname = \"a\"\nrun = \"a\"\n{line}\n");
    let retry = "write 1, or 0 for never";
    refused(
        &check("retry = 2"),
        &[&format!("4:9 `gate.check.retry` must be a whole number from 0 to 1 | {retry}")],
    );
    refused(
        &check("repeat = 5\nretry = 1"),
        &[
            "5:9 a check that must be green every time cannot be tried once more when it is red | remove `retry`, or `repeat`",
        ],
    );
    refused(
        &format!("{}{}", check(""), "[[gate.check]]\nname = \"b\"\nrun = \"b\"\nchain = true\nrepeat = 2\n"),
        &[
            "9:10 a check of a chain cannot be run again: that needs a clean checkout | remove `repeat`, or `chain`",
        ],
    );
    refused(
        &check("retry = true"),
        &["4:9 `gate.check.retry` must be a whole number, not true or false | write a whole number"],
    );
    refused(
        &check("chain = true"),
        &[
            "4:9 the first check has no check before it to go on from | remove `chain`, or put the check behind the one whose tree it needs",
        ],
    );
    refused(
        &format!("{}{}", check(""), "[[gate.check]]\nname = \"b\"\nrun = \"b\"\nchain = true\nretry = 1\n"),
        &[
            "9:9 a check of a chain cannot be run again: that needs a clean checkout | remove `retry`, or `chain`",
        ],
    );
    let like =
        "write it like \"target/junit.xml\" or \"build/**/TEST-*.xml\", from the root of the repository";
    refused(
        &check("junit = \"../x.xml\""),
        &[&format!("4:9 in `gate.check.junit`, \"../x.xml\" leads out of the repository | {like}")],
    );
    refused(
        &check("junit = \"a[\""),
        &[&format!(
            "4:9 in `gate.check.junit`, the glob \"a[\" is not valid: unclosed character class; missing ']' | {like}"
        )],
    );
    refused(&check("controll = \"x\""), &["4:1 unknown key `gate.check.controll` | did you mean `control`?"]);
    let directory = "write it like \"target\" or \"web/node_modules\", from the root of the repository";
    for (item, wrong) in [
        (".", "\".\" cannot be a cache"),
        ("./", "a path is empty"),
        ("a/.git", "\"a/.git\" cannot be a cache"),
        ("*/target", "\"*/target\" is a pattern, and a directory is wanted"),
        ("/tmp", "\"/tmp\" leads out of the repository"),
    ] {
        refused(
            &format!("[gate]\ncache = [\"{item}\"]\n"),
            &[&format!("2:10 in `gate.cache`, {wrong} | {directory}")],
        );
    }
}

#[test]
fn memory_is_a_size_or_a_part_of_the_machine_s() {
    let memory = |text: &str| {
        let resources = resolved(&format!("[sandbox]\nmemory = {text}\n")).policy.sandbox.resources;
        (resources.memory_bytes, resources.memory_percent)
    };
    assert_eq!(["\"50%\"", "\"2GiB\"", "0"].map(memory), [(0, 50), (2 << 30, 0), (0, 0)]);
    for wrong in ["0%", "101%", "x%", "%"] {
        refused(
            &format!("[sandbox]\nmemory = {wrong:?}\n"),
            &[
                "2:10 `sandbox.memory` must be from 1% to 100% of the machine's memory | write it like \"75%\", or as a size such as \"4GiB\"; 0 switches the limit off",
            ],
        );
    }
}
