//! The rules a loop runs under, fully resolved: every layer merged, every
//! default filled in. It is stored with the loop, so that a loop keeps its
//! rules when the binary's defaults change. A limit of 0 is off.

mod brief;
mod network;
mod resources;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::control::ControlWhen;
use crate::hidden::HiddenPolicy;
use crate::outcome::Reason;
use crate::proposal::AmendmentRule;
use crate::scope::ScopeLimits;
use crate::stop::StopPolicy;
use crate::task::Task;
use crate::time::Millis;
use crate::usage::{Price, Usage};
pub use brief::{BriefPart, BriefPolicy, OwnMode, OwnText};
pub use network::{NetworkKind, NetworkPolicy};
pub use resources::ResourcePolicy;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Policy {
    pub limits: LoopLimits,
    pub budget: Budget,
    /// The author, and the default of every role without its own entry.
    pub agent: AgentPolicy,
    pub roles: BTreeMap<Role, AgentPolicy>,
    pub workspace: WorkspacePolicy,
    pub plan: PlanPolicy,
    pub gate: GatePolicy,
    pub review: ReviewPolicy,
    pub finish: FinishPolicy,
    pub sandbox: SandboxPolicy,
    pub land: LandPolicy,
    #[serde(default, skip_serializing_if = "StopPolicy::is_off")]
    pub stop: StopPolicy,
    #[serde(default, skip_serializing_if = "BriefPolicy::is_default")]
    pub brief: BriefPolicy,
    /// What agents are asked in a mode of the operator's, by its name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub modes: BTreeMap<String, OwnMode>,
    /// By the name of a mode.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub scope: BTreeMap<String, ScopeLimits>,
    /// What models cost whose agents do not say.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub prices: BTreeMap<String, Price>,
}

impl Policy {
    /// Whether the task of the plan repeats, step by step, until its stop checks hold.
    pub fn is_open_ended(&self) -> bool {
        !self.stop.is_off()
    }

    /// Paths in the workspace that windlass brings along and no snapshot takes.
    pub fn brought(&self) -> Vec<String> {
        let agents = [&self.agent].into_iter().chain(self.roles.values());
        let injected = agents.flat_map(|agent| agent.extra.inject.keys());
        self.workspace.copy.iter().chain(injected).cloned().collect()
    }

    /// Files of the project that this policy names: no task may change what they say.
    pub fn named_files(&self) -> Vec<String> {
        let agents = || [&self.agent].into_iter().chain(self.roles.values());
        let scripts = agents().map(|agent| &agent.script);
        let injected = agents().flat_map(|agent| agent.extra.inject.values());
        let of_modes = self.modes.values().flat_map(|mode| [&mode.author.file, &mode.reviewer.file]);
        let texts = self.brief.0.values().map(|own| &own.file).chain(of_modes);
        let plan = Some(&self.plan.source).filter(|source| !is_sentence(source));
        let named = plan.into_iter().chain(scripts).chain(injected).chain(texts);
        let inside = |file: &&String| file.chars().any(|c| !matches!(c, '.' | '/')) && !file.starts_with('/');
        named.filter(inside).cloned().collect()
    }

    /// Whether checks run as they do under another policy.
    pub fn has_gate_of(&self, other: &Self) -> bool {
        self.gate == other.gate && self.workspace == other.workspace
    }

    /// Whether work is judged as it is under another policy.
    pub fn judges_as(&self, other: &Self) -> bool {
        self.has_gate_of(other) && self.review == other.review && self.scope == other.scope
    }

    /// How the agent of a role is called.
    pub fn agent_for(&self, role: Role) -> &AgentPolicy {
        self.roles.get(&role).unwrap_or(&self.agent)
    }

    /// The roles whose agents a loop under this policy calls.
    pub fn needed_roles(&self) -> Vec<Role> {
        let reviews = self.review.tasks || self.review.whole;
        let needed = |role: &Role| match role {
            Role::Author => true,
            Role::Reviewer => reviews,
            Role::Finisher => self.finish.is_wanted(),
            Role::Planner => false,
        };
        Role::ALL.into_iter().filter(needed).collect()
    }
}

/// Whether a plan's source is what is to be done, and no file: it has blanks, and neither a directory nor an ending.
fn is_sentence(source: &str) -> bool {
    let has_ending = source
        .trim()
        .rsplit_once('.')
        .is_some_and(|(_, end)| !end.is_empty() && end.len() <= 8 && end.chars().all(char::is_alphanumeric));
    source.trim().contains(char::is_whitespace) && !source.contains('/') && !has_ending
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    Author,
    Reviewer,
    Finisher,
    /// Proposes a plan before there is a loop.
    Planner,
}

impl Role {
    pub const ALL: [Self; 4] = [Self::Author, Self::Reviewer, Self::Finisher, Self::Planner];
    /// Those whose agents a loop calls.
    pub const IN_LOOPS: [Self; 3] = [Self::Author, Self::Reviewer, Self::Finisher];

    pub fn name(self) -> &'static str {
        match self {
            Self::Author => "author",
            Self::Reviewer => "reviewer",
            Self::Finisher => "finisher",
            Self::Planner => "planner",
        }
    }
}

impl std::fmt::Display for Role {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// Section `[loop]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoopLimits {
    pub max_iterations: u32,
    pub max_task_failures: u32,
    pub max_gate_failures: u32,
    pub max_no_progress: u32,
    pub max_rejections: u32,
    pub max_review_failures: u32,
    pub max_agent_failures: u32,
    pub max_stalls: u32,
    pub max_transient: u32,
    pub max_final_fixes: u32,
}

impl Default for LoopLimits {
    fn default() -> Self {
        Self {
            max_iterations: 30,
            max_task_failures: 5,
            max_gate_failures: 0,
            max_no_progress: 5,
            max_rejections: 3,
            max_review_failures: 3,
            max_agent_failures: 3,
            max_stalls: 5,
            max_transient: 20,
            max_final_fixes: 5,
        }
    }
}

/// Section `[budget]`: over the whole life of the loop.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Budget {
    pub wall: Millis,
    /// Millionths of a dollar, so that sums are exact.
    pub cost_micro_usd: u64,
    pub tokens: u64,
}

impl Budget {
    /// Whether it bounds anything.
    pub fn is_set(&self) -> bool {
        !self.wall.is_zero() || self.cost_micro_usd != 0 || self.tokens != 0
    }

    /// What of the budget for agents is spent when they have used so much; time is counted apart.
    pub fn spent(&self, used: &Usage) -> Option<(Reason, String)> {
        if self.tokens != 0 && used.tokens() >= self.tokens {
            return Some((Reason::Tokens, format!("{} of {} tokens", used.tokens(), self.tokens)));
        }
        if self.cost_micro_usd != 0 && used.cost_micro_usd.unwrap_or(0) >= self.cost_micro_usd {
            let all = self.cost_micro_usd as f64 / 1e6;
            return Some((Reason::Cost, format!("{:.2} of {all:.2} USD", used.cost_usd())));
        }
        None
    }
}

/// Section `[agent]` or `[role.<name>]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentPolicy {
    /// The adapter, such as `codex` or `command`.
    #[serde(rename = "use")]
    pub adapter: String,
    pub command: Vec<String>,
    /// The file of actions a `scripted` agent plays.
    pub script: String,
    pub model: String,
    pub effort: String,
    pub timeout: Millis,
    pub silence: Millis,
    pub grace: Millis,
    pub max_turns: u32,
    /// Names of environment variables passed through to the agent.
    pub env: Vec<String>,
    #[serde(default)]
    pub network: NetworkPolicy,
    #[serde(default)]
    pub extra: AgentExtras,
}

/// What only agents that windlass knows by name use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct AgentExtras {
    /// Put after windlass's own arguments.
    pub args: Vec<String>,
    /// Environment variables with their values.
    pub set: BTreeMap<String, String>,
    /// The program, where it is not found by its name.
    pub path: String,
    /// Whether an attempt goes on with the conversation of the one before.
    pub resume: bool,
    /// Whether the operator's own configuration of the program is used.
    pub own_config: bool,
    /// The adapters that take over when this one cannot be used.
    pub fallback: Vec<String>,
    /// Files that must lie in the workspace: where, and which file of the
    /// operator's project. Never part of the work.
    pub inject: BTreeMap<String, String>,
}

/// A reviewer reads and judges, which takes fewer turns than the work; with less than this it could not look
/// at the change and answer.
const REVIEWER_MIN_TURNS: u32 = 6;

/// The longest wait that an agent's program may make by itself before it tries a request again. A longer one
/// is windlass's to make: windlass shows it, and it survives a restart.
pub const MAX_OWN_WAIT: Millis = Millis::seconds(60);

/// How many failures in a row an agent's program may tell of. After those windlass decides when to try again:
/// it shows the wait, and it has fallbacks.
pub const MAX_OWN_TRIES: u32 = 3;

impl AgentPolicy {
    /// How many turns an attempt of this role may take; 0 is no limit. A reviewer gets half of an author's.
    pub fn turns_for(&self, role: Role) -> u32 {
        match role {
            Role::Reviewer if self.max_turns > 0 => (self.max_turns / 2).max(REVIEWER_MIN_TURNS),
            Role::Reviewer | Role::Author | Role::Finisher | Role::Planner => self.max_turns,
        }
    }

    /// The same limits with another agent, which has its own defaults.
    #[must_use]
    pub fn replaced_by(&self, adapter: &str) -> Self {
        Self {
            adapter: adapter.to_owned(),
            command: Vec::new(),
            script: String::new(),
            model: String::new(),
            effort: String::new(),
            extra: AgentExtras::default(),
            ..self.clone()
        }
    }
}

impl Default for AgentPolicy {
    fn default() -> Self {
        Self {
            adapter: "command".to_owned(),
            command: Vec::new(),
            script: String::new(),
            model: String::new(),
            effort: String::new(),
            timeout: Millis::minutes(30),
            silence: Millis::minutes(10),
            grace: Millis::seconds(5),
            max_turns: 30,
            env: Vec::new(),
            network: NetworkPolicy::default(),
            extra: AgentExtras::default(),
        }
    }
}

/// Section `[workspace]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkspacePolicy {
    /// Shell commands run once in a fresh workspace and in the gate's tree.
    pub setup: Vec<String>,
    /// Files brought from the operator's checkout, never snapshotted.
    pub copy: Vec<String>,
    /// How many commits of history the author's clone has.
    pub history: u32,
}

impl Default for WorkspacePolicy {
    fn default() -> Self {
        Self { setup: Vec::new(), copy: Vec::new(), history: 50 }
    }
}

/// Section `[plan]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanPolicy {
    pub source: String,
    /// What the source is written as; empty where the file itself says so.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub format: String,
    /// What becomes of the amendments that agents propose.
    #[serde(default, skip_serializing_if = "AmendmentRule::is_default")]
    pub amendments: AmendmentRule,
}

/// Section `[gate]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GatePolicy {
    pub timeout: Millis,
    pub protect: Vec<String>,
    /// What agents may change freely. Empty: everything that is not protected, but for names that are never
    /// product.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub product: Vec<String>,
    #[serde(default, skip_serializing_if = "TermsRule::is_default")]
    pub terms: TermsRule,
    #[serde(default, skip_serializing_if = "HiddenPolicy::is_off")]
    pub hidden: HiddenPolicy,
    /// A policy from before there was such a thing asked for none.
    #[serde(default = "ControlWhen::before")]
    pub control: ControlWhen,
    /// Directories the baseline fills and every check begins with a copy of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cache: Vec<String>,
    pub checks: Vec<CheckPolicy>,
    /// For an open-ended loop: what sees the tree before a step beside the one after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<Box<CheckPolicy>>,
    #[serde(default, skip_serializing_if = "NetworkPolicy::is_default")]
    pub network: NetworkPolicy,
}

impl GatePolicy {
    pub fn check(&self, name: &str) -> Option<&CheckPolicy> {
        self.every_check().find(|check| check.name == name)
    }

    /// The checks, and at last that of a step.
    pub fn every_check(&self) -> impl Iterator<Item = &CheckPolicy> {
        self.checks.iter().chain(self.step.as_deref())
    }

    /// Whether this is the check that compares a step with the tree before it.
    pub fn is_step_check(&self, name: &str) -> bool {
        self.step.as_ref().is_some_and(|step| step.name == name)
    }

    /// Names of the checks that judge a task, those of its own criteria included, or the whole.
    pub fn checks_for(&self, task: Option<&Task>) -> Vec<String> {
        let selected = task.map_or(&[][..], |task| &task.checks);
        let due = |when: CheckWhen| match when {
            CheckWhen::Both => true,
            CheckWhen::Task => task.is_some(),
            CheckWhen::Final => task.is_none(),
        };
        let named =
            |name: &String| selected.is_empty() || selected.contains(name) || self.is_step_check(name);
        let own: Vec<String> = task.into_iter().flat_map(Task::criterion_check_names).collect();
        let chosen = self.every_check().filter(|c| due(c.when) && named(&c.name) && !own.contains(&c.name));
        chosen.map(|c| c.name.clone()).chain(own.iter().cloned()).collect()
    }
}

impl Default for GatePolicy {
    fn default() -> Self {
        Self {
            timeout: Millis::minutes(5),
            protect: Vec::new(),
            product: Vec::new(),
            terms: TermsRule::Review,
            hidden: HiddenPolicy::default(),
            control: ControlWhen::Final,
            cache: Vec::new(),
            checks: Vec::new(),
            step: None,
            network: NetworkPolicy::default(),
        }
    }
}

/// What follows where the checks are green only with terms that the work itself changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TermsRule {
    /// A reviewer decides on the changed terms; without reviews, as `Forbid`.
    #[default]
    Review,
    /// It is a bug, unless the task allows the paths.
    Forbid,
}

impl TermsRule {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Section `[[gate.check]]`: one command that must exit 0. What is not used is
/// not written, so that a gate without it keeps its definition.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckPolicy {
    pub name: String,
    pub run: String,
    pub when: CheckWhen,
    pub timeout: Millis,
    /// A glob of the files in which the check reports its tests.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub junit: String,
    /// A command that must fail where the check passes, or a word of [`CheckControl`].
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub control: String,
    /// How often a red check is run again: never, or once.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub retry: u32,
    /// How often it is run, on a clean checkout each time; every run must be
    /// green. 0 is once, as 1 is.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub repeat: u32,
    /// It goes on in the tree that the check before it left.
    #[serde(default, skip_serializing_if = "is_false")]
    pub chain: bool,
}

/// The name of the check that judges a step.
pub const STEP_CHECK: &str = "step";

impl CheckPolicy {
    /// The check of a step: before each landing, and never of the whole.
    pub fn of_step(run: &str, timeout: Millis) -> Self {
        Self {
            name: STEP_CHECK.to_owned(),
            run: run.to_owned(),
            when: CheckWhen::Task,
            timeout,
            control: "off".to_owned(),
            ..Self::default()
        }
    }
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

fn is_false(flag: &bool) -> bool {
    !flag
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckWhen {
    Task,
    Final,
    #[default]
    Both,
}

/// Section `[review]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewPolicy {
    pub tasks: bool,
    #[serde(rename = "final")]
    pub whole: bool,
    pub rejected: Rejected,
}

impl Default for ReviewPolicy {
    fn default() -> Self {
        Self { tasks: true, whole: true, rejected: Rejected::Continue }
    }
}

/// Where the next iteration starts after a reject.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rejected {
    /// From the rejected tree.
    #[default]
    Continue,
    /// From the task's base.
    Reset,
}

/// Section `[finish]`: the optional action after completion.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FinishPolicy {
    pub skill: String,
    pub prompt: String,
}

impl FinishPolicy {
    pub fn is_wanted(&self) -> bool {
        !self.skill.is_empty() || !self.prompt.is_empty()
    }
}

/// Section `[sandbox]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SandboxPolicy {
    pub level: WantedLevel,
    /// For the level `container`: what agents and checks run in.
    pub image: String,
    /// For the level `container`: who runs it.
    pub engine: WantedEngine,
    /// What must be proven on the machine before anything is run on it.
    pub minimum: SandboxLevel,
    /// Paths agents and checks may read beside the system and the toolchains.
    pub extra_read: Vec<String>,
    /// Paths agents and checks may change beside their own.
    pub extra_write: Vec<String>,
    /// Names of environment variables passed through to agents and checks.
    pub env: Vec<String>,
    pub resources: ResourcePolicy,
}

impl Default for SandboxPolicy {
    fn default() -> Self {
        Self {
            level: WantedLevel::Auto,
            image: String::new(),
            engine: WantedEngine::Auto,
            minimum: SandboxLevel::Landlock,
            extra_read: Vec::new(),
            extra_write: Vec::new(),
            env: Vec::new(),
            resources: ResourcePolicy::usual(),
        }
    }
}

impl SandboxPolicy {
    /// The level that was asked for, where it is less than the minimum.
    pub fn level_below_minimum(&self) -> Option<SandboxLevel> {
        self.level.exactly().filter(|level| *level < self.minimum)
    }
}

/// How a program is confined; a later level keeps more from it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SandboxLevel {
    #[default]
    None,
    Landlock,
    Namespaces,
    Container,
}

impl SandboxLevel {
    /// Those that need nothing but the machine, the best last.
    pub const OWN: [Self; 3] = [Self::None, Self::Landlock, Self::Namespaces];

    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Landlock => "landlock",
            Self::Namespaces => "namespaces",
            Self::Container => "container",
        }
    }
}

/// Whose containers are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WantedEngine {
    /// The first that answers.
    #[default]
    Auto,
    Docker,
    Podman,
}

impl WantedEngine {
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Docker => "docker",
            Self::Podman => "podman",
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WantedLevel {
    /// The best of windlass's own that can be proven.
    #[default]
    Auto,
    None,
    Landlock,
    Namespaces,
    Container,
}

impl WantedLevel {
    /// None for the best there is.
    pub fn exactly(self) -> Option<SandboxLevel> {
        match self {
            Self::Auto => None,
            Self::None => Some(SandboxLevel::None),
            Self::Landlock => Some(SandboxLevel::Landlock),
            Self::Namespaces => Some(SandboxLevel::Namespaces),
            Self::Container => Some(SandboxLevel::Container),
        }
    }

    pub fn name(self) -> &'static str {
        self.exactly().map_or("auto", SandboxLevel::name)
    }
}

/// What a machine was shown to do: the level, and each attack that it stopped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProvenSandbox {
    pub level: SandboxLevel,
    /// Empty for the level `none`, which promises nothing.
    pub stopped: Vec<String>,
    /// Better levels that were wanted and do not hold there, the best first.
    #[serde(default)]
    pub missed: Vec<MissedLevel>,
    /// For the level `container`: the engine, its version and the image, in words.
    #[serde(default)]
    pub engine: String,
}

impl ProvenSandbox {
    /// For whoever must not find out later that it is less than could be: the reason, and lines of what to do.
    pub fn warnings(&self) -> Vec<String> {
        let got = self.level.name();
        let warning = |missed: &MissedLevel| {
            let MissedLevel { level, why, remedy } = missed;
            format!("the sandbox is {got}, not {}: {why}\n{remedy}", level.name())
        };
        self.missed.iter().map(warning).collect()
    }
}

/// A level that a machine cannot do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MissedLevel {
    pub level: SandboxLevel,
    pub why: String,
    /// The steps by which that machine would have it.
    pub remedy: String,
}

/// Section `[land]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LandPolicy {
    pub rule: LandRule,
    /// Nothing lands before the operator has approved it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub approve: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LandRule {
    #[default]
    Branch,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_is_needed_where_the_policy_calls_it() {
        let mut policy = Policy::default();
        assert_eq!(policy.needed_roles(), [Role::Author, Role::Reviewer]);
        policy.review.tasks = false;
        assert_eq!(policy.needed_roles(), [Role::Author, Role::Reviewer], "for the finished work");
        policy.review.whole = false;
        assert_eq!(policy.needed_roles(), [Role::Author]);
        policy.finish.prompt = "write the changelog".to_owned();
        assert_eq!(policy.needed_roles(), [Role::Author, Role::Finisher]);
    }

    #[test]
    fn a_budget_is_spent_by_tokens_or_by_cost_and_0_is_no_budget() {
        let price = Price { input: 2_000_000, ..Price::default() };
        let policy = Policy { prices: [("m".to_owned(), price)].into(), ..Policy::default() };
        let used = Usage { input_tokens: 1_000_000, ..Usage::default() };
        assert_eq!(policy.priced("other", &used).cost_micro_usd, None);
        let said = Usage { cost_micro_usd: Some(1), ..used };
        assert_eq!(policy.priced("m", &said), said, "what the agent says holds");
        let priced = policy.priced("m", &used);
        assert_eq!(policy.budget.spent(&priced), None);
        let cost = Budget { cost_micro_usd: 2_000_000, ..Budget::default() };
        assert_eq!(cost.spent(&used), None, "nobody said what it cost");
        assert_eq!(cost.spent(&priced), Some((Reason::Cost, "2.00 of 2.00 USD".to_owned())));
        let tokens = Budget { tokens: 1_000_001, ..cost };
        assert_eq!(tokens.spent(&used), None);
        let tokens = Budget { tokens: 1_000_000, ..tokens };
        assert_eq!(tokens.spent(&priced), Some((Reason::Tokens, "1000000 of 1000000 tokens".to_owned())));
    }

    #[test]
    fn only_a_level_that_was_asked_for_can_be_below_the_minimum() {
        let mut sandbox = SandboxPolicy { minimum: SandboxLevel::Namespaces, ..SandboxPolicy::default() };
        assert_eq!(sandbox.level_below_minimum(), None);
        sandbox.level = WantedLevel::Landlock;
        assert_eq!(sandbox.level_below_minimum(), Some(SandboxLevel::Landlock));
        sandbox.minimum = SandboxLevel::Landlock;
        assert_eq!(sandbox.level_below_minimum(), None);
    }

    #[test]
    fn a_reviewer_gets_half_of_an_authors_turns_and_no_fewer_than_six() {
        for (max_turns, reviewer) in [(0, 0), (1, 6), (12, 6), (13, 6), (14, 7), (30, 15)] {
            let policy = AgentPolicy { max_turns, ..AgentPolicy::default() };
            assert_eq!(policy.turns_for(Role::Reviewer), reviewer, "{max_turns}");
            for role in [Role::Author, Role::Finisher] {
                assert_eq!(policy.turns_for(role), max_turns, "{role}");
            }
        }
    }
}
