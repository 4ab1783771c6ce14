//! A windlass.toml for a repository, and a first task.

use std::io::Write;
use std::path::{Path, PathBuf};

use windlass_config::{
    FileAgent, PROJECT_FILE, Proposal, detect, project_around, project_file, projects_below,
};
use windlass_core::policy::Policy;
use windlass_driver::agents::{self, AgentStatus, Login};
use windlass_driver::signed_out::{SignedOut, signed_out};
use windlass_driver::surroundings::Surroundings;
use windlass_driver::{Interrupts, project, setup};

use crate::error::Classify as _;
use crate::plan_files::PlanGround;
use crate::try_ways::{AskedAgent, StackReport, TryObserver, try_ways};
use crate::{
    AppError, Caller, NotPlanned, OpenProject, PlanWish, PlanningReport, PlanningTalk, PolicyArguments,
};

const FIRST_TASK: &str = "tasks/001-first.md";
/// What a task file says before its author has written anything.
pub(crate) const PLACEHOLDER_TASK: &str =
    "# Say in one line what is to be done\n\nSay here what done means.\n";

pub struct InitRequest<'a> {
    /// The goal; it becomes the first task.
    pub prompt: Option<String>,
    /// Make a repository where there is none, and its first commit where there is none.
    pub make_repository: bool,
    /// Asked before a windlass.toml that is there is replaced.
    pub may_overwrite: &'a dyn Fn(&Path) -> bool,
    /// Whether the proposed checks are tried before they are written.
    pub tries: Option<CheckTries<'a>>,
    /// Where none of them is green, an agent is asked for others.
    pub ask_agent: bool,
    /// The project is in this directory, though the repository's root can be tested, too.
    pub here: bool,
    /// Who is told of the planner, which makes a plan of the prompt; none writes it as one task.
    pub planning: Option<PlanningTalk<'a>>,
}

pub struct CheckTries<'a> {
    pub interrupts: &'a Interrupts,
    pub observer: &'a mut dyn TryObserver,
}

/// What was made.
pub struct InitReport {
    /// The directory of a repository that was not there before.
    pub new_repository: Option<PathBuf>,
    /// The repository was there, and had no commit.
    pub first_commit: bool,
    pub written: Vec<PathBuf>,
    /// The task file that was written, as seen from the project.
    pub task: Option<String>,
    /// It says what was asked for, not a placeholder.
    pub has_prompt: bool,
    /// The agent that windlass.toml names.
    pub agent: Option<AgentStatus>,
    /// That of the operator's own configuration, which then holds here, too.
    pub own_agent: Option<String>,
    /// Nobody is signed in to it, which is certain.
    pub signed_out: Option<SignedOut>,
    /// What was recognised; empty where nothing was.
    pub recognised: Vec<&'static str>,
    /// What came of trying the checks; none where they were not tried.
    pub stacks: Option<Vec<StackReport>>,
    /// Where something is red: files that differ from the last commit, which was tried.
    pub uncommitted: Option<String>,
    /// The directory of the repository that is tested, where it is not its root.
    pub dir: Option<String>,
    /// Where nothing was recognised: directories that are projects.
    pub below: Vec<String>,
    /// What became of the prompt.
    pub plan: PromptPlan,
}

/// What `init` made of a prompt.
pub enum PromptPlan {
    /// One task, as was asked for; or there is no prompt.
    OneTask,
    Planned(PlanningReport),
    /// One task, because nobody could be asked.
    NotPlanned {
        why: String,
    },
}

/// Nothing is changed if it is refused. Agents say their versions below `scratch`.
pub fn init(
    directory: &Path,
    caller: &Caller,
    request: InitRequest<'_>,
    scratch: &Path,
) -> Result<InitReport, AppError> {
    let (top, new_repository) = match project::locate(directory) {
        Ok(project) => (project.top, None),
        Err(_) if request.make_repository => (directory.to_owned(), Some(directory.to_owned())),
        Err(error) => {
            return Err(AppError::refused(error).hint("`windlass init --git` makes a repository here"));
        }
    };
    let file = top.join(PROJECT_FILE);
    if file.exists() && !(request.may_overwrite)(&file) {
        return Err(AppError::refused(format!("{} is there already; nothing was changed", file.display()))
            .hint("`windlass init --force` replaces it"));
    }
    let first_commit = new_repository.is_none() && require_commit(&top, caller, request.make_repository)?;
    if new_repository.is_some() {
        make_repository(&top, caller)?;
    }
    let (proposal, dir) = proposal_for(&top, directory, request.here)?;
    let agents = InitAgents::find(caller, &top, scratch)?;
    let asked = request.ask_agent.then(|| agents.asked_policy(caller, &top)).transpose()?;
    let asked = asked.as_ref().map(|policy| AskedAgent { policy, scratch });
    let (chosen, stacks, uncommitted) =
        match request.tries.filter(|_| asked.is_some() || !proposal.stacks.is_empty()) {
            Some(tries) => {
                let place = OpenProject::open(directory, caller.clone())?;
                let report = try_ways(&place, &proposal, tries, asked.as_ref())?;
                (report.chosen, Some(report.stacks), report.uncommitted)
            }
            None => (proposal.likeliest(), None, None),
        };
    let policy_text = project_file(&proposal, &chosen, agents.in_file());
    let plan = match (request.prompt.as_deref(), request.planning) {
        (Some(prompt), Some(mut talk)) => {
            let asked = agents.asked_policy(caller, &top);
            plan_prompt(directory, caller, InitPlan { prompt, policy_text: &policy_text, asked }, &mut talk)?
        }
        (Some(_) | None, _) => PromptPlan::OneTask,
    };
    let mut written = Vec::new();
    let mut task = None;
    if let PromptPlan::Planned(report) = &plan {
        written.extend(report.files.iter().map(|change| top.join(&change.path)));
    } else {
        write(&file, &policy_text)?;
        written.push(file);
        if let Some(file) = task_file(&top, request.prompt.as_deref()) {
            write(&file, &first_task(request.prompt.as_deref()))?;
            task = file.strip_prefix(&top).ok().map(|file| file.display().to_string());
            written.push(file);
        }
    }
    let recognised: Vec<&str> = proposal.stacks.iter().map(|stack| stack.name).collect();
    let below = if recognised.is_empty() { projects_below(&top).or_broken()? } else { Vec::new() };
    // A provider in the operator's own configuration counts too.
    let policy = caller.policy(&top, &PolicyArguments::default())?.policy;
    let signed_out = signed_out(&policy.agent, &caller.surroundings(&top));
    Ok(InitReport {
        new_repository,
        first_commit,
        written,
        task,
        has_prompt: request.prompt.is_some(),
        own_agent: agents.own.map(|policy| policy.agent.adapter),
        agent: agents.best,
        signed_out,
        recognised,
        stacks,
        uncommitted,
        dir,
        below,
        plan,
    })
}

/// What is planned before windlass.toml is there.
struct InitPlan<'a> {
    prompt: &'a str,
    policy_text: &'a str,
    /// Whose planner is asked.
    asked: Result<Policy, AppError>,
}

/// Writes windlass.toml and the plan together, or neither.
fn plan_prompt(
    directory: &Path,
    caller: &Caller,
    plan: InitPlan<'_>,
    talk: &mut PlanningTalk<'_>,
) -> Result<PromptPlan, AppError> {
    let InitPlan { prompt, policy_text, asked } = plan;
    let asked = match asked {
        Ok(asked) => asked,
        Err(error) => return Ok(PromptPlan::NotPlanned { why: error.message }),
    };
    let place = OpenProject::open(directory, caller.clone())?;
    let mut ground = PlanGround::of_project(&place.project.top, "tasks/")?;
    policy_text.clone_into(&mut ground.policy_text);
    ground.policy_is_new = true;
    // Its gate is that of the file to be written, which no agent has a word in.
    let shadow = tempfile::tempdir().or_broken()?;
    write(&shadow.path().join(PROJECT_FILE), policy_text)?;
    let written = caller.policy(shadow.path(), &PolicyArguments::default())?.policy;
    let policy = Policy { agent: asked.agent, roles: asked.roles, sandbox: asked.sandbox, ..written };
    let wish = PlanWish { text: prompt.to_owned(), ..PlanWish::default() };
    match place.plan_on(ground, &policy, &wish, talk) {
        Ok(report) => Ok(PromptPlan::Planned(report)),
        Err(NotPlanned::NoAgent(why)) => Ok(PromptPlan::NotPlanned { why }),
        Err(NotPlanned::Failed(error)) => {
            Err(error.hint("`windlass init --no-plan \"PROMPT\"` writes the prompt as one task"))
        }
    }
}

/// What the repository's root is tested with; where that is not known, or not wanted, what the directory is.
fn proposal_for(top: &Path, directory: &Path, here: bool) -> Result<(Proposal, Option<String>), AppError> {
    let proposal = detect(top).or_broken()?;
    if !proposal.stacks.is_empty() && !here {
        return Ok((proposal, None));
    }
    let directory = directory.canonicalize().or_broken()?;
    let Some(dir) = project_around(&top.canonicalize().or_broken()?, &directory) else {
        return Ok((proposal, None));
    };
    Ok((detect(&top.join(&dir)).or_broken()?.below(&dir), Some(dir)))
}

/// Who may be asked, and named in windlass.toml.
struct InitAgents {
    /// The operator's own configuration, where it has an agent.
    own: Option<Policy>,
    /// Otherwise the best that is installed.
    best: Option<AgentStatus>,
}

impl InitAgents {
    /// Below `scratch` no windlass.toml hides what the operator's own configuration says.
    fn find(caller: &Caller, top: &Path, scratch: &Path) -> Result<Self, AppError> {
        let resolved = caller.policy(scratch, &PolicyArguments::default())?;
        if resolved.require_agents().is_ok() {
            return Ok(Self { own: Some(resolved.policy), best: None });
        }
        Ok(Self { own: None, best: best_agent(&caller.surroundings(top), scratch) })
    }

    fn in_file(&self) -> FileAgent<'_> {
        match (&self.own, &self.best) {
            (Some(_), _) => FileAgent::InUserFile,
            (None, Some(best)) => FileAgent::Found(best.name),
            (None, None) => FileAgent::Unknown,
        }
    }

    /// The agent of a windlass.toml that is there, else one of these.
    fn asked_policy(&self, caller: &Caller, top: &Path) -> Result<Policy, AppError> {
        let mut policy = caller.policy(top, &PolicyArguments::default())?.policy;
        if top.join(PROJECT_FILE).exists() || self.own.is_some() {
            return Ok(policy);
        }
        let best = self.best.as_ref().ok_or_else(|| {
            AppError::refused("there is no agent to ask; nothing was written")
                .hint("`windlass agents` lists those that windlass knows")
        })?;
        // What the operator's own configuration says of it stays.
        best.name.clone_into(&mut policy.agent.adapter);
        Ok(policy)
    }
}

/// Where a task is to be written. Beside other tasks only one that was asked for:
/// a prompt is never dropped.
fn task_file(top: &Path, prompt: Option<&str>) -> Option<PathBuf> {
    let (tasks, first) = (top.join("tasks"), top.join(FIRST_TASK));
    let is_task = |entry: std::fs::DirEntry| entry.path().extension().is_some_and(|end| end == "md");
    let has_tasks = std::fs::read_dir(&tasks).is_ok_and(|entries| entries.flatten().any(is_task));
    let is_placeholder = || std::fs::read_to_string(&first).is_ok_and(|text| text == PLACEHOLDER_TASK);
    if !has_tasks || is_placeholder() {
        return Some(first);
    }
    prompt?;
    let numbered = |number: u32| tasks.join(format!("{number:03}-goal.md"));
    std::iter::once(first).chain((2..1000).map(numbered)).find(|file| !file.exists())
}

/// Without a commit there is no base. Whether one was made.
fn require_commit(top: &Path, caller: &Caller, may_make: bool) -> Result<bool, AppError> {
    let surroundings = caller.surroundings(top);
    if may_make {
        return setup::make_first_commit(&surroundings).or_broken();
    }
    setup::require_commit(&surroundings).map(|()| false).map_err(|error| {
        AppError::refused(&error)
            .with_hints(error.hints())
            .hint("then: windlass init")
            .hint("or do both: windlass init --git")
    })
}

/// Makes a repository with a first commit of whatever is there.
pub fn make_repository(directory: &Path, caller: &Caller) -> Result<(), AppError> {
    setup::make_repository(&caller.surroundings(directory), directory).or_broken()
}

fn first_task(prompt: Option<&str>) -> String {
    match prompt {
        Some(prompt) => format!("# {}\n\n{prompt}\n", prompt.lines().next().unwrap_or_default()),
        None => PLACEHOLDER_TASK.to_owned(),
    }
}

/// Of those that are installed; one that is signed in before one that is not.
pub(crate) fn best_agent(surroundings: &Surroundings, scratch: &Path) -> Option<AgentStatus> {
    let found = agents::installed_agents(&Policy::default(), surroundings, scratch);
    let mut installed: Vec<AgentStatus> = found.into_iter().filter(|agent| agent.program.is_some()).collect();
    installed.sort_by_key(|agent| agent.login == Login::None);
    installed.into_iter().next()
}

/// Never half a file: written beside, then renamed.
pub(crate) fn write(file: &Path, text: &str) -> Result<(), AppError> {
    let failed = |error| AppError::broken(format!("{}: {error}", file.display()));
    let dir = file.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(dir).map_err(failed)?;
    let mut temporary = tempfile::NamedTempFile::new_in(dir).map_err(failed)?;
    temporary.write_all(text.as_bytes()).map_err(failed)?;
    let readable = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    temporary.as_file().set_permissions(readable).map_err(failed)?;
    temporary.persist(file).map_err(|error| failed(error.error))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn a_refusal_to_overwrite_makes_no_repository() {
        let temp = tempfile::tempdir().unwrap();
        let file = temp.path().join(PROJECT_FILE);
        std::fs::write(&file, "# mine\n").unwrap();
        let request = InitRequest {
            prompt: None,
            make_repository: true,
            may_overwrite: &|_| false,
            tries: None,
            ask_agent: false,
            here: false,
            planning: None,
        };
        let refused = init(temp.path(), &Caller::default(), request, temp.path()).err().unwrap();
        assert_eq!(refused.kind, ErrorKind::Refused);
        assert!(refused.message.ends_with("is there already; nothing was changed"), "{refused}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "# mine\n");
        assert!(!temp.path().join(".git").exists());
    }
}
