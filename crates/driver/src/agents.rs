//! Which of the agents that windlass knows this machine has, and what comes of
//! calling one.

use std::path::{Path, PathBuf};
use std::time::Duration;

use windlass_agent::registry::{self, AGENTS, KnownAgent, Profile};
use windlass_agent::{
    AttemptNames, InstallLookup, TurnRequest, TurnResult, Wall, WallSource, adapter, installed,
};
use windlass_core::id::{LoopName, Nonce};
use windlass_core::input::AttemptResult;
use windlass_core::live::Live;
use windlass_core::policy::{AgentPolicy, Policy, Role};
use windlass_process::{Inspection, Spawner};

use crate::clock;
use crate::confine::{Confine, PrivateDirs, ProgramAccess, prove};
use crate::home::Home;
use crate::interrupt::Interrupts;
use crate::signed_out::has_other_way;
use crate::surroundings::Surroundings;

/// One agent, as far as can be told without calling it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentStatus {
    pub name: &'static str,
    /// None when it is not installed.
    pub program: Option<PathBuf>,
    pub version: Option<String>,
    /// Whether this version was tried with windlass.
    pub tried: bool,
    pub login: Login,
}

/// How it would be signed in. Whether the service takes that, only a call shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Login {
    Variable(&'static str),
    File(&'static str),
    /// By nothing of its own; its configuration may name a provider or a key.
    Configured,
    None,
}

/// Every agent that windlass knows, the best first, each with what the policy says of it.
///
/// Their versions are asked for below `scratch`.
pub fn installed_agents(policy: &Policy, surroundings: &Surroundings, scratch: &Path) -> Vec<AgentStatus> {
    let path = surroundings.clean_path();
    let spawner = Spawner::new();
    let look = &|agent: &'static KnownAgent| {
        let asked = named(policy, agent.name);
        let found = installed(
            &asked,
            InstallLookup { project: &surroundings.project, path: &path, spawner: &spawner, scratch },
        );
        AgentStatus {
            name: agent.name,
            login: login(&agent.profile, &asked, surroundings),
            program: found.as_ref().map(|found| found.program.clone()),
            tried: found.as_ref().is_some_and(|found| found.tried),
            version: found.and_then(|found| found.version),
        }
    };
    // Some take seconds to say their version.
    std::thread::scope(|scope| {
        let looks = AGENTS.each_ref().map(|agent| scope.spawn(move || look(agent)));
        looks.into_iter().filter_map(|look| look.join().ok()).collect()
    })
}

/// What the policy says of an agent. A policy that names none is for whichever is picked.
pub fn named(policy: &Policy, name: &str) -> AgentPolicy {
    let mut all = [&policy.agent].into_iter().chain(policy.roles.values());
    let adapter = name.to_owned();
    match all.find(|agent| agent.adapter == name) {
        Some(agent) => agent.clone(),
        None if policy.agent.adapter == "command" && policy.agent.command.is_empty() => {
            AgentPolicy { adapter, ..policy.agent.clone() }
        }
        None => AgentPolicy { adapter, ..AgentPolicy::default() },
    }
}

fn login(profile: &'static Profile, agent: &AgentPolicy, surroundings: &Surroundings) -> Login {
    let keys = profile.variables.iter().filter(|name| !name.ends_with("_URL") && !name.ends_with("_PROJECT"));
    let set = |name: &&&str| surroundings.var(name).is_some_and(|value| !value.is_empty());
    if let Some(name) = keys.copied().collect::<Vec<_>>().iter().find(|name| set(name)) {
        return Login::Variable(name);
    }
    let home = surroundings.var("HOME").map(Path::new);
    let file = home.and_then(|home| profile.credentials.iter().find(|name| home.join(name).is_file()));
    match file {
        Some(name) => Login::File(name),
        None if has_other_way(agent, surroundings) => Login::Configured,
        None => Login::None,
    }
}

const NONCE: &str = "probe";
const BRIEF: &str = "nonce: probe\n\nThis only shows that you can be called. Use no tools and change no files. \
Answer at once: your report has the nonce `probe`, the status `complete` and the summary `ready`. \
Where you are given no form for it, answer with the one line `STATUS: complete`.\n";

/// Which agent is called to see whether it answers, and where.
#[derive(Clone, Copy)]
pub struct Probe<'a> {
    pub agent: &'a AgentPolicy,
    pub policy: &'a Policy,
    pub surroundings: &'a Surroundings,
    pub scratch: &'a Path,
}

/// Calls the agent once, in an empty directory below `scratch`, confined as the
/// policy asks.
pub fn probe(probe: &Probe<'_>, live: &(dyn Fn(Live) + Sync)) -> Result<AttemptResult, String> {
    let interrupts = Interrupts::new();
    let question = Question::of_author(BRIEF, &interrupts, live);
    Ok(ask(probe, &question)?.finished.result)
}

/// What an agent is asked outside of a loop.
pub(crate) struct Question<'a> {
    pub role: Role,
    pub nonce: Nonce,
    pub brief: &'a str,
    /// Ends the call.
    pub interrupts: &'a Interrupts,
    pub live: &'a (dyn Fn(Live) + Sync),
}

impl<'a> Question<'a> {
    /// The nonce of the brief is `probe`.
    pub(crate) fn of_author(
        brief: &'a str,
        interrupts: &'a Interrupts,
        live: &'a (dyn Fn(Live) + Sync),
    ) -> Self {
        Self { role: Role::Author, nonce: Nonce::new(NONCE), brief, interrupts, live }
    }
}

/// Calls the agent once, in the directory `space` below `scratch` as it is. A planner may only read there.
pub(crate) fn ask(probe: &Probe<'_>, question: &Question<'_>) -> Result<TurnResult, String> {
    let Question { role, nonce, brief, interrupts, live } = question;
    let Probe { agent, policy, surroundings, scratch } = *probe;
    let spawner = Spawner::new();
    let choice = prove(&policy.sandbox, &spawner, surroundings, &scratch.join("proofs"))
        .map_err(|error| format!("{error}\n{}", error.hints().join("\n")))?;
    let confine = Confine::new(&choice, &policy.sandbox, surroundings);
    let called = adapter(agent).map_err(|error| error.to_string())?;
    called.check(agent, &surroundings.project, &confine.path).map_err(|error| error.to_string())?;
    let failed = |error: std::io::Error| format!("{}: {error}", scratch.display());
    let (space, dir) = (scratch.join("space"), scratch.join("attempt"));
    // What an earlier call of the same caller left.
    windlass_process::remove_tree(&dir).map_err(failed)?;
    for made in [&space, &dir] {
        std::fs::create_dir_all(made).map_err(failed)?;
    }
    let mut private = PrivateDirs::empty(scratch.join("own")).map_err(failed)?;
    private.read = surroundings.beside_a_program(called.files(agent, &surroundings.project, &confine.path));
    private.write.push(dir.join("report"));
    space_for(*role, &mut private).push(space.clone());
    let home = home(agent, surroundings, scratch, &private);
    if let Some(home) = &home {
        home.seed().map_err(failed)?;
    }
    confine.write_login_profile(&private).map_err(failed)?;
    let known = registry::behind(agent).map_or(&[][..], |known| known.profile.variables);
    let named: Vec<String> = agent.env.iter().cloned().chain(known.iter().map(ToString::to_string)).collect();
    let mut listening = None;
    let result = called.call(
        &TurnRequest {
            role: *role,
            nonce,
            brief,
            whole_brief: brief,
            policy: agent,
            names: AttemptNames {
                name: &LoopName::new("probe").map_err(|e| e.to_string())?,
                task: None,
                iteration: 1,
                nth: 1,
            },
            wall: Wall { limit: Duration::from_millis(agent.timeout.0), source: WallSource::Agent },
            workspace: &space,
            project: &surroundings.project,
            trail: &space,
            dir: &dir,
            home: &private.home(),
            path: &confine.path,
            is_confined: confine.is_on(),
            resume: None,
            marker: &format!("probe/{}", std::process::id()),
            env: &confine.environment(
                surroundings,
                &ProgramAccess { variables: &named, network: &agent.network, private: &private },
            ),
            confinement: &confine.confinement(&agent.network, &private, Inspection::Refused),
            resources: confine.resources,
            spawner: &spawner,
            redactor: &surroundings.redactor(policy),
            clock: clock::wall,
            is_spent: &|_| false,
            live,
        },
        &mut |canceller| listening = Some(interrupts.listen(move |_| canceller.cancel())),
    );
    drop(listening);
    if let Some(home) = &home {
        home.take_back().map_err(failed)?;
    }
    Ok(result)
}

/// The paths among which the directory of a role is.
fn space_for(role: Role, private: &mut PrivateDirs) -> &mut Vec<PathBuf> {
    match role {
        Role::Planner | Role::Reviewer => &mut private.read,
        Role::Author | Role::Finisher => &mut private.write,
    }
}

fn home<'a>(
    agent: &AgentPolicy,
    surroundings: &'a Surroundings,
    scratch: &Path,
    private: &PrivateDirs,
) -> Option<Home<'a>> {
    let operator = Path::new(surroundings.var("HOME")?);
    let (dir, seeded, locks) = (private.home(), private.seeded(), scratch.join("accounts"));
    let own_config = agent.extra.own_config;
    let profile = &registry::behind(agent)?.profile;
    Some(Home { dir, seeded, operator, profile, own_config, locks })
}
