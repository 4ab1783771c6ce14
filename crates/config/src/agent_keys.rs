//! The keys of `[agent]` and of each role's table.

use windlass_core::policy::{AgentPolicy, NetworkKind};

use super::field::{Choice, Field, Items, PolicyKey};
use super::keys::network;

pub static AGENT_KEYS: &[PolicyKey<AgentPolicy>] = &[
    PolicyKey {
        name: "use",
        doc: "The agent: a program that windlass knows, any that speaks the Agent Client Protocol, any other as a command, or a script of actions for trying things out.",
        field: Field::Choice(Choice {
            options: &[
                ("codex", |agent| agent.adapter = "codex".to_owned()),
                ("claude", |agent| agent.adapter = "claude".to_owned()),
                ("opencode", |agent| agent.adapter = "opencode".to_owned()),
                ("gemini", |agent| agent.adapter = "gemini".to_owned()),
                ("qwen", |agent| agent.adapter = "qwen".to_owned()),
                ("acp", |agent| agent.adapter = "acp".to_owned()),
                ("command", |agent| agent.adapter = "command".to_owned()),
                ("scripted", |agent| agent.adapter = "scripted".to_owned()),
            ],
            later: &["external", "builtin"],
            shown: |agent| &agent.adapter,
        }),
    },
    PolicyKey {
        name: "command",
        doc: "The program of a `command` or `acp` agent and its arguments. The brief arrives on its standard input, or as the prompt of the protocol.",
        field: Field::Texts(Items::Arguments, |agent| &mut agent.command),
    },
    PolicyKey {
        name: "script",
        doc: "The file of actions a scripted agent plays.",
        field: Field::Text(|agent| &mut agent.script),
    },
    PolicyKey {
        name: "model",
        doc: "The model to ask for; \"\" is the agent's own default.",
        field: Field::Text(|agent| &mut agent.model),
    },
    PolicyKey {
        name: "effort",
        doc: "The reasoning effort to ask for; \"\" is the agent's own default.",
        field: Field::Text(|agent| &mut agent.effort),
    },
    PolicyKey {
        name: "timeout",
        doc: "How long one attempt may take.",
        field: Field::Span(|agent| &mut agent.timeout),
    },
    PolicyKey {
        name: "silence",
        doc: "How long an attempt may do nothing before it counts as stalled: print nothing new, use hardly any CPU, write no file.",
        field: Field::Span(|agent| &mut agent.silence),
    },
    PolicyKey {
        name: "grace",
        doc: "How long an attempt gets to end by itself before it is killed.",
        field: Field::Span(|agent| &mut agent.grace),
    },
    PolicyKey {
        name: "max_turns",
        doc: "Turns of one attempt, where the agent can bound them.",
        field: Field::Limit(|agent| &mut agent.max_turns),
    },
    PolicyKey {
        name: "resume",
        doc: "Whether an attempt goes on with the conversation of the one before it, at the same task.",
        field: Field::Flag(|agent| &mut agent.extra.resume),
    },
    PolicyKey {
        name: "env",
        doc: "Environment variables of the agent: a list of names that are passed through, or a table of names and values.",
        field: Field::Variables(|agent| (&mut agent.env, &mut agent.extra.set)),
    },
    PolicyKey {
        name: "args",
        doc: "Arguments put after windlass's own, for agents that windlass knows.",
        field: Field::Texts(Items::Arguments, |agent| &mut agent.extra.args),
    },
    PolicyKey {
        name: "path",
        doc: "The agent's program, where it is not the one found by its name.",
        field: Field::Text(|agent| &mut agent.extra.path),
    },
    PolicyKey {
        name: "own_config",
        doc: "Whether your own configuration of the agent's program (MCP servers, plugins, instructions) is used.",
        field: Field::Flag(|agent| &mut agent.extra.own_config),
    },
    PolicyKey {
        name: "inject",
        doc: "Files that must lie in the workspace for the agent: where, and which file of your checkout. Never part of the work.",
        field: Field::Places(|agent| &mut agent.extra.inject),
    },
    PolicyKey {
        name: "fallback",
        doc: "Agents that take over, in turn, when this one is not signed in or does not know its model.",
        field: Field::Texts(Items::Agents, |agent| &mut agent.extra.fallback),
    },
    PolicyKey {
        name: "network",
        doc: "Which network the agent sees: the machine's, a loopback of its own, none, or the hosts of `allow`.",
        field: network!(AgentPolicy, network),
    },
    PolicyKey {
        name: "allow",
        doc: "What the agent may reach through windlass's proxy, as host:port.",
        field: Field::Texts(Items::Hosts, |agent| &mut agent.network.allow),
    },
];
