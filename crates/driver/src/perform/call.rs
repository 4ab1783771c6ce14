//! One attempt: the brief rendered and kept, the agent run, its report read.

use std::fs;
use std::path::{Path, PathBuf};

use windlass_agent::brief::{BriefTexts, render};
use windlass_agent::report::words;
use windlass_agent::{
    Agent, AttemptNames, REPORT_PATH, STDERR_MARK, TurnRequest, TurnResult, Wall, WallSource, adapter,
    registry,
};
use windlass_core::amendment::{WholeTask, part_text, task_body};
use windlass_core::brief::BriefSpec;
use windlass_core::finding::{Evidence, Rule};
use windlass_core::id::{AttemptId, BlobId, LoopName, Nonce};
use windlass_core::input::{AttemptEnd, Input, Report};
use windlass_core::outcome::{Fault, Reason};
use windlass_core::policy::{AgentPolicy, Role};
use windlass_core::proposal::{AmendmentRule, ProposedAction};
use windlass_core::time::{Millis, Timestamp};
use windlass_core::usage::Usage;
use windlass_core::view::AttemptView;
use windlass_plan::body_of;
use windlass_process::{Capture, Inspection};
use windlass_store::VaultDir;
use windlass_workspace::{CommitText, ReadFiles, SnapshotRequest};

use super::inject;
use super::merge::{UnmergedText, patch_dir, unmerged_text};
use super::populate::lend_kept_setup;
use super::prepare::{rules, visible};
use super::snapshot::{excerpt, shown, touch};
use super::{EffectRequest, EffectResources, Performed, fault, file_fault, lock};
use crate::clock;
use crate::confine::{PrivateDirs, ProgramAccess};
use crate::home::Home;

/// How much of the change a reviewer is shown in the brief itself.
const DIFF_BYTES: usize = 96 << 10;
/// The largest task text that is read back.
const TEXT_LIMIT: u64 = 2 << 20;
/// How many paths that a reviewer changed are told.
const LEFT: usize = 5;

pub(super) struct Attempt<'a> {
    pub id: AttemptId,
    pub role: Role,
    pub nonce: &'a Nonce,
}

pub(super) fn call(resources: &EffectResources, request: &EffectRequest, attempt: Attempt<'_>) -> Performed {
    let spec = request.brief.as_ref().ok_or_else(|| broken("an attempt without a brief"))?;
    let dir = attempt_dir(resources, request, &attempt);
    clear(&dir)?;
    let mut briefs = briefs(resources, request, &attempt, spec)?;
    resources.hide(&mut briefs.asked);
    resources.hide(&mut briefs.whole);
    lock(&resources.workspace).touched = true;
    let space = resources.dirs.space(&request.creation.name);
    let injected = &agent_of(request)?.extra.inject;
    let unusable = |error: std::io::Error| file_fault(&space, &error);
    inject::put(&space, &resources.surroundings.project, injected).map_err(unusable)?;
    let result = run(resources, request, &attempt, &briefs)?;
    super::test_point("called");
    inject::take_away(&space, injected).map_err(unusable)?;
    if result.survivors > 0 {
        return Err(broken(&format!("{} processes of the attempt cannot be ended", result.survivors)));
    }
    let renewed = take_back(resources, request, &attempt)?;
    if matches!(result.finished.result.end, AttemptEnd::Crashed { .. }) {
        resources.level_still_holds()?;
    }
    let left = if attempt.role == Role::Reviewer { left(resources, request, spec)? } else { None };
    let brief = if result.began_afresh { briefs.whole } else { briefs.asked };
    let brief = resources.blobs.put(brief.into_bytes())?;
    let transcript = transcript(resources, &result)?;
    let report = report(resources, &dir, attempt.role, result.unread.is_some())?;
    let unread = result.unread.map(|why| format!("its report was not taken: {why}"));
    let mut finished = result.finished;
    finished.result.notes.extend(unread.into_iter().chain(renewed));
    finished.result.transcript = Some(transcript);
    finished.result.brief = Some(brief);
    finished.result.report = report;
    finished.tree_changed = left.is_some();
    finished.left = left.unwrap_or_default();
    store_amendments(resources, request, spec, &mut finished.report)?;
    clear(&dir)?;
    Ok(Input::AgentFinished(Box::new(finished)))
}

/// What an agent is told, and what it is told if it knows nothing of it.
struct Briefs {
    asked: String,
    whole: String,
}

/// Only a program that windlass knows says whether its conversation was still there: others hear it all.
fn briefs(
    resources: &EffectResources,
    request: &EffectRequest,
    attempt: &Attempt<'_>,
    spec: &BriefSpec,
) -> Result<Briefs, Fault> {
    let resumed = spec.resumed && request.resume.is_some() && is_known(agent_of(request)?);
    let whole = brief(resources, request, attempt, &BriefSpec { resumed: false, ..spec.clone() })?;
    let asked = match resumed {
        true => brief(resources, request, attempt, spec)?,
        false => whole.clone(),
    };
    Ok(Briefs { asked, whole })
}

/// What the loop may apply by itself needs its texts stored: a new task, and parts of the task in hand.
fn store_amendments(
    resources: &EffectResources,
    request: &EffectRequest,
    spec: &BriefSpec,
    report: &mut Report,
) -> Result<(), Fault> {
    let Report::Author(claim) = report else { return Ok(()) };
    if request.policy.plan.amendments != AmendmentRule::Apply {
        return Ok(());
    }
    for proposed in &mut claim.amendments {
        let own = spec.task.as_ref().filter(|task| task.id.as_str() == proposed.task);
        let texts = match (proposed.action, own) {
            (ProposedAction::Add, _) => vec![task_body(&proposed.title, &proposed.text)],
            (ProposedAction::Split, Some(task)) => {
                let text = resources.blobs.text(&task.text, TEXT_LIMIT)?;
                let parts = &proposed.parts;
                let whole = WholeTask { title: &task.title, text: body_of(&text), parts };
                (0..parts.len()).map(|nth| part_text(&whole, nth)).collect()
            }
            (ProposedAction::Split, None) | (ProposedAction::Edit | ProposedAction::Drop, _) => Vec::new(),
        };
        proposed.stored =
            texts.into_iter().map(|text| resources.blobs.put(text.into_bytes())).collect::<Result<_, _>>()?;
    }
    Ok(())
}

fn brief(
    resources: &EffectResources,
    request: &EffectRequest,
    attempt: &Attempt<'_>,
    spec: &BriefSpec,
) -> Result<String, Fault> {
    let answers = adapter(agent_of(request)?).is_ok_and(|agent| agent.answers());
    let task = spec.task.as_ref().map(|task| resources.blobs.text(&task.text, TEXT_LIMIT)).transpose()?;
    let diff = match &spec.tree_under_review {
        Some(tree) => {
            let [base, tree] = [&spec.base_tree, tree].map(|tree| visible(resources, request, tree));
            let text = resources.vault.diff_text(&base?, &tree?, DIFF_BYTES).map_err(|e| fault(&e))?;
            String::from_utf8_lossy(&text.bytes).into_owned()
        }
        None => String::new(),
    };
    let unmerged = match &spec.unmerged {
        Some(work) => unmerged_text(resources, request, work, &attempt_dir(resources, request, attempt))?,
        None => UnmergedText::default(),
    };
    let own = &request.policy.brief;
    let task = task.as_deref().unwrap_or("");
    let texts = BriefTexts {
        nonce: attempt.nonce,
        task,
        diff: &diff,
        unmerged: &unmerged.diff,
        unmerged_file: &unmerged.file,
        answers,
        own,
    };
    render(spec, &texts).map_err(|error| broken(&error.to_string()))
}

fn attempt_dir(resources: &EffectResources, request: &EffectRequest, attempt: &Attempt<'_>) -> PathBuf {
    dir_of_role(&resources.dirs, &request.creation.name, attempt.role)
}

fn dir_of_role(vault: &VaultDir, name: &LoopName, role: Role) -> PathBuf {
    vault.attempts(name).join(role.name())
}

/// When the running attempt was last seen to do something, as any process can tell. `None`: nothing was seen
/// of it yet, or nobody looks, because the policy does not limit its silence.
pub fn last_activity(vault: &VaultDir, name: &LoopName, attempt: &AttemptView) -> Option<Timestamp> {
    let seen = windlass_process::last_activity(&dir_of_role(vault, name, attempt.role))?;
    Some(clock::timestamp(seen)).filter(|seen| *seen >= attempt.started_at)
}

fn run(
    resources: &EffectResources,
    request: &EffectRequest,
    attempt: &Attempt<'_>,
    briefs: &Briefs,
) -> Result<TurnResult, Fault> {
    let policy = agent_of(request)?;
    let agent = adapter(policy).map_err(|error| broken(&error.to_string()))?;
    let wall = match request.wall_left {
        Some(left) if left < policy.timeout || policy.timeout.is_zero() => {
            Wall { limit: span(left), source: WallSource::Budget }
        }
        Some(_) | None => Wall { limit: span(policy.timeout), source: WallSource::Agent },
    };
    let space = resources.dirs.space(&request.creation.name);
    let dir = attempt_dir(resources, request, attempt);
    let private = private_dirs(resources, request, attempt, agent.as_ref())?;
    let known = registry::behind(policy).map_or(&[][..], |known| known.profile.variables);
    let named: Vec<String> =
        policy.env.iter().cloned().chain(known.iter().map(|name| (*name).to_owned())).collect();
    let env = resources.safeguards.confine.environment(
        &resources.surroundings,
        &ProgramAccess { variables: &named, network: &policy.network, private: &private },
    );
    let confinement =
        resources.safeguards.confine.confinement(&policy.network, &private, inspection(attempt.role));
    let call = TurnRequest {
        role: attempt.role,
        nonce: attempt.nonce,
        brief: &briefs.asked,
        whole_brief: &briefs.whole,
        workspace: &space,
        dir: &dir,
        project: &resources.surroundings.project,
        env: &env,
        policy,
        names: AttemptNames {
            name: &request.creation.name,
            task: request.brief.as_ref().and_then(|spec| spec.task.as_ref()).map(|task| &task.id),
            iteration: request.iteration,
            nth: request.nth,
        },
        confinement: &confinement,
        resources: resources.safeguards.confine.resources,
        trail: &resources.trail,
        wall,
        marker: &format!("{}/{}/{}", resources.dirs.key(), request.creation.name, attempt.id),
        spawner: &resources.spawner,
        redactor: &resources.safeguards.redactor,
        home: &private.home(),
        path: &resources.safeguards.confine.path,
        is_confined: resources.safeguards.confine.is_on(),
        resume: request.resume.as_ref(),
        clock: clock::wall,
        is_spent: &|used| is_spent(request, used),
        live: &|live| resources.tell(live),
    };
    Ok(agent.call(&call, &mut |canceller| resources.started(canceller)))
}

/// What a reviewer runs must not become the reviewer. An author may need a debugger, and proves nothing by its word.
fn inspection(role: Role) -> Inspection {
    match role {
        Role::Reviewer => Inspection::Refused,
        Role::Author | Role::Finisher | Role::Planner => Inspection::Allowed,
    }
}

/// A reviewer reads the workspace; everyone else may change it.
fn private_dirs(
    resources: &EffectResources,
    request: &EffectRequest,
    attempt: &Attempt<'_>,
    agent: &dyn Agent,
) -> Result<PrivateDirs, Fault> {
    let place = private_dir(resources, request, attempt);
    let unusable = |error: std::io::Error| file_fault(&place, &error);
    // What an attempt left whose windlass was killed.
    take_back(resources, request, attempt)?;
    let policy = agent_of(request)?;
    let mut private = match (keeps_its_home(resources, policy), is_known(policy)) {
        (true, _) => PrivateDirs::with_kept_home(place.clone()).map_err(unusable)?,
        (_, true) => PrivateDirs::empty(place.clone()).map_err(unusable)?,
        (_, false) => {
            PrivateDirs::empty_if_confined(&resources.safeguards.confine, place.clone()).map_err(unusable)?
        }
    };
    if let Some(home) = home(resources, request, attempt).as_ref() {
        home.seed().map_err(unusable)?;
    }
    resources.safeguards.confine.write_login_profile(&private).map_err(unusable)?;
    let files = agent.files(policy, &resources.surroundings.project, &resources.safeguards.confine.path);
    private.read = resources.surroundings.beside_a_program(files);
    private.read.push(resources.trail.clone());
    if request.brief.as_ref().is_some_and(|spec| spec.unmerged.is_some()) {
        private.read.push(patch_dir(&attempt_dir(resources, request, attempt)));
    }
    private
        .write
        .extend(attempt_dir(resources, request, attempt).join(REPORT_PATH).parent().map(Path::to_path_buf));
    let space = resources.dirs.space(&request.creation.name);
    lend_kept_setup(resources, space.clone(), &mut private);
    match attempt.role {
        Role::Reviewer | Role::Planner => private.read.push(space),
        Role::Author | Role::Finisher => private.write.push(space),
    }
    Ok(private)
}

fn private_dir(resources: &EffectResources, request: &EffectRequest, attempt: &Attempt<'_>) -> PathBuf {
    let name = format!("own-{}", attempt.role.name());
    match request.agent.as_ref().is_some_and(|agent| keeps_its_home(resources, agent)) {
        // A conversation lies in the home it was had in.
        true => resources.dirs.homes(&request.creation.name).join(name),
        false => resources.dirs.attempts(&request.creation.name).join(name),
    }
}

fn agent_of(request: &EffectRequest) -> Result<&AgentPolicy, Fault> {
    request.agent.as_ref().ok_or_else(|| broken("an attempt without an agent"))
}

/// Between the attempts of a loop. One that is not confined and not known has its operator's.
fn keeps_its_home(resources: &EffectResources, policy: &AgentPolicy) -> bool {
    let has_one = is_known(policy) || policy.adapter == "acp" && resources.safeguards.confine.is_on();
    policy.extra.resume && has_one
}

fn is_known(policy: &AgentPolicy) -> bool {
    registry::named(&policy.adapter).is_some()
}

/// Whether the loop's budget ends with what this attempt has used so far.
fn is_spent(request: &EffectRequest, used: &Usage) -> bool {
    let policy = &request.policy;
    let model = request.agent.as_ref().map_or("", |agent| agent.model.as_str());
    let mut total = request.spent;
    total.add(&policy.priced(model, used));
    policy.budget.spent(&total).is_some()
}

/// None where agents have the operator's own, or need nothing of it.
fn home<'a>(
    resources: &'a EffectResources,
    request: &EffectRequest,
    attempt: &Attempt<'_>,
) -> Option<Home<'a>> {
    let policy = request.agent.as_ref()?;
    let operator = resources
        .surroundings
        .var("HOME")
        .filter(|_| resources.safeguards.confine.is_on() || is_known(policy))?;
    let profile = &registry::behind(policy)?.profile;
    let private = PrivateDirs::at(private_dir(resources, request, attempt));
    let locks = resources.dirs.state().join("accounts");
    Some(Home {
        dir: private.home(),
        seeded: private.seeded(),
        operator: Path::new(operator),
        own_config: policy.extra.own_config,
        profile,
        locks,
    })
}

/// A login that the agent's program renewed is the operator's from now on.
fn take_back(
    resources: &EffectResources,
    request: &EffectRequest,
    attempt: &Attempt<'_>,
) -> Result<Vec<String>, Fault> {
    let Some(home) = home(resources, request, attempt) else { return Ok(Vec::new()) };
    let taken = home.take_back().map_err(|error| file_fault(&home.dir, &error))?;
    Ok(taken.into_iter().map(|name| format!("its login was renewed (~/{name})")).collect())
}

/// What a reviewer changed; none where the workspace is still the tree it was
/// given.
fn left(
    resources: &EffectResources,
    request: &EffectRequest,
    spec: &BriefSpec,
) -> Result<Option<Vec<Evidence>>, Fault> {
    let Some(tree) = spec.tree_under_review.clone() else { return Ok(None) };
    let mut workspace = lock(&resources.workspace);
    let rules = rules(resources, request, &request.base_tree)?;
    let tree = visible(resources, request, &tree)?;
    let text =
        CommitText { message: String::new(), author: resources.repository.identity.clone(), date_ms: 0 };
    let snapshot_request =
        SnapshotRequest { rules: &rules, parents: &[], text: &text, reading: ReadFiles::Changed };
    let now = match workspace.space.snapshot(&resources.vault, &snapshot_request) {
        Ok(now) if now.tree == tree => return Ok(None),
        Ok(now) => now.tree,
        Err(windlass_workspace::SpaceError::Gone { .. }) => {
            return Ok(Some(vec![Evidence::new(Rule::ReviewerChangedTree, ".")]));
        }
        Err(error) => return Err(fault(&error)),
    };
    let changes = resources.vault.diff(&tree, &now).map_err(|error| fault(&error))?;
    let evidence = |change: &windlass_workspace::TreeChange| {
        let changed = Evidence::new(Rule::ReviewerChangedTree, shown(&change.path));
        Ok(Evidence {
            touch: Some(touch(change)),
            diff: excerpt(resources, &tree, &now, &change.path)?,
            ..changed
        })
    };
    changes.iter().take(LEFT).map(evidence).collect::<Result<_, Fault>>().map(Some)
}

/// Both streams, as they were captured.
fn transcript(resources: &EffectResources, result: &TurnResult) -> Result<BlobId, Fault> {
    let mut text = captured(result.stdout.as_ref())?;
    let errors = captured(result.stderr.as_ref())?;
    if !errors.is_empty() {
        text.extend_from_slice(STDERR_MARK.as_bytes());
        text.extend_from_slice(&errors);
    }
    resources.blobs.put(text)
}

/// What it wrote, for the operator: of a reviewer, and of another whose report was not taken.
fn report(
    resources: &EffectResources,
    dir: &Path,
    role: Role,
    is_unread: bool,
) -> Result<Option<BlobId>, Fault> {
    if role != Role::Reviewer && !is_unread {
        return Ok(None);
    }
    let words = words(&dir.join(REPORT_PATH), &resources.safeguards.redactor);
    words.map(|words| resources.blobs.put(words.into_bytes())).transpose()
}

/// What was kept of one stream; a stream that could not be kept is a full disk.
pub(super) fn captured(stream: Option<&Capture>) -> Result<Vec<u8>, Fault> {
    let Some(stream) = stream else { return Ok(Vec::new()) };
    if let Some(error) = &stream.write_error {
        return Err(Fault {
            reason: Reason::DiskFull,
            detail: format!("{}: {error}", stream.path.display()),
        });
    }
    match fs::read(&stream.path) {
        Ok(bytes) => Ok(bytes),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(file_fault(&stream.path, &error)),
    }
}

fn span(millis: Millis) -> std::time::Duration {
    std::time::Duration::from_millis(millis.0)
}

/// Leaves nothing of an attempt in its directory, which another may use.
pub(super) fn clear(dir: &Path) -> Result<(), Fault> {
    windlass_process::clear_attempt(dir).map_err(|error| file_fault(dir, &error))
}

fn broken(what: &str) -> Fault {
    Fault { reason: Reason::EffectFailed, detail: what.to_owned() }
}
