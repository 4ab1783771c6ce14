//! The keys of `[agent]` and of each role's table.

use windlass_core::policy::AgentPolicy;

use super::format::AgentNames;
use super::key::PolicyKey;
use super::kind::ValueKind;
use super::kind::choice::{NetworkWord, OneOf};
use super::kind::list::{ARGUMENTS, HOSTS, KnownAgents};
use super::kind::number::{FLAG, LIMIT, SPAN};
use super::kind::tables::{InjectedFiles, Variables};
use super::kind::text::TEXT;

pub fn agent_keys(agents: &AgentNames) -> Vec<PolicyKey<AgentPolicy>> {
    vec![
        key("use", adapter(agents), |agent| &mut agent.adapter)
            .doc("The agent: a program that windlass knows, any that speaks the Agent Client Protocol, any other as a command, or a script of actions for trying things out."),
        key("command", ARGUMENTS, |agent| &mut agent.command)
            .doc("The program of a `command` or `acp` agent and its arguments. The brief arrives on its standard input, or as the prompt of the protocol."),
        key("script", TEXT, |agent| &mut agent.script)
            .doc("The file of actions a scripted agent plays."),
        key("model", TEXT, |agent| &mut agent.model)
            .doc("The model to ask for; \"\" is the agent's own default."),
        key("effort", TEXT, |agent| &mut agent.effort)
            .doc("The reasoning effort to ask for; \"\" is the agent's own default."),
        key("timeout", SPAN, |agent| &mut agent.timeout)
            .doc("How long one attempt may take."),
        key("silence", SPAN, |agent| &mut agent.silence)
            .doc("How long an attempt may do nothing before it counts as stalled: print nothing new, use hardly any CPU, write no file."),
        key("grace", SPAN, |agent| &mut agent.grace)
            .doc("How long an attempt gets to end by itself before it is killed."),
        key("max_turns", LIMIT, |agent| &mut agent.max_turns)
            .doc("Turns of one attempt, where the agent can bound them; a reviewer gets half of them, and at least 6."),
        key("resume", FLAG, |agent| &mut agent.extra.resume)
            .doc("Whether an attempt goes on with the conversation of the one before it, at the same task."),
        key("env", Variables, |agent| agent)
            .doc("Environment variables of the agent: a list of names that are passed through, or a table of names and values."),
        key("args", ARGUMENTS, |agent| &mut agent.extra.args)
            .doc("Arguments put after windlass's own, for agents that windlass knows."),
        key("path", TEXT, |agent| &mut agent.extra.path)
            .doc("The agent's program, where it is not the one found by its name."),
        key("own_config", FLAG, |agent| &mut agent.extra.own_config)
            .doc("Whether your own configuration of the agent's program (providers, MCP servers, plugins, instructions) is used."),
        key("inject", InjectedFiles, |agent| &mut agent.extra.inject)
            .doc("Files that must lie in the workspace for the agent: where, and which file of your checkout. Never part of the work."),
        key("fallback", KnownAgents(agents.known.clone()), |agent| &mut agent.extra.fallback)
            .doc("Agents that take over, in turn, when this one is not signed in or does not know its model."),
        key("network", NetworkWord, |agent| &mut agent.network)
            .doc("Which network the agent sees: the machine's, a loopback of its own, none, or the hosts of `allow`."),
        key("allow", HOSTS, |agent| &mut agent.network.allow)
            .doc("What the agent may reach through windlass's proxy, as host:port."),
    ]
}

fn key<K: ValueKind>(
    name: &'static str,
    kind: K,
    at: fn(&mut AgentPolicy) -> &mut K::Target,
) -> PolicyKey<AgentPolicy> {
    PolicyKey::new(name, kind, at)
}

fn adapter(agents: &AgentNames) -> OneOf<String> {
    OneOf {
        options: agents.adapters.iter().map(|name| (*name).to_owned()).collect(),
        name: String::as_str,
        later: &["external", "builtin"],
    }
}
