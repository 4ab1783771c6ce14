//! One gate being run: it brings the tree, the cache and the command together.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::PathBuf;
use std::rc::Rc;

use windlass_control::FailedCase;
use windlass_core::gate::{CheckResult, CheckStart, Control, Purpose, Trial};
use windlass_core::id::BlobId;
use windlass_core::live::{CheckEnd, Live, LiveStep};
use windlass_core::outcome::{Fault, Reason};
use windlass_core::policy::CheckPolicy;
use windlass_core::writes::ObservedWrites;
use windlass_gate::{
    BaseTerms, Cache, CacheCopy, CheckCommand, Checked, ExemptPaths, GateRun, list_modules_command,
    run_command,
};
use windlass_process::Inspection;
use windlass_workspace::Checkout;

use super::GateTarget;
use super::dirs::{GateDirs, NAME, quoted};
use super::kept_setup::SetupPlace;
use super::tally::{TestCounter, earlier_tests};
use super::watch::{GateWatch, RunningWatch, WRITTEN_LIMIT};
use crate::clock;
use crate::confine::ProgramAccess;
use crate::perform::call::captured;
use crate::perform::{EffectRequest, EffectResources, fault, file_fault};
use crate::weaken::Defence;

/// What a shell says of a command that it could not start; no control is
/// believed by it.
const NOT_STARTED: i32 = 126;

/// Compiled files that a check leaves would be taken for the sources of the next.
const NO_BYTECODE: (&str, &str) = ("PYTHONDONTWRITEBYTECODE", "1");

/// Tells the check of a step where the tree before it is.
const PREVIOUS: &str = "WINDLASS_PREVIOUS";

pub struct GateRunner<'a> {
    resources: &'a EffectResources,
    request: &'a EffectRequest,
    target: GateTarget<'a>,
    checkout: &'a mut Checkout,
    dirs: GateDirs,
    env: Vec<(OsString, OsString)>,
    cache: Option<Cache>,
    watch: Option<Rc<GateWatch>>,
    /// The paths in which the tree differs from the base.
    changed: Vec<PathBuf>,
    /// By check, the tests that failed at its last run, where added tests of a fix are tried.
    failed: BTreeMap<String, Vec<String>>,
    /// How many commands were run.
    number: usize,
    setup: SetupUse,
    /// Where the check of a step finds the tree before it.
    previous: Option<PathBuf>,
}

/// How a clean tree comes to what the set-up commands make.
enum SetupUse {
    /// They run before each command, in the same shell.
    Inline,
    /// They ran on another tree, and what they made lies under this one.
    Kept,
    /// They run once, and what they make is kept if it can be.
    ToBeKept(SetupPlace),
}

/// A check that ran on a tree with broken tests.
pub struct RanBroken {
    pub result: CheckResult,
    pub output: BlobId,
    /// The failed tests of its junit files.
    pub failed: Vec<FailedCase>,
}

impl SetupUse {
    /// Where the set-up is to be kept; asked once.
    fn take_place(&mut self) -> Option<SetupPlace> {
        match std::mem::replace(self, Self::Inline) {
            Self::ToBeKept(place) => Some(place),
            kept @ (Self::Kept | Self::Inline) => {
                *self = kept;
                None
            }
        }
    }
}

struct EndedCommand {
    checked: Checked,
    output: BlobId,
    /// Of one that was watched.
    writes: Option<ObservedWrites>,
}

impl<'a> GateRunner<'a> {
    pub fn new(
        resources: &'a EffectResources,
        request: &'a EffectRequest,
        target: GateTarget<'a>,
        checkout: &'a mut Checkout,
    ) -> Result<Self, Fault> {
        let names = &request.policy.gate.cache;
        let dir = resources.dirs.caches(&request.creation.name);
        let wanted = !names.is_empty() && target.purpose != Purpose::Final;
        let cache = wanted.then(|| Cache::new(dir.clone(), names));
        if let Some(cache) = cache.as_ref().filter(|_| target.purpose == Purpose::Baseline) {
            cache.clear().map_err(|error| file_fault(&dir, &error))?;
        }
        let mut changed = Vec::new();
        if cache.is_some() {
            let diff = resources
                .vault
                .diff(&request.creation.base_tree, target.tree)
                .map_err(|error| fault(&error))?;
            changed.extend(diff.iter().map(|change| path_of(&change.path)));
        }
        resources.removal.wait();
        let mut dirs = GateDirs::new(resources, request, checkout)?;
        let step = target.checks.iter().any(|name| request.policy.gate.is_step_check(name));
        let previous = step.then(|| dirs.bring_previous(resources, request)).transpose()?;
        let network = &request.policy.gate.network;
        let mut env = resources.safeguards.confine.environment(
            &resources.surroundings,
            &ProgramAccess { variables: &[], network, private: &dirs.private },
        );
        let (variable, on) = NO_BYTECODE;
        env.retain(|(name, _)| name != variable);
        env.push((variable.into(), on.into()));
        let watch = GateWatch::new(resources, request, &target)?.map(Rc::new);
        let mut runner = Self {
            resources,
            request,
            checkout,
            dirs,
            env,
            cache,
            watch,
            changed,
            failed: BTreeMap::new(),
            number: 0,
            setup: SetupUse::Inline,
            previous,
            target,
        };
        if let Some(place) = SetupPlace::of(resources, request, target.tree)? {
            runner.use_kept_setup(place);
        }
        Ok(runner)
    }

    /// A tree that is looked at for what its author may see of it.
    pub fn without_cache(
        resources: &'a EffectResources,
        request: &'a EffectRequest,
        target: GateTarget<'a>,
        checkout: &'a mut Checkout,
    ) -> Result<Self, Fault> {
        Ok(Self { cache: None, ..Self::new(resources, request, target, checkout)? })
    }

    fn use_kept_setup(&mut self, place: SetupPlace) {
        self.setup = match (place.find(self.resources), &mut self.dirs.private.tree) {
            (Some(kept), Some(tree)) => {
                tree.over = vec![kept.tree];
                self.dirs.private.packages = kept.packages;
                SetupUse::Kept
            }
            (None, Some(_)) if self.target.purpose == Purpose::Baseline => SetupUse::ToBeKept(place),
            (Some(_) | None, _) => SetupUse::Inline,
        };
    }

    /// Runs the set-up once, for all commands on this tree. One that fails is left to the command itself, which
    /// shows it. False: it was cancelled.
    fn set_up(&mut self, check: &CheckPolicy) -> Result<bool, Fault> {
        let Some(place) = self.setup.take_place() else { return Ok(true) };
        let command = self.request.policy.workspace.setup.join("; ");
        self.resources.tell(Live::StepStarted(LiveStep::SetUp { command }));
        self.bring()?;
        self.dirs.discard()?;
        let run = self.after_setup("true", None);
        let Some(ended) = self.run_uncleared(check, &run, None)? else { return Ok(false) };
        if ended.checked.exit_code == Some(0) {
            place.keep(self.resources, &self.dirs)?;
            self.use_kept_setup(place);
            // Where it could not be kept, it runs each time.
            drop(self.setup.take_place());
        }
        self.dirs.clear(self.resources, self.number)?;
        Ok(true)
    }

    pub fn purpose(&self) -> Purpose {
        self.target.purpose
    }

    /// Runs a check once and counts its tests. `None`: it was cancelled.
    pub fn check(&mut self, check: &CheckPolicy, start: CheckStart) -> Result<Option<CheckResult>, Fault> {
        let start = if self.resources.is_weak(Defence::Fresh) && self.number > 0 {
            CheckStart::FromPrevious
        } else {
            start
        };
        if !self.set_up(check)? {
            return Ok(None);
        }
        let step = self.live_step(check);
        self.resources.tell(Live::StepStarted(step));
        self.start(start)?;
        let counter = TestCounter::begin(check, &self.dirs.written())?;
        let (run, watch) = (self.command(check, start), self.watch.clone());
        let Some(ended) = self.run_watched(check, &run, watch.as_deref())? else { return Ok(None) };
        let EndedCommand { checked, output, writes } = ended;
        let mut result = checked.result(output);
        result.writes = writes;
        let red = watch.filter(|_| result.exit_code != Some(0));
        if let Some(words) = red.and_then(|watch| watch.refused_words(&result.excerpt)) {
            result.excerpt = format!("{words}\n{}", result.excerpt);
        }
        if let Some(writes) = result.writes.as_mut().filter(|_| self.target.purpose == Purpose::Baseline) {
            writes.terms = self.terms_of_base(check, writes)?;
        }
        if let Some(counter) = counter {
            let earlier = earlier_tests(self.resources, self.request, self.target.trial, &check.name)?;
            result.tally = Some(counter.tally(self.resources, &self.dirs.written(), earlier.as_ref())?);
            if self.target.trial == Trial::AddedTests {
                self.failed.insert(check.name.clone(), counter.failed_names(&self.dirs.written()));
            }
        }
        self.tell_end(&result);
        Ok(Some(result))
    }

    /// The names of the tests that failed, by check.
    pub fn take_failed(&mut self) -> BTreeMap<String, Vec<String>> {
        std::mem::take(&mut self.failed)
    }

    fn live_step(&self, check: &CheckPolicy) -> LiveStep {
        let name = check.name.clone();
        match self.target.trial {
            Trial::Landing | Trial::TrustedTerms => {
                LiveStep::Check { check: name, purpose: self.target.purpose }
            }
            Trial::AddedTests | Trial::Base => LiveStep::Regression { check: name },
        }
    }

    /// What a hidden test printed may be withheld: then the record tells it, without that.
    fn tell_end(&self, result: &CheckResult) {
        // Red is what is hoped for there: the record tells it.
        if matches!(self.target.trial, Trial::AddedTests | Trial::Base) {
            return;
        }
        let is_red = !result.exited_well();
        if is_red && !self.request.policy.gate.hidden.is_off() {
            return;
        }
        let mut excerpt = if is_red { result.excerpt.clone() } else { String::new() };
        self.resources.hide(&mut excerpt);
        self.resources.tell(Live::CheckFinished(CheckEnd {
            check: result.check.clone(),
            exit_code: result.exit_code,
            timed_out: result.timed_out,
            duration_ms: result.duration_ms,
            trial: self.target.trial,
            excerpt,
        }));
    }

    fn tell_broken(&self, check: &CheckPolicy) {
        self.resources.tell(Live::StepStarted(LiveStep::BrokenTests { check: check.name.clone() }));
    }

    /// What this check shows to be no product, beside its writes; it ran on the base. None: it was cancelled.
    fn terms_of_base(
        &mut self,
        check: &CheckPolicy,
        writes: &ObservedWrites,
    ) -> Result<Option<BlobId>, Fault> {
        let listed = self.resources.vault.list_paths(self.target.tree).map_err(|error| fault(&error))?;
        let tree: BTreeSet<&[u8]> = listed.iter().map(|(path, _)| path.as_ref()).collect();
        let mut modules = String::new();
        if tree.iter().any(|path| path.ends_with(b".py")) {
            self.start(CheckStart::FromPrevious)?;
            let Some((_, listed)) = self.run(check, &list_modules_command(&check.run))? else {
                return Ok(None);
            };
            modules = self.resources.blobs.text(&listed, WRITTEN_LIMIT)?;
        }
        let written = writes.all.iter().map(|id| self.resources.blobs.text(id, WRITTEN_LIMIT));
        let written = written.collect::<Result<Vec<String>, Fault>>()?;
        let written = written.iter().flat_map(|text| ExemptPaths::paths(text));
        let terms = BaseTerms::of(&tree, written, modules.lines());
        self.resources.blobs.put(terms.text().into_bytes()).map(Some)
    }

    /// Runs a check once on a tree with broken tests. `None`: it was cancelled.
    pub fn broken(&mut self, check: &CheckPolicy, start: CheckStart) -> Result<Option<RanBroken>, Fault> {
        self.tell_broken(check);
        self.start(start)?;
        let counter = TestCounter::begin(check, &self.dirs.written())?;
        // As closed to it as the honest tree was: it must not tell one run from the other.
        let (run, watch) = (self.command(check, start), self.watch.clone());
        let Some(ended) = self.run_watched(check, &run, watch.as_deref())? else { return Ok(None) };
        let EndedCommand { checked, output, .. } = ended;
        let failed = counter.map(|counter| counter.failed(&self.dirs.written())).unwrap_or_default();
        Ok(Some(RanBroken { result: checked.result(output.clone()), output, failed }))
    }

    fn command(&self, check: &CheckPolicy, start: CheckStart) -> String {
        match start {
            CheckStart::Clean => self.after_setup(&check.run, None),
            CheckStart::FromPrevious => check.run.clone(),
        }
    }

    /// Runs the control of a green check, on a tree of its own. `None`: it was
    /// cancelled.
    pub fn control(&mut self, check: &CheckPolicy) -> Result<Option<Control>, Fault> {
        self.tell_broken(check);
        self.start(CheckStart::Clean)?;
        let run = self.after_setup(&check.control, Some(NOT_STARTED));
        let Some((checked, output)) = self.run(check, &run)? else { return Ok(None) };
        let mut control = checked.control(output);
        if self.resources.is_weak(Defence::Control) {
            control.exit_code = Some(1);
        }
        Ok(Some(control))
    }

    /// Of what the base's own code left, the baseline keeps the caches.
    pub fn keep_cache(&self) -> Result<(), Fault> {
        let shared = self.resources.is_weak(Defence::Cache) && self.target.purpose == Purpose::Task;
        let Some(cache) = self.cache.as_ref().filter(|_| self.target.purpose == Purpose::Baseline || shared)
        else {
            return Ok(());
        };
        let from = self.dirs.written();
        cache.keep(&from).map_err(|error| file_fault(&from, &error))
    }

    pub fn finish(&self) -> Result<(), Fault> {
        let ended = self.watch.as_ref().map_or_else(Vec::new, |watch| watch.take_ended());
        self.dirs.leave(self.resources, ended);
        match self.cache.as_ref().filter(|_| self.target.purpose == Purpose::Baseline) {
            Some(cache) => cache.seal().map_err(|error| fault(&error)),
            None => Ok(()),
        }
    }

    fn start(&mut self, start: CheckStart) -> Result<(), Fault> {
        match start {
            CheckStart::FromPrevious => self.dirs.go_on().map(|_| ()),
            CheckStart::Clean => {
                self.bring()?;
                self.dirs.discard()?;
                self.copy_cache()
            }
        }
    }

    /// With a throwaway layer nothing but windlass ever writes to the clean
    /// tree; without one it is compared, file by file, before every check. Where
    /// tests are broken, and at the last look, all is written from nothing: by
    /// the times of its files a product could tell an honest tree from a broken one.
    fn bring(&mut self) -> Result<(), Fault> {
        let (vault, tree) = (&self.resources.vault, self.target.tree);
        let (gate, purpose) = (&self.request.policy.gate, self.target.purpose);
        let anew =
            purpose == Purpose::Final || gate.checks.iter().any(|check| gate.breaks_tests(check, purpose));
        if anew {
            self.checkout.remove().map_err(|error| fault(&error))?;
        }
        let brought = match anew || !self.resources.safeguards.overlay {
            true => self.checkout.verify_and_rewrite(vault, tree),
            false => self.checkout.bring_to(vault, tree),
        };
        brought.map(|_| ()).map_err(|error| fault(&error))
    }

    fn copy_cache(&self) -> Result<(), Fault> {
        let Some(cache) = &self.cache else { return Ok(()) };
        let to = self.dirs.go_on()?;
        let copy = CacheCopy { to: &to, tree: &self.dirs.tree, changed: &self.changed };
        let copied = match self.target.purpose {
            Purpose::Baseline => cache.copy_unsealed(copy),
            Purpose::Task if self.resources.is_weak(Defence::Cache) => cache.copy_unsealed(copy),
            Purpose::Task | Purpose::Final => cache.copy(copy),
        };
        copied.map(|_| ()).map_err(|error| file_fault(&to, &error))
    }

    /// A control may write where it likes: it is meant to break what it runs on.
    fn run(&mut self, check: &CheckPolicy, run: &str) -> Result<Option<(Checked, BlobId)>, Fault> {
        let ended = self.run_watched(check, run, None)?;
        Ok(ended.map(|EndedCommand { checked, output, .. }| (checked, output)))
    }

    fn run_watched(
        &mut self,
        check: &CheckPolicy,
        run: &str,
        watch: Option<&GateWatch>,
    ) -> Result<Option<EndedCommand>, Fault> {
        let ended = self.run_uncleared(check, run, watch)?;
        if ended.is_some() {
            self.dirs.clear(self.resources, self.number)?;
        }
        Ok(ended)
    }

    /// What the command left in its home and elsewhere is still there afterwards.
    fn run_uncleared(
        &mut self,
        check: &CheckPolicy,
        run: &str,
        watch: Option<&GateWatch>,
    ) -> Result<Option<EndedCommand>, Fault> {
        self.number += 1;
        self.dirs.clear(self.resources, self.number)?;
        let watching = watch.map(|watch| watch.begin(&mut self.dirs)).transpose()?;
        let network = &self.request.policy.gate.network;
        let marker = clock::marker();
        let env = self.environment_of(check);
        let gate = GateRun {
            checks: &[],
            cwd: &self.dirs.cwd,
            env: &env,
            confinement: &self.resources.safeguards.confine.confinement(
                network,
                &self.dirs.private,
                Inspection::Refused,
            ),
            resources: self.resources.safeguards.confine.resources,
            attempts: &self.dirs.attempts,
            name: NAME,
            marker: &marker,
            spawner: &self.resources.spawner,
            redactor: &self.resources.safeguards.redactor,
            shell: &self.resources.shell,
        };
        let order = CheckCommand { check: &check.name, run, timeout: check.timeout, number: self.number };
        let checked = run_command(&gate, &order, &mut |canceller| self.resources.started(canceller));
        let Some(checked) = checked.filter(|_| !self.resources.was_stopped()) else { return Ok(None) };
        let output = output(self.resources, &checked)?;
        let end = |watching: RunningWatch<'_>| watching.end(self.resources, &mut self.dirs);
        let writes = watching.map(end).transpose()?;
        if checked.never_ran() {
            self.resources.level_still_holds()?;
        }
        Ok(Some(EndedCommand { checked, output, writes }))
    }

    fn environment_of(&self, check: &CheckPolicy) -> Vec<(OsString, OsString)> {
        let is_step = self.request.policy.gate.is_step_check(&check.name);
        let previous = self.previous.iter().filter(|_| is_step);
        let previous = previous.map(|dir| (PREVIOUS.into(), dir.clone().into_os_string()));
        self.env.iter().cloned().chain(previous).collect()
    }

    /// A command with what the operator says must come first, in the same
    /// shell. `failing` is the exit code where that fails, if not its own.
    fn after_setup(&self, run: &str, failing: Option<i32>) -> String {
        let policy = &self.request.policy.workspace;
        let copies = policy.copy.iter().map(|file| {
            let (from, to) = (self.resources.surroundings.project.join(file), PathBuf::from(file));
            let dir =
                to.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(std::path::Path::new("."));
            format!("mkdir -p {} && cp -p {} {}", quoted(dir), quoted(&from), quoted(&to))
        });
        let setup = policy.setup.iter().filter(|_| !matches!(self.setup, SetupUse::Kept));
        let first: Vec<String> = copies.chain(setup.cloned()).collect();
        if first.is_empty() {
            return run.to_owned();
        }
        let otherwise = failing.map_or_else(String::new, |code| format!(" || exit {code}"));
        let steps: Vec<String> = first.iter().map(|step| format!("{{ {step}\n}}{otherwise}")).collect();
        let then = if failing.is_some() { "\n" } else { " && " };
        format!("{}{then}{{ {run}\n}}", steps.join(then))
    }
}

fn output(resources: &EffectResources, checked: &Checked) -> Result<BlobId, Fault> {
    if checked.survivors > 0 {
        let detail = format!("{} processes of check {} cannot be ended", checked.survivors, checked.check);
        return Err(Fault { reason: Reason::EffectFailed, detail });
    }
    let mut bytes = captured(checked.stdout.as_ref())?;
    bytes.extend(captured(checked.stderr.as_ref())?);
    resources.blobs.put(bytes)
}

fn path_of(path: &windlass_workspace::BString) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    PathBuf::from(std::ffi::OsStr::from_bytes(path.as_ref()))
}
