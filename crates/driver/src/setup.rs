//! Before a loop exists: everything it needs is looked at, and refused with
//! the place and the remedy, before anything is written.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;
use windlass_agent::{Unusable, adapter, registry};
use windlass_core::id::{CommitId, LoopName, TreeId};
use windlass_core::input::{Asked, Creation};
use windlass_core::nearest::nearest;
use windlass_core::policy::{
    AgentPolicy, NetworkKind, Policy, ProvenSandbox, Role, SandboxLevel, SandboxPolicy, WantedLevel,
};
use windlass_core::step;
use windlass_core::task::Plan;
use windlass_gate::{BadGlob, JunitFiles, MissingFile, PathRules, required_program};
use windlass_plan::Planned;
use windlass_process::Spawner;
use windlass_store::{AppendError, BlobError, Store, VaultDir};
use windlass_workspace::{
    Depth, DiscoverError, Git, GitError, IdentitySource, OperatorEnv, Repository, Vault, VaultError,
};

use crate::briefs::{self, BadBrief};
use crate::clock;
use crate::committed::{self, Committed};
use crate::confine::{self, RecordsExposed, SandboxUnavailable, check_records, prove};
use crate::hidden::{self, BadHidden, HiddenNotStored};
use crate::journal::{Journal, JournalError};
use crate::plan_problems::{modes_of, plan_problems};
pub use crate::planted::PlantedTerm;
use crate::planted::{PlantedError, trusted_base};
use crate::signed_out::signed_out;
use crate::surroundings::{NoShell, Surroundings};

/// What a new loop is to be made of.
pub struct NewLoop {
    pub name: LoopName,
    /// A revision; HEAD when none is given.
    pub base: Option<String>,
    pub policy: Policy,
    pub planned: Planned,
    pub surroundings: Surroundings,
    pub vault: VaultDir,
    /// What its first drive is to do: an agent that is not called need not be there.
    pub asked: Asked,
}

/// A new loop that was checked and is possible. Nothing is written yet.
pub struct Proposed {
    pub name: LoopName,
    pub base: CommitId,
    pub policy: Policy,
    pub planned: Planned,
    pub warnings: Vec<String>,
    /// What is worth telling, and no fault.
    pub notes: Vec<String>,
    /// As it is before the run; each drive of it finds out again.
    pub sandbox: ProvenSandbox,
    git: Git,
    repository: Repository,
    surroundings: Surroundings,
    vault: VaultDir,
}

#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    #[error(transparent)]
    Shell(#[from] NoShell),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Repository(#[from] DiscoverError),
    #[error("the {role} cannot be called: {why}")]
    NoSuchAgent { role: &'static str, why: String, remedy: Remedy },
    #[error("the {role} cannot be called: nobody is signed in to {agent}")]
    SignedOut { role: &'static str, agent: &'static str, hints: Vec<String> },
    #[error("{0}")]
    NotInBase(MissingFile),
    #[error("{place}: {missing}")]
    CriterionNotInBase { place: String, missing: MissingFile },
    #[error("check `{check}` names `{file}`, which is not in the commit that this loop began from")]
    NotInBaseOfLoop { check: String, file: String },
    #[error("check `{check}` cannot run: there is no program {program} on PATH")]
    NoProgram { check: String, program: String },
    #[error("`stop.check` makes the loop open-ended: its plan must have exactly one task, and has {tasks}")]
    SeveralTasks { tasks: usize },
    #[error("`inject` of an agent names {path}, {why}")]
    Inject { path: String, why: &'static str },
    #[error(transparent)]
    Brief(#[from] BadBrief),
    #[error(transparent)]
    Glob(#[from] BadGlob),
    #[error("{place}: {glob}")]
    TaskGlob { place: String, glob: BadGlob },
    #[error("{place}: `{key}` has {glob:?}, which leads out of the repository")]
    GlobOutside { place: String, key: &'static str, glob: String },
    #[error("{place}: there is no mode {mode:?}")]
    UnknownMode { place: String, mode: String },
    #[error("[scope.{mode}] limits the mode {mode:?}, which does not exist")]
    ScopeOfNoMode { mode: String },
    #[error("{place}: a task of the mode fix needs a check that runs its regression test, and has none")]
    FixWithoutCheck { place: String },
    #[error(transparent)]
    Hidden(#[from] BadHidden),
    #[error("sandbox.level = {:?} is below sandbox.minimum = {:?}", level.name(), minimum.name())]
    BelowMinimum { level: SandboxLevel, minimum: SandboxLevel },
    #[error("sandbox.level = \"container\" needs an image: sandbox.image is not set")]
    NoImage,
    #[error(
        "a list of allowed hosts does not work at level container: use network = \"none\" or \"open\", or level namespaces"
    )]
    AllowList,
    #[error(transparent)]
    Exposed(#[from] RecordsExposed),
    #[error(transparent)]
    Sandbox(#[from] SandboxUnavailable),
    #[error("the base {base} cannot be brought into the vault: {source}")]
    Import { base: CommitId, source: VaultError },
    #[error(transparent)]
    Vault(#[from] VaultError),
    #[error(transparent)]
    Blob(#[from] BlobError),
    #[error("cannot tell which terms of the base are trusted: {0}")]
    Planted(#[from] PlantedError),
    #[error(transparent)]
    Journal(#[from] JournalError),
}

/// What helps where an agent cannot be called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// A program that windlass knows is not there: the command that installs it.
    Install(String),
    /// A program that windlass knows is not where it is said to be.
    Path,
    Command,
    /// A file that is there, and is no program.
    Executable(PathBuf),
    /// A shell would have made a home of it.
    Tilde,
}

impl Remedy {
    fn hints(&self, role: &str) -> Vec<String> {
        let at = match role {
            "author" => "[agent]".to_owned(),
            role => format!("[agent] or [role.{role}]"),
        };
        let first = match self {
            Self::Install(command) => format!("install it: {command}"),
            Self::Path => format!("correct `path` under {at} in windlass.toml, or take it out"),
            Self::Command => format!("set `command` under {at} in windlass.toml to a program that exists"),
            Self::Executable(path) => format!("chmod +x {}", path.display()),
            Self::Tilde => {
                format!("write the whole path under {at} in windlass.toml: `~` stands for no home there")
            }
        };
        let elsewhere = match self {
            Self::Install(_) => format!("; `path` under {at} names one elsewhere"),
            Self::Path | Self::Command | Self::Executable(_) | Self::Tilde => String::new(),
        };
        vec![first, format!("`windlass agents` lists the agents that are installed{elsewhere}")]
    }
}

impl From<HiddenNotStored> for SetupError {
    fn from(error: HiddenNotStored) -> Self {
        match error {
            HiddenNotStored::Bad(bad) => Self::Hidden(bad),
            HiddenNotStored::Vault(error) => Self::Vault(error),
        }
    }
}

impl SetupError {
    /// Whether a loop of this name was created since the request was looked at.
    pub fn is_taken(&self) -> bool {
        matches!(self, Self::Journal(JournalError::Append(AppendError::Conflict { .. })))
    }

    /// Whether the operator's repository is what has to be mended.
    pub fn is_of_the_base(&self) -> bool {
        matches!(self, Self::Import { .. })
    }

    /// Whether the machine cannot do what is asked: no fault of the request.
    pub fn is_of_the_machine(&self) -> bool {
        matches!(self, Self::Sandbox(_))
    }

    /// The key of the policy that has to be mended, where it is one.
    pub fn key(&self) -> Option<&'static str> {
        if let Self::Brief(bad) = self {
            return Some(bad.key);
        }
        if let Self::Hidden(bad) = self {
            return Some(bad.key);
        }
        if let Self::ScopeOfNoMode { .. } = self {
            return Some("scope");
        }
        if let Self::SeveralTasks { .. } = self {
            return Some("stop.check");
        }
        matches!(self, Self::Exposed(_)).then_some("sandbox.extra_write")
    }

    pub fn hints(&self) -> Vec<String> {
        match self {
            Self::NoSuchAgent { role, remedy, .. } => remedy.hints(role),
            Self::SignedOut { hints, .. } => hints.clone(),
            Self::Import { .. } => vec![
                "see what is missing with `git fsck`; `git fetch --refetch` brings it from the remote"
                    .to_owned(),
            ],
            Self::BelowMinimum { level, .. } => vec![
                format!("to run with less, set sandbox.minimum = {:?} too", level.name()),
                "or take sandbox.level out: the best level this machine has is used".to_owned(),
            ],
            Self::Exposed(exposed) => exposed.hints(),
            Self::Sandbox(unavailable) => unavailable.hints(),
            Self::NoImage => vec![
                "set sandbox.image in windlass.toml to an image that has what your agents and checks need"
                    .to_owned(),
            ],
            Self::SeveralTasks { .. } => vec![
                "keep one task that says what a step is, or take the [[stop.check]] tables out".to_owned(),
            ],
            Self::Brief(bad) => bad.hints(),
            Self::Hidden(bad) => bad.hints(),
            Self::UnknownMode { mode, .. } => vec![
                "a task has the mode implement, explore or fix, or one of yours".to_owned(),
                format!(
                    "for a mode of yours, write prompts/{mode}.md, and prompts/{mode}_review.md for its reviewer"
                ),
            ],
            Self::ScopeOfNoMode { mode } => {
                let meant = nearest(mode, ["implement", "explore", "fix"]);
                let meant = meant.map(|meant| format!("did you mean [scope.{meant}]?"));
                let own = format!("for a mode of yours, write prompts/{mode}.md");
                meant.into_iter().chain([own]).collect()
            }
            Self::TaskGlob { .. } | Self::GlobOutside { .. } => {
                vec!["write it like \"src/**\" or \"test.sh\", from the root of the repository".to_owned()]
            }
            Self::FixWithoutCheck { .. } => vec![
                "add a [[gate.check]] that runs the project's tests, due for tasks; `windlass init` proposes one"
                    .to_owned(),
                "or let the task have the mode implement".to_owned(),
            ],
            Self::NotInBase(missing) | Self::CriterionNotInBase { missing, .. } if missing.is_there => {
                vec![format!("git add {} && git commit", missing.file)]
            }
            Self::NoProgram { check, .. } => vec![
                format!("install it, or mend `run` of check {check} in windlass.toml"),
                "what the project installs by itself, `workspace.setup` can bring".to_owned(),
            ],
            Self::NotInBase(_) | Self::CriterionNotInBase { .. } => vec!["write the file, or mend the check that names it".to_owned()],
            Self::NotInBaseOfLoop { file, .. } => vec![
                format!("name it in windlass.toml, as it is in your checkout: workspace.copy = [{file:?}]"),
                "or begin another loop from a commit that has it: windlass run --name NAME".to_owned(),
            ],
            Self::Repository(DiscoverError::NoCommits { .. }) => {
                vec!["git add -A && git commit --allow-empty -m start".to_owned()]
            }
            Self::AllowList
            | Self::Inject { .. }
            | Self::Shell(_)
            | Self::Git(_)
            | Self::Repository(_)
            | Self::Glob(_)
            | Self::Vault(_)
            | Self::Blob(_)
            | Self::Planted(_)
            | Self::Journal(_) => Vec::new(),
        }
    }
}

/// Looks at everything a loop will need; reads only.
pub fn propose(new_loop: NewLoop) -> Result<Proposed, SetupError> {
    let NewLoop { name, base, mut policy, planned, surroundings, vault, asked } = new_loop;
    let surroundings = Surroundings { state: vault.state().to_owned(), ..surroundings };
    surroundings.shell()?;
    let git = locate_git(&surroundings)?;
    let repository = Repository::discover(&git, &surroundings.project)?;
    let base = match base {
        Some(revision) => repository.resolve(&revision)?,
        None => repository.head.clone(),
    };
    repository.require_complete(&base)?;
    let called = called_roles(&policy, &asked);
    let start = LoopStart {
        surroundings: &surroundings,
        vault: &vault,
        repository: &repository,
        base: &base,
        called: &called,
    };
    let sandbox = check_policy(&mut policy, &start)?;
    check_plan(&mut policy, &planned, &surroundings)?;
    check_criteria(&policy, &planned, &start)?;
    let warnings = warnings(&repository, &policy, &base, sandbox.level)?;
    let notes = Vec::new();
    Ok(Proposed {
        name,
        base,
        policy,
        planned,
        warnings,
        notes,
        sandbox,
        git,
        repository,
        surroundings,
        vault,
    })
}

impl Proposed {
    pub(crate) fn base_tree(&self) -> Result<TreeId, DiscoverError> {
        self.repository.tree_of(&self.base)
    }
}

/// Another policy, and maybe another plan, for a loop that is there.
pub struct RevisedLoop<'a> {
    pub base: &'a CommitId,
    pub policy: Policy,
    pub planned: Option<&'a Planned>,
    pub surroundings: Surroundings,
    pub vault: &'a VaultDir,
}

/// Looks at everything a changed loop will need, as for a new one. Returns the policy with what the
/// files that it names have in them; nothing but that is kept.
pub fn check_revision(revised: RevisedLoop<'_>) -> Result<Policy, SetupError> {
    let mut policy = look_at_revision(&revised)?;
    let RevisedLoop { surroundings, vault, .. } = revised;
    let surroundings = Surroundings { state: vault.state().to_owned(), ..surroundings };
    let vault = Vault::open_or_create(&locate_git(&surroundings)?, &vault.vault_git())?;
    hidden::store(&mut policy, &surroundings, &vault)?;
    Ok(policy)
}

/// The same, and nothing is kept.
pub fn look_at_revision(revised: &RevisedLoop<'_>) -> Result<Policy, SetupError> {
    let not_in_base = |missing: MissingFile| {
        // A commit that is made now is no part of this loop.
        let MissingFile { check, file, .. } = missing;
        SetupError::NotInBaseOfLoop { check, file }
    };
    revised_policy(revised).map_err(|error| {
        if let SetupError::NotInBase(missing) | SetupError::CriterionNotInBase { missing, .. } = error {
            not_in_base(missing)
        } else {
            error
        }
    })
}

fn revised_policy(revised: &RevisedLoop<'_>) -> Result<Policy, SetupError> {
    let RevisedLoop { base, policy, planned, surroundings, vault } = revised;
    let mut policy = policy.clone();
    let surroundings = Surroundings { state: vault.state().to_owned(), ..surroundings.clone() };
    let git = locate_git(&surroundings)?;
    let repository = Repository::discover(&git, &surroundings.project)?;
    let called = policy.needed_roles();
    let start =
        LoopStart { surroundings: &surroundings, vault, repository: &repository, base, called: &called };
    check_policy(&mut policy, &start)?;
    if let Some(planned) = planned {
        check_plan(&mut policy, planned, &surroundings)?;
        check_criteria(&policy, planned, &start)?;
    }
    Ok(policy)
}

/// Where a loop runs, and from which commit.
struct LoopStart<'a> {
    surroundings: &'a Surroundings,
    vault: &'a VaultDir,
    repository: &'a Repository,
    base: &'a CommitId,
    /// The roles whose agents are called.
    called: &'a [Role],
}

impl LoopStart<'_> {
    fn committed(&self) -> Committed<'_> {
        let LoopStart { surroundings, repository, base, .. } = *self;
        Committed { surroundings, repository, commit: base }
    }
}

fn check_criteria(policy: &Policy, planned: &Planned, start: &LoopStart<'_>) -> Result<(), SetupError> {
    match committed::missing_of_criteria(policy, planned, &start.committed()).into_iter().next() {
        Some(missing) => Err(missing),
        None => Ok(()),
    }
}

fn check_policy(policy: &mut Policy, start: &LoopStart<'_>) -> Result<ProvenSandbox, SetupError> {
    let LoopStart { surroundings, vault, repository, base, called } = start;
    check_agents(policy, called, surroundings)?;
    briefs::read(policy, &surroundings.project)?;
    check_records(&policy.sandbox, surroundings)?;
    check_files(policy, start)?;
    check_programs(policy, surroundings)?;
    PathRules::new(policy, &[], &|_| None)?;
    if !policy.gate.hidden.is_off() {
        hidden::check(policy, surroundings, repository, &repository.paths(base)?)?;
    }
    for check in policy.gate.checks.iter().filter(|check| !check.junit.is_empty()) {
        JunitFiles::new(&check.junit)?;
    }
    check_sandbox(policy, vault, surroundings)
}

/// Refuses what is wrong with the plan under this policy, and reads what the operator's own modes say.
fn check_plan(policy: &mut Policy, planned: &Planned, surroundings: &Surroundings) -> Result<(), SetupError> {
    match plan_problems(policy, planned, surroundings).into_iter().next() {
        Some(problem) => Err(problem),
        None => {
            // That every mode is there was just looked at.
            briefs::read_modes(policy, &modes_of(planned), surroundings)?;
            Ok(())
        }
    }
}

/// Writes the loop's first record, with its base safe in the vault. Returns what of the base is not trusted.
pub fn create(store: &Arc<dyn Store>, mut proposed: Proposed) -> Result<Vec<PlantedTerm>, SetupError> {
    let vault = Vault::open_or_create(&proposed.git, &proposed.vault.vault_git())?;
    let depth = Depth::Commits(proposed.policy.workspace.history);
    vault
        .import(&proposed.repository, &proposed.base, depth)
        .map_err(|source| SetupError::Import { base: proposed.base.clone(), source })?;
    let base_tree: TreeId = vault.tree_of(&proposed.base)?;
    hidden::store(&mut proposed.policy, &proposed.surroundings, &vault)?;
    let trusted = trusted_base(&**store, &vault, &base_tree)?;
    let mut tasks = Vec::new();
    let tools = proposed.planned.tools.into_iter().map(|tool| tool.value).collect();
    for task in proposed.planned.tasks {
        tasks.push(task.into_task(|text| store.put(text.as_bytes().to_vec()))?);
    }
    let creation = Creation {
        branch: format!("windlass/{}", proposed.name),
        workspace: proposed.vault.space(&proposed.name).display().to_string(),
        name: proposed.name,
        goal: proposed.planned.goal,
        plan: Plan { tasks, tools },
        policy: proposed.policy,
        base: proposed.base,
        trusted: Some(trusted.tree),
        base_tree,
    };
    let decision = step::create(clock::wall(), creation);
    Journal::create(Arc::clone(store), &decision)?;
    Ok(trusted.planted)
}

pub fn locate_git(surroundings: &Surroundings) -> Result<Git, GitError> {
    let dir = |name| surroundings.var(name).map(PathBuf::from);
    Git::locate(OperatorEnv {
        path: surroundings.clean_path(),
        home: dir("HOME"),
        config_home: dir("XDG_CONFIG_HOME"),
    })
}

/// Makes a repository with a first commit of whatever is there.
pub fn make_repository(surroundings: &Surroundings, dir: &Path) -> Result<(), GitError> {
    windlass_workspace::make_repository(&locate_git(surroundings)?, dir)
}

/// Makes the first commit, of whatever is there, in a repository that has none. Whether it had none.
pub fn make_first_commit(surroundings: &Surroundings) -> Result<bool, GitError> {
    if require_commit(surroundings).is_ok() {
        return Ok(false);
    }
    windlass_workspace::make_first_commit(&locate_git(surroundings)?, &surroundings.project)?;
    Ok(true)
}

/// Refuses a repository before its first commit; whatever else is wrong with it is told where it matters.
pub fn require_commit(surroundings: &Surroundings) -> Result<(), SetupError> {
    let git = locate_git(surroundings)?;
    match Repository::discover(&git, &surroundings.project) {
        Err(error @ DiscoverError::NoCommits { .. }) => Err(error.into()),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Whether git has a file of the operator's checkout under version control; no, where git cannot be asked.
pub fn is_tracked(surroundings: &Surroundings, file: &Path) -> bool {
    let git = locate_git(surroundings);
    git.is_ok_and(|git| windlass_workspace::is_tracked(&git, &surroundings.project, file))
}

/// How many commits a revision of the operator's repository has that others do not have; none, where git
/// cannot say.
pub fn count_commits(surroundings: &Surroundings, of: &str, without: &[&CommitId]) -> usize {
    let git = locate_git(surroundings).ok();
    let counted =
        git.and_then(|git| windlass_workspace::count_commits(&git, &surroundings.project, of, without).ok());
    counted.unwrap_or(0)
}

/// Whether a revision of the operator's repository is there; no, where git cannot say.
pub fn is_commit(surroundings: &Surroundings, revision: &str) -> bool {
    let git = locate_git(surroundings);
    git.is_ok_and(|git| windlass_workspace::count_commits(&git, &surroundings.project, revision, &[]).is_ok())
}

/// One thing `doctor` looked at.
#[derive(Clone, Debug, Serialize)]
pub struct DoctorRow {
    pub what: String,
    pub ok: bool,
    /// Whether a loop cannot run without it.
    pub needed: bool,
    pub detail: String,
}

/// What this machine has of what a loop needs.
pub fn doctor(policy: &SandboxPolicy, surroundings: &Surroundings, scratch: &Path) -> Vec<DoctorRow> {
    let git = locate_git(surroundings);
    let detail = match &git {
        Ok(git) => format!("{} {}.{}", git.program().display(), git.version().0, git.version().1),
        Err(error) => error.to_string(),
    };
    let git = DoctorRow { what: "git".into(), ok: git.is_ok(), needed: true, detail };
    let spawner = Spawner::new();
    let levels = confine::sandbox_rows(policy, &spawner, surroundings, scratch);
    let can = spawner.probe(scratch);
    let namespace = if can.pid_namespace {
        "an attempt's processes cannot outlive it".to_owned()
    } else {
        "not available: leftovers are swept instead".to_owned()
    };
    let overlay = if can.overlay {
        "checks run on a throwaway layer".to_owned()
    } else {
        "not available: the clean tree is compared and rewritten before each check".to_owned()
    };
    let mut rows = vec![
        git,
        DoctorRow { what: "pid namespace".into(), ok: can.pid_namespace, needed: false, detail: namespace },
        DoctorRow { what: "overlay".into(), ok: can.overlay, needed: false, detail: overlay },
    ];
    rows.extend(levels);
    rows
}

/// Whether every agent that the policy needs can be started on this machine.
pub fn check_agents(policy: &Policy, called: &[Role], surroundings: &Surroundings) -> Result<(), SetupError> {
    let path = surroundings.clean_path();
    for &role in called {
        let agent = policy.agent_for(role);
        let unusable = |why: String, remedy| SetupError::NoSuchAgent { role: role.name(), why, remedy };
        let called = adapter(agent).map_err(|error| unusable(error.to_string(), Remedy::Command))?;
        match called.check(agent, &surroundings.project, &path) {
            // It is for the image to have it.
            Err(Unusable::NotInPath { .. }) if policy.sandbox.level == WantedLevel::Container => {}
            checked => checked.map_err(|error| unusable(error.to_string(), remedy(agent, &error)))?,
        }
    }
    check_signed_in(policy, called, surroundings)
}

/// The roles whose agents a drive calls.
pub fn called_roles(policy: &Policy, asked: &Asked) -> Vec<Role> {
    let mut roles = policy.needed_roles();
    roles.retain(|role| *role != Role::Reviewer || !asked.no_review);
    roles
}

/// An agent that nobody is signed in to would only fail, again and again.
pub fn check_signed_in(
    policy: &Policy,
    called: &[Role],
    surroundings: &Surroundings,
) -> Result<(), SetupError> {
    for &role in called {
        if let Some(out) = signed_out(policy.agent_for(role), surroundings) {
            return Err(SetupError::SignedOut { role: role.name(), agent: out.agent, hints: out.hints() });
        }
    }
    Ok(())
}

fn remedy(agent: &AgentPolicy, error: &Unusable) -> Remedy {
    match (registry::named(&agent.adapter), error) {
        (Some(known), Unusable::NotInstalled { .. }) => Remedy::Install(known.install_command()),
        (None, Unusable::NotExecutable { path }) => Remedy::Executable(path.clone()),
        (None, _) if agent.command.iter().any(|word| word.starts_with("~/")) => Remedy::Tilde,
        (Some(_), _) => Remedy::Path,
        (None, _) => Remedy::Command,
    }
}

fn check_injected(policy: &Policy, repository: &Repository, base: &CommitId) -> Result<(), SetupError> {
    let agents = [&policy.agent].into_iter().chain(policy.roles.values());
    for (target, source) in agents.flat_map(|agent| &agent.extra.inject) {
        if repository.has_path(base, target)? {
            let why = "which is in the repository: it would be hidden from the work";
            return Err(SetupError::Inject { path: target.clone(), why });
        }
        let above = Path::new(target).ancestors().skip(1).filter_map(Path::to_str);
        for dir in above.filter(|dir| !dir.is_empty()) {
            if repository.has_file(base, dir)? {
                let why = "which lies below a file of the repository";
                return Err(SetupError::Inject { path: target.clone(), why });
            }
        }
        if !repository.toplevel.join(source).is_file() {
            let why = "which is no file of your checkout";
            return Err(SetupError::Inject { path: source.clone(), why });
        }
    }
    Ok(())
}

/// A set-up may bring the program along, and an image has programs of its own.
fn check_programs(policy: &Policy, surroundings: &Surroundings) -> Result<(), SetupError> {
    if !policy.workspace.setup.is_empty() || policy.sandbox.level == WantedLevel::Container {
        return Ok(());
    }
    let missing = policy.gate.checks.iter().find_map(|check| {
        let program = required_program(&check.run).filter(|program| !surroundings.finds(program))?;
        Some(SetupError::NoProgram { check: check.name.clone(), program })
    });
    missing.map_or(Ok(()), Err)
}

fn check_files(policy: &Policy, start: &LoopStart<'_>) -> Result<(), SetupError> {
    check_injected(policy, start.repository, start.base)?;
    match committed::missing_of_checks(policy, &start.committed()).into_iter().next() {
        Some(missing) => Err(SetupError::NotInBase(missing)),
        None => Ok(()),
    }
}

/// Proven on this machine before anything is written.
fn check_sandbox(
    whole: &Policy,
    vault: &VaultDir,
    surroundings: &Surroundings,
) -> Result<ProvenSandbox, SetupError> {
    let policy = &whole.sandbox;
    if let Some(level) = policy.level_below_minimum() {
        return Err(SetupError::BelowMinimum { level, minimum: policy.minimum });
    }
    if policy.level == WantedLevel::Container {
        check_container(whole)?;
    }
    Ok(prove(policy, &Spawner::new(), surroundings, &vault.proofs())?.proven)
}

/// What no machine can do about it.
fn check_container(policy: &Policy) -> Result<(), SetupError> {
    if policy.sandbox.image.is_empty() {
        return Err(SetupError::NoImage);
    }
    let networks = Role::IN_LOOPS.map(|role| policy.agent_for(role).network.meant());
    match networks.into_iter().chain([policy.gate.network.meant()]).any(|kind| kind == NetworkKind::Allow) {
        true => Err(SetupError::AllowList),
        false => Ok(()),
    }
}

/// The policy, the tasks and the agents' own programs are read from the checkout, committed or not.
fn is_read_here(file: &str, policy: &Policy) -> bool {
    let source = Path::new(policy.plan.source.trim_end_matches('/'));
    let is_plan = |place: &Path| !source.as_os_str().is_empty() && place.ends_with(source);
    let is_agent = |word: &String| word.strip_prefix("./").unwrap_or(word) == file;
    let agents = [&policy.agent].into_iter().chain(policy.roles.values());
    Path::new(file).ends_with("windlass.toml")
        || Path::new(file).ancestors().any(is_plan)
        || agents.flat_map(|agent| &agent.command).any(is_agent)
}

/// The first few, and how many more there are.
pub fn counted_names(files: &[&str]) -> String {
    const NAMED: usize = 3;
    let named = files.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    match files.len().saturating_sub(NAMED) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

fn warnings(
    repository: &Repository,
    policy: &Policy,
    base: &CommitId,
    level: SandboxLevel,
) -> Result<Vec<String>, SetupError> {
    let mut warnings = Vec::new();
    if level == SandboxLevel::None {
        warnings.push("sandbox level is none: agents and checks can reach everything you can".to_owned());
    }
    if level == SandboxLevel::Landlock {
        warnings.push(
            "sandbox level is landlock: agents and checks can change the modes and access lists of all your files"
                .to_owned(),
        );
    }
    let left_out: Vec<&str> = repository
        .dirty_files
        .iter()
        .map(String::as_str)
        .filter(|file| !is_read_here(file, policy))
        .collect();
    if !left_out.is_empty() {
        let short = base.as_str().get(..10).unwrap_or_default();
        let named = if *base == repository.head { "HEAD" } else { "another commit" };
        let files = counted_names(&left_out);
        warnings.push(format!(
            "the loop starts from {named} ({short}), without the changed files in your checkout: {files}"
        ));
    }
    if repository.identity_source == IdentitySource::Fallback {
        let who = &repository.identity;
        warnings.push(format!(
            "git has no user.name and user.email here; commits are by {} <{}>",
            who.name, who.email
        ));
    }
    if repository.has_filters(base)? {
        warnings.push("some paths have a git filter (LFS and the like): they stay as stored".to_owned());
    }
    if repository.has_path(base, ".gitmodules")? {
        warnings.push("submodules are left empty in the workspace and the gate".to_owned());
    }
    if level == SandboxLevel::None && !policy.gate.hidden.is_off() {
        warnings.push("at this level agents can read hidden files where you keep them".to_owned());
    }
    if policy.gate.checks.is_empty() && !policy.is_open_ended() {
        warnings.push(
            "there are no checks: only reviews can prove the work, and what is done is marked unchecked"
                .to_owned(),
        );
    }
    Ok(warnings)
}
