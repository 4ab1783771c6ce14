//! Every key there is, in the order of the policy file. Reading, explaining,
//! the example file and the reference all follow this one table.

use windlass_core::nearest::nearest;
use windlass_core::policy::{
    AgentPolicy, LandRule, NetworkKind, Policy, Rejected, Role, SandboxLevel, WantedEngine, WantedLevel,
};

use super::agent_keys::AGENT_KEYS;
use super::checks::CHECK_KEYS;
use super::field::{Choice, Field, Items, PolicyKey};

/// What a dotted name is.
pub enum KeyLookup {
    Policy(&'static PolicyKey<Policy>),
    /// A key of `[agent]`, or of a role's table.
    Agent(Option<Role>, &'static PolicyKey<AgentPolicy>),
    /// A table with keys in it.
    Table,
    /// A key only later versions know.
    Later,
    Unknown,
}

pub fn find(name: &str) -> KeyLookup {
    if let Some(key) = POLICY_KEYS.iter().find(|key| key.name == name) {
        return KeyLookup::Policy(key);
    }
    if LATER.iter().any(|later| is_at_or_below(name, later)) {
        return KeyLookup::Later;
    }
    if let Some((role, rest)) = agent_table(name) {
        let key = AGENT_KEYS.iter().find(|key| key.name == rest);
        return match key {
            Some(key) => KeyLookup::Agent(role, key),
            None if rest.is_empty() => KeyLookup::Table,
            None => KeyLookup::Unknown,
        };
    }
    if name == "role" || POLICY_KEYS.iter().any(|key| is_below(key.name, name)) {
        return KeyLookup::Table;
    }
    KeyLookup::Unknown
}

/// What to say about a name that is not known.
pub fn suggest(name: &str) -> String {
    let (table, word) = name.rsplit_once('.').unwrap_or(("", name));
    let known = words_in(table);
    if let Some(meant) = nearest(word, known.iter().copied()) {
        return format!("did you mean `{meant}`?");
    }
    if let Some(elsewhere) = all_names().into_iter().find(|name| name.rsplit('.').next() == Some(word)) {
        let (table, _) = elsewhere.rsplit_once('.').unwrap_or(("", word));
        return format!("`{word}` belongs to [{table}]");
    }
    match table {
        "" => format!("known tables: {}", known.join(", ")),
        table => format!("[{table}] has: {}", known.join(", ")),
    }
}

/// Every leaf, dotted; each role has the keys of `[agent]`.
pub fn all_names() -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for table in TABLES {
        match table {
            "agent" => names.extend(AGENT_KEYS.iter().map(|key| format!("agent.{}", key.name))),
            "role" => {
                for role in Role::ALL {
                    names.extend(AGENT_KEYS.iter().map(|key| format!("role.{}.{}", role.name(), key.name)));
                }
            }
            table => {
                names.extend(
                    POLICY_KEYS
                        .iter()
                        .map(|key| key.name.to_owned())
                        .filter(|name| is_at_or_below(name, table)),
                );
            }
        }
        if table == "gate" {
            names.extend(CHECK_KEYS.iter().map(|key| format!("gate.check.{}", key.name)));
        }
    }
    names
}

/// The tables, in the order of the file.
pub const TABLES: [&str; 13] = [
    "loop",
    "budget",
    "agent",
    "role",
    "workspace",
    "plan",
    "gate",
    "review",
    "finish",
    "brief",
    "sandbox",
    "land",
    "price",
];

const LATER: [&str; 3] = ["hooks", "notify", "stop"];

fn words_in(table: &str) -> Vec<&'static str> {
    match (table, agent_table(table)) {
        ("", _) => TABLES.to_vec(),
        ("role", _) => Role::ALL.iter().map(|role| role.name()).collect(),
        ("gate.check", _) => CHECK_KEYS.iter().map(|key| key.name).collect(),
        (_, Some((_, ""))) => AGENT_KEYS.iter().map(|key| key.name).collect(),
        (_, Some(_) | None) => {
            POLICY_KEYS.iter().filter_map(|key| key.name.strip_prefix(table)?.strip_prefix('.')).collect()
        }
    }
}

/// The role of `role.<name>…` or none for `agent…`, and what follows.
fn agent_table(name: &str) -> Option<(Option<Role>, &str)> {
    let (table, rest) = name.split_once('.').unwrap_or((name, ""));
    match table {
        "agent" => Some((None, rest)),
        "role" => {
            let (word, rest) = rest.split_once('.').unwrap_or((rest, ""));
            let role = Role::ALL.into_iter().find(|role| role.name() == word)?;
            Some((Some(role), rest))
        }
        _ => None,
    }
}

fn is_below(name: &str, table: &str) -> bool {
    name.strip_prefix(table).is_some_and(|rest| rest.starts_with('.'))
}

fn is_at_or_below(name: &str, table: &str) -> bool {
    name == table || is_below(name, table)
}

/// The words for a network, wherever a policy keeps one.
macro_rules! network {
    ($policy:ty, $($at:ident).+) => {
        Field::Choice(Choice {
            options: &[
                ("open", |it: &mut $policy| it.$($at).+.kind = NetworkKind::Open),
                ("loopback", |it: &mut $policy| it.$($at).+.kind = NetworkKind::Loopback),
                ("none", |it: &mut $policy| it.$($at).+.kind = NetworkKind::None),
                ("allow", |it: &mut $policy| it.$($at).+.kind = NetworkKind::Allow),
            ],
            later: &[],
            shown: |it: &$policy| it.$($at).+.meant().name(),
        })
    };
}

pub(super) use network;

pub static POLICY_KEYS: &[PolicyKey<Policy>] = &[
    PolicyKey {
        name: "loop.max_iterations",
        doc: "Iterations of the whole loop before it ends at a limit.",
        field: Field::Limit(|p| &mut p.limits.max_iterations),
    },
    PolicyKey {
        name: "loop.max_task_failures",
        doc: "Red gates in a row before a task is blocked.",
        field: Field::Limit(|p| &mut p.limits.max_task_failures),
    },
    PolicyKey {
        name: "loop.max_gate_failures",
        doc: "Red gates in a row over all tasks before the loop ends blocked.",
        field: Field::Limit(|p| &mut p.limits.max_gate_failures),
    },
    PolicyKey {
        name: "loop.max_no_progress",
        doc: "Iterations that leave an unchanged or already seen tree before a task is blocked.",
        field: Field::Limit(|p| &mut p.limits.max_no_progress),
    },
    PolicyKey {
        name: "loop.max_rejections",
        doc: "Rejecting reviews before a task is blocked for you to look at.",
        field: Field::Limit(|p| &mut p.limits.max_rejections),
    },
    PolicyKey {
        name: "loop.max_review_failures",
        doc: "Reviews in a row without a usable verdict before the loop ends blocked.",
        field: Field::Limit(|p| &mut p.limits.max_review_failures),
    },
    PolicyKey {
        name: "loop.max_agent_failures",
        doc: "Crashes of an agent in a row before the work is blocked.",
        field: Field::Limit(|p| &mut p.limits.max_agent_failures),
    },
    PolicyKey {
        name: "loop.max_stalls",
        doc: "Stalls or timeouts in a row before the work is blocked.",
        field: Field::Limit(|p| &mut p.limits.max_stalls),
    },
    PolicyKey {
        name: "loop.max_transient",
        doc: "Passing failures (rate limit, overload, network) in a row before the loop pauses.",
        field: Field::Limit(|p| &mut p.limits.max_transient),
    },
    PolicyKey {
        name: "loop.max_final_fixes",
        doc: "Attempts to mend the finished work before the loop ends blocked.",
        field: Field::Limit(|p| &mut p.limits.max_final_fixes),
    },
    PolicyKey {
        name: "budget.wall",
        doc: "Working time of the whole loop; waiting and paused time do not count.",
        field: Field::Span(|p| &mut p.budget.wall),
    },
    PolicyKey {
        name: "budget.cost_usd",
        doc: "What the whole loop may cost, in dollars.",
        field: Field::Dollars(|p| &mut p.budget.cost_micro_usd),
    },
    PolicyKey {
        name: "budget.tokens",
        doc: "Tokens the whole loop may use.",
        field: Field::Tokens(|p| &mut p.budget.tokens),
    },
    PolicyKey {
        name: "workspace.setup",
        doc: "Commands run once in a fresh workspace, and for the gate.",
        field: Field::Texts(Items::Commands, |p| &mut p.workspace.setup),
    },
    PolicyKey {
        name: "workspace.copy",
        doc: "Files brought from your checkout that git does not have; never part of the work.",
        field: Field::Texts(Items::Paths, |p| &mut p.workspace.copy),
    },
    PolicyKey {
        name: "workspace.history",
        doc: "How many commits of history the author's clone has.",
        field: Field::AtLeastOne(|p| &mut p.workspace.history),
    },
    PolicyKey {
        name: "plan.source",
        doc: "Where the plan is: a directory of task files, or a goal sentence.",
        field: Field::Text(|p| &mut p.plan.source),
    },
    PolicyKey {
        name: "gate.timeout",
        doc: "How long one check may take.",
        field: Field::Span(|p| &mut p.gate.timeout),
    },
    PolicyKey {
        name: "gate.protect",
        doc: "What no task may change unless its file allows it: tests, and what runs them.",
        field: Field::Texts(Items::Globs, |p| &mut p.gate.protect),
    },
    PolicyKey {
        name: "gate.network",
        doc: "Which network checks see: the machine's, a loopback of their own, none, or the hosts of `allow`.",
        field: network!(Policy, gate.network),
    },
    PolicyKey {
        name: "gate.allow",
        doc: "What checks may reach through windlass's proxy, as host:port.",
        field: Field::Texts(Items::Hosts, |p| &mut p.gate.network.allow),
    },
    PolicyKey {
        name: "gate.cache",
        doc: "Directories that builds fill, such as target: the baseline fills them on the base, and each check begins with a copy of its own. The final gate has none.",
        field: Field::Texts(Items::Directories, |p| &mut p.gate.cache),
    },
    PolicyKey {
        name: "gate.check",
        doc: "The checks, in order. A later layer replaces the whole list.",
        field: Field::Checks(|p| &mut p.gate),
    },
    PolicyKey {
        name: "review.tasks",
        doc: "Whether a reviewer must accept each task.",
        field: Field::Flag(|p| &mut p.review.tasks),
    },
    PolicyKey {
        name: "review.final",
        doc: "Whether a reviewer must accept the finished work.",
        field: Field::Flag(|p| &mut p.review.whole),
    },
    PolicyKey {
        name: "review.rejected",
        doc: "Where the next iteration starts after a reject: from the rejected work, or from the task's base.",
        field: Field::Choice(Choice {
            options: &[
                ("continue", |p| p.review.rejected = Rejected::Continue),
                ("reset", |p| p.review.rejected = Rejected::Reset),
            ],
            later: &[],
            shown: |p| match p.review.rejected {
                Rejected::Continue => "continue",
                Rejected::Reset => "reset",
            },
        }),
    },
    PolicyKey {
        name: "finish.skill",
        doc: "A skill the finisher is asked to use once the work is proven.",
        field: Field::Text(|p| &mut p.finish.skill),
    },
    PolicyKey {
        name: "finish.prompt",
        doc: "What the finisher is asked to do once the work is proven.",
        field: Field::Text(|p| &mut p.finish.prompt),
    },
    PolicyKey {
        name: "brief.rules",
        doc: "A file with your rules for every agent, in place of windlass's. It is read when a loop is created, and protected.",
        field: Field::Text(|p| &mut p.brief.rules.file),
    },
    PolicyKey {
        name: "brief.implement",
        doc: "A file with what an author is asked to do about a task, in place of windlass's words.",
        field: Field::Text(|p| &mut p.brief.implement.file),
    },
    PolicyKey {
        name: "brief.fix",
        doc: "A file with what an author is asked to do when the finished work does not hold.",
        field: Field::Text(|p| &mut p.brief.fix.file),
    },
    PolicyKey {
        name: "brief.review_task",
        doc: "A file with how a reviewer is to judge one task.",
        field: Field::Text(|p| &mut p.brief.review_task.file),
    },
    PolicyKey {
        name: "brief.review_whole",
        doc: "A file with how a reviewer is to judge the finished work.",
        field: Field::Text(|p| &mut p.brief.review_whole.file),
    },
    PolicyKey {
        name: "brief.finish",
        doc: "A file with what a finisher is told; `finish.prompt` follows it.",
        field: Field::Text(|p| &mut p.brief.finish.file),
    },
    PolicyKey {
        name: "sandbox.level",
        doc: "How agents and checks are confined; \"auto\" is the best that this machine is shown to do.",
        field: Field::Choice(Choice {
            options: &[
                ("auto", |p| p.sandbox.level = WantedLevel::Auto),
                ("namespaces", |p| p.sandbox.level = WantedLevel::Namespaces),
                ("landlock", |p| p.sandbox.level = WantedLevel::Landlock),
                ("none", |p| p.sandbox.level = WantedLevel::None),
                ("container", |p| p.sandbox.level = WantedLevel::Container),
            ],
            later: &[],
            shown: |p| p.sandbox.level.name(),
        }),
    },
    PolicyKey {
        name: "sandbox.image",
        doc: "The image that the level \"container\" runs agents and checks in; the engine must have it.",
        field: Field::Text(|p| &mut p.sandbox.image),
    },
    PolicyKey {
        name: "sandbox.engine",
        doc: "Who runs the containers of the level \"container\"; \"auto\" is the first that answers.",
        field: Field::Choice(Choice {
            options: &[
                ("auto", |p| p.sandbox.engine = WantedEngine::Auto),
                ("docker", |p| p.sandbox.engine = WantedEngine::Docker),
                ("podman", |p| p.sandbox.engine = WantedEngine::Podman),
            ],
            later: &[],
            shown: |p| p.sandbox.engine.name(),
        }),
    },
    PolicyKey {
        name: "sandbox.minimum",
        doc: "The least confinement a loop may run under; below it nothing is started.",
        field: Field::Choice(Choice {
            options: &[
                ("namespaces", |p| p.sandbox.minimum = SandboxLevel::Namespaces),
                ("landlock", |p| p.sandbox.minimum = SandboxLevel::Landlock),
                ("none", |p| p.sandbox.minimum = SandboxLevel::None),
            ],
            later: &["container"],
            shown: |p| p.sandbox.minimum.name(),
        }),
    },
    PolicyKey {
        name: "sandbox.extra_read",
        doc: "What agents and checks may read beside the system, the toolchains and their workspace.",
        field: Field::Texts(Items::Places, |p| &mut p.sandbox.extra_read),
    },
    PolicyKey {
        name: "sandbox.extra_write",
        doc: "What agents and checks may change beside their workspace.",
        field: Field::Texts(Items::Places, |p| &mut p.sandbox.extra_write),
    },
    PolicyKey {
        name: "sandbox.env",
        doc: "Environment variables passed through to agents and checks, by name.",
        field: Field::Texts(Items::Variables, |p| &mut p.sandbox.env),
    },
    PolicyKey {
        name: "sandbox.memory",
        doc: "Memory in use of one attempt or check, all its processes together.",
        field: Field::Bytes(|p| &mut p.sandbox.resources.memory_bytes),
    },
    PolicyKey {
        name: "sandbox.processes",
        doc: "Processes and threads of one attempt or check.",
        field: Field::Tokens(|p| &mut p.sandbox.resources.processes),
    },
    PolicyKey {
        name: "sandbox.open_files",
        doc: "Open files of one process.",
        field: Field::Tokens(|p| &mut p.sandbox.resources.open_files),
    },
    PolicyKey {
        name: "sandbox.file_size",
        doc: "Size of one file that an attempt or check may write.",
        field: Field::Bytes(|p| &mut p.sandbox.resources.file_bytes),
    },
    PolicyKey {
        name: "sandbox.workspace_size",
        doc: "Size of the whole workspace.",
        field: Field::Bytes(|p| &mut p.sandbox.resources.workspace_bytes),
    },
    PolicyKey {
        name: "land.rule",
        doc: "Where accepted work goes: the branch windlass/<loop>.",
        field: Field::Choice(Choice {
            options: &[("branch", |p| p.land.rule = LandRule::Branch)],
            later: &["checkout", "merge", "pull-request"],
            shown: |p| match p.land.rule {
                LandRule::Branch => "branch",
            },
        }),
    },
    PolicyKey {
        name: "price",
        doc: "What models cost whose agents do not say: by model, dollars for a million tokens of `input`, `output`, `cache_read` and `cache_write`. A later layer replaces the whole table.",
        field: Field::Prices(|p| &mut p.prices),
    },
];
