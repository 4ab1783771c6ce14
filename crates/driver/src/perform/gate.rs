//! The gate: each check on a clean checkout of the tree, on a layer of its own
//! that is thrown away.

use std::path::{Path, PathBuf};

use windlass_core::gate::Purpose;
use windlass_core::id::TreeId;
use windlass_core::input::Input;
use windlass_core::outcome::{Fault, Reason};
use windlass_core::policy::{CheckPolicy, WorkspacePolicy};
use windlass_gate::{Checked, GateRun, run_check};
use windlass_process::ThrowawayTree;
use windlass_store::Blob;
use windlass_workspace::Checkout;

use super::call::{captured, clear};
use super::{Job, Performed, Workshop, fault, file_fault, lock};
use crate::confine::Own;

/// Begins the names of the checks' directories among those of attempts.
const NAME: &str = "gate";

pub(super) struct On<'a> {
    pub purpose: Purpose,
    pub tree: &'a TreeId,
    pub checks: &'a [String],
}

pub(super) fn gate(shop: &Workshop, job: &Job, on: On<'_>) -> Performed {
    let mut checkout = lock(&shop.checkout);
    let place = Place::new(shop, job, &checkout)?;
    let policy = &job.creation.policy;
    let due = policy.gate.checks.iter().filter(|check| on.checks.contains(&check.name));
    let checks: Vec<CheckPolicy> = due.map(|check| set_up(shop, &policy.workspace, check)).collect();
    let run = GateRun {
        checks: &checks,
        cwd: &place.cwd,
        env: &shop.confine.lend(&shop.surroundings, (&[], &policy.gate.network), &place.own),
        confinement: &shop.confine.confinement(&policy.gate.network, &place.own),
        resources: shop.confine.resources,
        attempts: &place.attempts,
        name: NAME,
        spawner: &shop.spawner,
        redactor: &shop.redactor,
    };
    let mut results = Vec::new();
    let mut blobs = Vec::new();
    for index in 0..checks.len() {
        prepare(shop, &mut checkout, &on, index)?;
        place.clear(shop, index)?;
        let checked = run_check(&run, index, &mut |canceller| shop.started(canceller));
        let Some(checked) = checked.filter(|_| !shop.was_stopped()) else {
            return Ok((Input::EffectDropped, Vec::new()));
        };
        let output = output(shop, &checked)?;
        results.push(checked.result(output.id().clone()));
        blobs.push(output);
        place.clear(shop, index)?;
    }
    Ok((Input::GateReported(results), blobs))
}

/// With a throwaway layer nothing but windlass ever writes to the clean tree;
/// without one it is compared, file by file, before every check. The last look
/// begins by hashing everything anew.
fn prepare(shop: &Workshop, checkout: &mut Checkout, on: &On<'_>, index: usize) -> Result<(), Fault> {
    let brought = match (on.purpose, shop.overlay) {
        (Purpose::Final, _) if index == 0 => checkout.rehash_and_rewrite(&shop.vault, on.tree),
        (Purpose::Baseline | Purpose::Task | Purpose::Final, true) => checkout.bring_to(&shop.vault, on.tree),
        (Purpose::Baseline | Purpose::Task | Purpose::Final, false) => {
            checkout.verify_and_rewrite(&shop.vault, on.tree)
        }
    };
    brought.map(|_| ()).map_err(|error| fault(&error))
}

/// Where the checks run.
struct Place {
    cwd: PathBuf,
    own: Own,
    /// The directories of the checks' processes are below it.
    attempts: PathBuf,
}

impl Place {
    fn new(shop: &Workshop, job: &Job, checkout: &Checkout) -> Result<Self, Fault> {
        let name = &job.creation.name;
        let beside = shop.dirs.checkout(name);
        let (at, upper) = (beside.join("tree"), beside.join("layer"));
        for dir in [&at, &upper] {
            std::fs::create_dir_all(dir).map_err(|error| file_fault(dir, &error))?;
        }
        let lower = checkout.dir().to_owned();
        let attempts = shop.dirs.attempts(name);
        let mut own = own_of_check(shop, &attempts)?;
        let copied = &job.creation.policy.workspace.copy;
        own.read = copied.iter().map(|file| shop.surroundings.project.join(file)).collect();
        let cwd = if shop.overlay {
            let hide = vec![lower.clone(), shop.dirs.root()];
            own.tree = Some(ThrowawayTree { lower, at: at.clone(), upper, hide });
            at
        } else {
            own.write.push(lower.clone());
            lower
        };
        Ok(Self { cwd, own, attempts })
    }

    /// Removes what a check, also an interrupted one, left.
    fn clear(&self, shop: &Workshop, index: usize) -> Result<(), Fault> {
        own_of_check(shop, &self.attempts)?;
        clear(&self.attempts.join(format!("{NAME}-{}", index + 1)))?;
        match &self.own.tree {
            Some(tree) => tree.discard().map_err(|error| file_fault(&tree.upper, &error)),
            None => Ok(()),
        }
    }
}

/// Its home and its temporary files, as no other check left them.
fn own_of_check(shop: &Workshop, attempts: &Path) -> Result<Own, Fault> {
    let place = attempts.join("own-gate");
    Own::fresh(&shop.confine, place.clone()).map_err(|error| file_fault(&place, &error))
}

/// A check with what the operator says must come first, in the same shell.
fn set_up(shop: &Workshop, policy: &WorkspacePolicy, check: &CheckPolicy) -> CheckPolicy {
    let copies = policy.copy.iter().map(|file| {
        let (from, to) = (shop.surroundings.project.join(file), PathBuf::from(file));
        let dir = to.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(std::path::Path::new("."));
        format!("mkdir -p {} && cp -p {} {}", quoted(dir), quoted(&from), quoted(&to))
    });
    let first: Vec<String> = copies.chain(policy.setup.iter().cloned()).collect();
    if first.is_empty() {
        return check.clone();
    }
    let steps: Vec<String> = first.iter().chain([&check.run]).map(|step| format!("{{ {step}\n}}")).collect();
    CheckPolicy { run: steps.join(" && "), ..check.clone() }
}

fn quoted(path: &std::path::Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', "'\\''"))
}

fn output(shop: &Workshop, checked: &Checked) -> Result<Blob, Fault> {
    if checked.survivors > 0 {
        let detail = format!("{} processes of check {} cannot be ended", checked.survivors, checked.check);
        return Err(Fault { reason: Reason::EffectFailed, detail });
    }
    let mut bytes = captured(checked.stdout.as_ref())?;
    bytes.extend(captured(checked.stderr.as_ref())?);
    shop.blobs.stage(bytes).map_err(|error| fault(&error))
}
