//! The layers, merged into the policy a loop runs under, with the place every
//! value came from.

use std::collections::BTreeMap;
use std::sync::Arc;

use windlass_core::policy::{AgentPolicy, CheckPolicy, LoopLimits, NetworkKind, Policy, Role, STEP_CHECK};

use super::format::PolicyFormat;
use super::kind::quoted;
use super::layer::{Layer, LayerKind, PROJECT_FILE, Sources, read_layers};
use super::problem::{ConfigError, ConfigProblem, TextProblem};
use super::read::{LayeredValues, ValueOrigin};
use super::template::PLACEHOLDER_AGENT;

/// The policy, and by dotted name where each value was set that is not a
/// default.
#[derive(Debug)]
pub struct Resolved {
    pub policy: Policy,
    pub origins: BTreeMap<String, ValueOrigin>,
    /// Whether the project has a policy file.
    pub has_project_file: bool,
}

impl PolicyFormat {
    /// The policy of a project: every layer there is, read and merged.
    pub fn load(&self, sources: &Sources) -> Result<Resolved, ConfigError> {
        self.resolve(read_layers(sources)?)
    }

    /// Merges the layers, lowest first. Pure: nothing is read from anywhere.
    pub fn resolve(&self, layers: Vec<Layer>) -> Result<Resolved, ConfigError> {
        self.resolve_onto(Policy::default(), layers)
    }

    /// The same, with a policy below the lowest layer.
    pub(crate) fn resolve_onto(&self, below: Policy, layers: Vec<Layer>) -> Result<Resolved, ConfigError> {
        let has_project_file = layers.iter().any(|layer| layer.kind == LayerKind::Project);
        let layers: Vec<Arc<Layer>> = layers.into_iter().map(Arc::new).collect();
        let values = self.read_values(&layers)?;
        let was_open_ended = below.is_open_ended();
        let mut resolved = Resolved { has_project_file, ..self.merge(below, values, &layers) };
        if !was_open_ended {
            resolved.lift_iteration_limit();
        }
        let mut problems = resolved.unusable_agents();
        problems.extend(resolved.contradictions());
        problems.extend(resolved.stop_problems());
        if problems.is_empty() { Ok(resolved) } else { Err(ConfigError { problems }) }
    }

    fn read_values(&self, layers: &[Arc<Layer>]) -> Result<LayeredValues, ConfigError> {
        let mut values = LayeredValues::default();
        let mut problems = Vec::new();
        for layer in layers {
            if let Err(found) = values.read(self, layer) {
                problems.extend(found);
            }
        }
        if problems.is_empty() { Ok(values) } else { Err(ConfigError { problems }) }
    }

    fn merge(&self, mut policy: Policy, mut values: LayeredValues, layers: &[Arc<Layer>]) -> Resolved {
        let mut origins = BTreeMap::new();
        for key in &self.policy_keys {
            if let Some(value) = values.policy.remove(key.name) {
                (value.change)(&mut policy);
                origins.insert(key.name.to_owned(), value.origin);
            }
        }
        policy.brief.forget_unwritten();
        let before = policy.agent.clone();
        for key in &self.agent_keys {
            if let Some(value) = values.agents.remove(&(None, key.name)) {
                (value.change)(&mut policy.agent);
                origins.insert(format!("agent.{}", key.name), value.origin);
            }
        }
        for role in Role::ALL {
            let known = policy.roles.get(&role).cloned();
            let is_known = known.is_some();
            let change = AgentChange { before: &before, agent: &policy.agent };
            let mut own = match known {
                Some(own) => self.with_inherited(own, &change, layers),
                None => policy.agent.clone(),
            };
            let written = origins.len();
            // `use` is the first of the keys, so that what is not inherited is
            // dropped before the role's own values are set.
            for key in &self.agent_keys {
                let Some(value) = values.agents.remove(&(Some(role), key.name)) else {
                    continue;
                };
                let adapter = own.adapter.clone();
                (value.change)(&mut own);
                if key.name == "use" && own.adapter != adapter && own.adapter != policy.agent.adapter {
                    own = policy.agent.replaced_by(&own.adapter);
                }
                origins.insert(format!("role.{}.{}", role.name(), key.name), value.origin);
            }
            if is_known || origins.len() > written {
                policy.roles.insert(role, own);
            }
        }
        Resolved { policy, origins, has_project_file: false }
    }

    /// What a role has of `[agent]` is another where that is.
    fn with_inherited(
        &self,
        mut own: AgentPolicy,
        change: &AgentChange<'_>,
        layers: &[Arc<Layer>],
    ) -> AgentPolicy {
        let AgentChange { before, agent } = *change;
        let mut values = self.read_values(layers).expect("they were read before");
        let others = agent.replaced_by(&own.adapter);
        let is_alike = own.adapter == before.adapter;
        for key in &self.agent_keys {
            let Some(value) = values.agents.remove(&(None, key.name)) else { continue };
            let inherits = is_alike || key.name != "use" && key.show(&others) == key.show(agent);
            if inherits && key.show(&own) == key.show(before) {
                (value.change)(&mut own);
            }
        }
        own
    }
}

/// `[agent]`, before and after.
struct AgentChange<'a> {
    before: &'a AgentPolicy,
    agent: &'a AgentPolicy,
}

impl Resolved {
    pub fn origin(&self, key: &str) -> Option<&ValueOrigin> {
        self.origins.get(key)
    }

    /// Refuses a policy under which some agent that will be needed is not set.
    /// Commands that only read need none, so `resolve` does not ask for it.
    pub fn require_agents(&self) -> Result<(), ConfigError> {
        let policy = &self.policy;
        for role in policy.needed_roles() {
            let agent = policy.agent_for(role);
            if lacks(agent).is_some() {
                let message = format!("no agent is set for the {}", role.name());
                let help = "run `windlass init`, or write [agent] with use = \"command\" and the command of your agent";
                return Err(ConfigProblem::of_file(PROJECT_FILE, message, help).into());
            }
            if is_placeholder(agent) {
                return Err(self.placeholder(role).into());
            }
        }
        Ok(())
    }

    /// What was written about agents and cannot work.
    fn unusable_agents(&self) -> Vec<ConfigProblem> {
        let mut problems: Vec<ConfigProblem> =
            self.unusable("agent", &self.policy.agent).into_iter().collect();
        for (role, agent) in &self.policy.roles {
            let table = format!("role.{}", role.name());
            problems.extend(self.unusable(&table, agent));
            problems.extend(self.ignored(&table, agent));
        }
        problems
    }

    /// Keys that cannot both hold.
    fn contradictions(&self) -> Vec<ConfigProblem> {
        let policy = &self.policy;
        let mut problems = Vec::new();
        let sandbox = &policy.sandbox;
        if let Some(level) = sandbox.level_below_minimum()
            && let Some(origin) = self.origin("sandbox.level")
        {
            let minimum = sandbox.minimum.name();
            let message =
                format!("`sandbox.level = \"{}\"` is below `sandbox.minimum = \"{minimum}\"`", level.name());
            let help =
                format!("to run with less, write minimum = \"{}\" too; or remove `level`", level.name());
            problems.push(shown(origin, message, &help));
        }
        let agents =
            policy.roles.iter().map(|(role, agent)| (format!("role.{}", role.name()), &agent.network));
        let networks =
            [("agent".to_owned(), &policy.agent.network), ("gate".to_owned(), &policy.gate.network)];
        for (table, network) in networks.into_iter().chain(agents) {
            let listed = !network.allow.is_empty();
            let origin = self.origin(&format!("{table}.network"));
            if let Some(origin) = origin.filter(|_| listed != (network.meant() == NetworkKind::Allow)) {
                let kind = network.kind.name();
                let message =
                    format!("`{table}.network = \"{kind}\"` and `{table}.allow` contradict each other");
                let help = "list the hosts in `allow` and write network = \"allow\", or leave both out";
                problems.push(shown(origin, message, help));
            }
        }
        problems
    }

    /// Nobody knows how many steps an open-ended loop takes: only a number that
    /// was written limits them.
    fn lift_iteration_limit(&mut self) {
        let limits = &mut self.policy.limits;
        let is_default = limits.max_iterations == LoopLimits::default().max_iterations;
        if !self.policy.stop.is_off() && is_default && !self.origins.contains_key("loop.max_iterations") {
            limits.max_iterations = 0;
        }
    }

    /// What an open-ended loop lacks, and what has no effect without one.
    fn stop_problems(&self) -> Vec<ConfigProblem> {
        let policy = &self.policy;
        let at =
            |keys: &[&str], message: String, help: &str| match keys.iter().find_map(|key| self.origin(key)) {
                Some(origin) => shown(origin, message, help),
                None => ConfigProblem::of_file(PROJECT_FILE, message, help),
            };
        let mut problems = Vec::new();
        if policy.is_open_ended() && policy.limits.max_iterations == 0 && !policy.budget.is_set() {
            let message = "an open-ended loop needs a limit, and this one has none".to_owned();
            let help = "write [budget] with wall, tokens or cost_usd, such as wall = \"8h\", or [loop] with max_iterations";
            problems.push(at(&["stop.check", "loop.max_iterations"], message, help));
        }
        if policy.gate.step.is_some() && !policy.is_open_ended() {
            let message = "`stop.step_check` has no effect without a stop check".to_owned();
            problems.push(at(&["stop.step_check"], message, "add a [[stop.check]], or remove it"));
        }
        let named_step = |check: &CheckPolicy| check.name.eq_ignore_ascii_case(STEP_CHECK);
        if policy.gate.step.is_some() && policy.gate.checks.iter().any(named_step) {
            let message = format!("a check cannot be named {} beside `stop.step_check`", quoted(STEP_CHECK));
            problems.push(at(&["gate.check"], message, "give the check another name"));
        }
        problems
    }

    fn unusable(&self, table: &str, agent: &AgentPolicy) -> Option<ConfigProblem> {
        let key = lacks(agent)?;
        let written = self.origin(&format!("{table}.{key}"));
        let origin = written.or_else(|| self.origin(&format!("{table}.use")))?;
        let message = match written {
            Some(_) if agent.command.is_empty() || key == "script" => format!("`{table}.{key}` is empty"),
            Some(_) => format!("`{table}.command` does not start with a program"),
            None => format!("`{table}.use = {}` needs a `{key}`", quoted(&agent.adapter)),
        };
        let help = match key {
            "command" if agent.adapter == "acp" => "write it like command = [\"gemini\", \"--acp\"]",
            "command" => "write it like command = [\"sh\", \"agent.sh\"]",
            _ => "write it like script = \"agent.toml\"",
        };
        Some(shown(origin, message, help))
    }

    /// A key that was written for a role whose agent is of the other kind.
    fn ignored(&self, table: &str, agent: &AgentPolicy) -> Option<ConfigProblem> {
        let others = [("command", "command"), ("script", "scripted")].into_iter();
        let of_it = |key: &str| key == "command" && agent.adapter == "acp";
        let mut others = others.filter(|(key, adapter)| *adapter != agent.adapter && !of_it(key));
        others.find_map(|(key, adapter)| {
            let origin = self.origin(&format!("{table}.{key}"))?;
            let message = format!("`{table}.{key}` has no effect on a {} agent", agent.adapter);
            Some(shown(origin, message, &format!("write use = \"{adapter}\" beside it, or remove it")))
        })
    }

    fn placeholder(&self, role: Role) -> ConfigProblem {
        let own = self.origin(&format!("role.{}.command", role.name()));
        let message = format!("the command of the {} is still the placeholder", role.name());
        let help = "replace it with the command of your agent; it gets the brief on its standard input";
        match own.or_else(|| self.origin("agent.command")) {
            Some(origin) => shown(origin, message, help),
            None => ConfigProblem::of_file(PROJECT_FILE, message, help),
        }
    }
}

/// The key without which an agent of its kind cannot start, if it is not set.
fn lacks(agent: &AgentPolicy) -> Option<&'static str> {
    match agent.adapter.as_str() {
        "scripted" => agent.script.trim().is_empty().then_some("script"),
        "command" | "acp" => {
            agent.command.first().is_none_or(|program| program.trim().is_empty()).then_some("command")
        }
        _ => None,
    }
}

fn is_placeholder(agent: &AgentPolicy) -> bool {
    agent.adapter == "command" && agent.command.first().is_some_and(|program| program == PLACEHOLDER_AGENT)
}

fn shown(origin: &ValueOrigin, message: String, help: &str) -> ConfigProblem {
    ConfigProblem::in_text(
        &origin.layer,
        TextProblem { span: origin.span.clone(), message, help: help.to_owned() },
    )
}
