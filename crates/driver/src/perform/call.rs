//! One attempt: the brief rendered and kept, the agent run, its report read.

use std::fs;
use std::path::{Path, PathBuf};

use windlass_agent::brief::{BriefTexts, render};
use windlass_agent::{
    Agent, AttemptNames, REPORT_PATH, TurnRequest, TurnResult, Wall, WallSource, adapter, registry,
};
use windlass_core::brief::BriefSpec;
use windlass_core::finding::{Evidence, Rule};
use windlass_core::id::{AttemptId, BlobId, Nonce};
use windlass_core::input::Input;
use windlass_core::outcome::{Fault, Reason};
use windlass_core::policy::{AgentPolicy, Role};
use windlass_core::time::Millis;
use windlass_core::usage::Usage;
use windlass_process::Capture;
use windlass_workspace::{CommitText, ReadFiles, SnapshotRequest};

use super::inject;
use super::prepare::rules;
use super::snapshot::{excerpt, shown, touch};
use super::{Job, Performed, Workshop, fault, file_fault, lock};
use crate::clock;
use crate::confine::Own;
use crate::home::Home;

/// How much of the change a reviewer is shown in the brief itself.
const DIFF_BYTES: usize = 96 << 10;
/// The largest task text that is read back.
const TEXT_LIMIT: u64 = 2 << 20;
/// How many paths that a reviewer changed are told.
const LEFT: usize = 5;

pub(super) struct Who<'a> {
    pub attempt: AttemptId,
    pub role: Role,
    pub nonce: &'a Nonce,
}

pub(super) fn call(shop: &Workshop, job: &Job, who: Who<'_>) -> Performed {
    let spec = job.brief.as_ref().ok_or_else(|| broken("an attempt without a brief"))?;
    let mut brief = brief(shop, job, &who, spec)?;
    shop.hide(&mut brief);
    let dir = shop.dirs.attempts(&job.creation.name).join(who.role.name());
    clear(&dir)?;
    lock(&shop.space).touched = true;
    let space = shop.dirs.space(&job.creation.name);
    let injected = &agent_of(job)?.extra.inject;
    let unusable = |error: std::io::Error| file_fault(&space, &error);
    inject::put(&space, &shop.surroundings.project, injected).map_err(unusable)?;
    let result = run(shop, job, &who, (&brief, &dir))?;
    super::test_point("called");
    inject::take_away(&space, injected).map_err(unusable)?;
    if result.survivors > 0 {
        return Err(broken(&format!("{} processes of the attempt cannot be ended", result.survivors)));
    }
    let renewed = take_back(shop, job, &who)?;
    let left = if who.role == Role::Reviewer { left(shop, job, spec)? } else { None };
    let brief = shop.blobs.put(brief.into_bytes())?;
    let transcript = transcript(shop, &result)?;
    let unread = result.unread.map(|why| format!("its report was not taken: {why}"));
    let mut finished = result.finished;
    finished.result.notes.extend(unread.into_iter().chain(renewed));
    finished.result.transcript = Some(transcript);
    finished.result.brief = Some(brief);
    finished.tree_changed = left.is_some();
    finished.left = left.unwrap_or_default();
    clear(&dir)?;
    Ok(Input::AgentFinished(Box::new(finished)))
}

fn brief(shop: &Workshop, job: &Job, who: &Who<'_>, spec: &BriefSpec) -> Result<String, Fault> {
    let answers = adapter(agent_of(job)?).is_ok_and(|agent| agent.answers());
    let task = spec.task.as_ref().map(|task| shop.blobs.text(&task.text, TEXT_LIMIT)).transpose()?;
    let diff = match &spec.tree_under_review {
        Some(tree) => {
            let text = shop.vault.diff_text(&spec.base_tree, tree, DIFF_BYTES).map_err(|e| fault(&e))?;
            String::from_utf8_lossy(&text.bytes).into_owned()
        }
        None => String::new(),
    };
    let own = &job.policy.brief;
    let task = task.as_deref().unwrap_or("");
    let texts = BriefTexts { nonce: who.nonce, task, diff: &diff, answers, own };
    render(spec, &texts).map_err(|error| broken(&error.to_string()))
}

fn run(shop: &Workshop, job: &Job, who: &Who<'_>, (brief, dir): (&str, &Path)) -> Result<TurnResult, Fault> {
    let policy = agent_of(job)?;
    let agent = adapter(policy).map_err(|error| broken(&error.to_string()))?;
    let wall = match job.wall_left {
        Some(left) if left < policy.timeout || policy.timeout.is_zero() => {
            Wall { limit: span(left), source: WallSource::Budget }
        }
        Some(_) | None => Wall { limit: span(policy.timeout), source: WallSource::Agent },
    };
    let space = shop.dirs.space(&job.creation.name);
    let own = own(shop, job, who, agent.as_ref(), (dir, &space))?;
    let known = registry::behind(policy).map_or(&[][..], |known| known.profile.variables);
    let named: Vec<String> =
        policy.env.iter().cloned().chain(known.iter().map(|name| (*name).to_owned())).collect();
    let env = shop.confine.lend(&shop.surroundings, (&named, &policy.network), &own);
    let confinement = shop.confine.confinement(&policy.network, &own);
    let call = TurnRequest {
        role: who.role,
        nonce: who.nonce,
        brief,
        workspace: &space,
        dir,
        project: &shop.surroundings.project,
        env: &env,
        policy,
        names: AttemptNames {
            name: &job.creation.name,
            task: job.brief.as_ref().and_then(|spec| spec.task.as_ref()).map(|task| &task.id),
            iteration: job.iteration,
            nth: job.nth,
        },
        confinement: &confinement,
        resources: shop.confine.resources,
        trail: &shop.trail,
        wall,
        marker: &format!("{}/{}/{}", shop.dirs.key(), job.creation.name, who.attempt),
        spawner: &shop.spawner,
        redactor: &shop.redactor,
        home: &own.home(),
        path: &shop.confine.path,
        is_confined: shop.confine.is_on(),
        resume: job.resume.as_ref(),
        clock: clock::wall,
        is_spent: &|used| is_spent(job, used),
        // What nobody takes in time is in the transcript all the same.
        live: &|live| drop(shop.live.try_send(live)),
    };
    Ok(agent.call(&call, &mut |canceller| shop.started(canceller)))
}

/// A reviewer reads the workspace; everyone else may change it.
fn own(
    shop: &Workshop,
    job: &Job,
    who: &Who<'_>,
    agent: &dyn Agent,
    (dir, space): (&Path, &Path),
) -> Result<Own, Fault> {
    let place = own_dir(shop, job, who);
    let unusable = |error: std::io::Error| file_fault(&place, &error);
    // What an attempt left whose windlass was killed.
    take_back(shop, job, who)?;
    let policy = agent_of(job)?;
    let mut own = match (keeps_its_home(shop, policy), is_known(policy)) {
        (true, _) => Own::lasting(place.clone()).map_err(unusable)?,
        (_, true) => Own::made(place.clone()).map_err(unusable)?,
        (_, false) => Own::fresh(&shop.confine, place.clone()).map_err(unusable)?,
    };
    if let Some(home) = home(shop, job, who).as_ref() {
        home.seed().map_err(unusable)?;
    }
    let files = agent.files(policy, &shop.surroundings.project, &shop.confine.path);
    own.read = shop.surroundings.beside_a_program(files);
    own.read.push(shop.trail.clone());
    own.write.extend(dir.join(REPORT_PATH).parent().map(Path::to_path_buf));
    match who.role {
        Role::Reviewer => own.read.push(space.to_owned()),
        Role::Author | Role::Planner | Role::Finisher => own.write.push(space.to_owned()),
    }
    Ok(own)
}

fn own_dir(shop: &Workshop, job: &Job, who: &Who<'_>) -> PathBuf {
    let name = format!("own-{}", who.role.name());
    match job.agent.as_ref().is_some_and(|agent| keeps_its_home(shop, agent)) {
        // A conversation lies in the home it was had in.
        true => shop.dirs.homes(&job.creation.name).join(name),
        false => shop.dirs.attempts(&job.creation.name).join(name),
    }
}

fn agent_of(job: &Job) -> Result<&AgentPolicy, Fault> {
    job.agent.as_ref().ok_or_else(|| broken("an attempt without an agent"))
}

/// Between the attempts of a loop. One that is not confined and not known has its operator's.
fn keeps_its_home(shop: &Workshop, policy: &AgentPolicy) -> bool {
    let has_one = is_known(policy) || policy.adapter == "acp" && shop.confine.is_on();
    policy.extra.resume && has_one
}

fn is_known(policy: &AgentPolicy) -> bool {
    registry::named(&policy.adapter).is_some()
}

/// Whether the loop's budget ends with what this attempt has used so far.
fn is_spent(job: &Job, used: &Usage) -> bool {
    let policy = &job.policy;
    let model = job.agent.as_ref().map_or("", |agent| agent.model.as_str());
    let mut total = job.spent;
    total.add(&policy.priced(model, used));
    policy.budget.spent(&total).is_some()
}

/// None where agents have the operator's own, or need nothing of it.
fn home<'a>(shop: &'a Workshop, job: &Job, who: &Who<'_>) -> Option<Home<'a>> {
    let policy = job.agent.as_ref()?;
    let operator = shop.surroundings.var("HOME").filter(|_| shop.confine.is_on() || is_known(policy))?;
    let profile = &registry::behind(policy)?.profile;
    let own = Own::at(own_dir(shop, job, who));
    let locks = shop.dirs.state().join("accounts");
    Some(Home {
        dir: own.home(),
        seeded: own.seeded(),
        operator: Path::new(operator),
        own_config: policy.extra.own_config,
        profile,
        locks,
    })
}

/// A login that the agent's program renewed is the operator's from now on.
fn take_back(shop: &Workshop, job: &Job, who: &Who<'_>) -> Result<Vec<String>, Fault> {
    let Some(home) = home(shop, job, who) else { return Ok(Vec::new()) };
    let taken = home.take_back().map_err(|error| file_fault(&home.dir, &error))?;
    Ok(taken.into_iter().map(|name| format!("its login was renewed (~/{name})")).collect())
}

/// What a reviewer changed; none where the workspace is still the tree it was
/// given.
fn left(shop: &Workshop, job: &Job, spec: &BriefSpec) -> Result<Option<Vec<Evidence>>, Fault> {
    let Some(tree) = spec.tree_under_review.clone() else { return Ok(None) };
    let mut desk = lock(&shop.space);
    let rules = rules(shop, &job.base_tree, &job.policy.brought());
    let text = CommitText { message: String::new(), author: shop.repository.identity.clone(), date_ms: 0 };
    let request = SnapshotRequest { rules: &rules, parents: &[], text: &text, reading: ReadFiles::Changed };
    let now = match desk.space.snapshot(&shop.vault, &request) {
        Ok(now) if now.tree == tree => return Ok(None),
        Ok(now) => now.tree,
        Err(windlass_workspace::SpaceError::Gone { .. }) => {
            return Ok(Some(vec![Evidence::new(Rule::ReviewerChangedTree, ".")]));
        }
        Err(error) => return Err(fault(&error)),
    };
    let changes = shop.vault.diff(&tree, &now).map_err(|error| fault(&error))?;
    let told = |change: &windlass_workspace::TreeChange| {
        let evidence = Evidence::new(Rule::ReviewerChangedTree, shown(&change.path));
        Ok(Evidence {
            touch: Some(touch(change)),
            diff: excerpt(shop, (&tree, &now), &change.path)?,
            ..evidence
        })
    };
    changes.iter().take(LEFT).map(told).collect::<Result<_, Fault>>().map(Some)
}

/// Both streams, as they were captured.
fn transcript(shop: &Workshop, result: &TurnResult) -> Result<BlobId, Fault> {
    let mut text = captured(result.stdout.as_ref())?;
    let errors = captured(result.stderr.as_ref())?;
    if !errors.is_empty() {
        text.extend_from_slice(b"\n---- stderr ----\n");
        text.extend_from_slice(&errors);
    }
    shop.blobs.put(text)
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
