//! The stop checks: windlass looks at the files itself, and runs the commands as it runs checks.

use windlass_core::gate::CheckResult;
use windlass_core::hidden::HiddenOutput;
use windlass_core::id::TreeId;
use windlass_core::input::Input;
use windlass_core::policy::{CheckPolicy, Policy};
use windlass_core::stop::{StopCheck, StopResult};
use windlass_gate::{FoundPath, MAX_STOP_FILE, StopLook, look_at, stop_path};
use windlass_workspace::{TreePlace, Vault, VaultError};

use super::{EffectRequest, EffectResources, Performed, fault, gate};
use crate::weaken::Defence;

/// How much of a line that a command printed is told.
const TOLD: usize = 200;

pub(super) fn check_stop(resources: &EffectResources, request: &EffectRequest, tree: &TreeId) -> Performed {
    let commands = commands(&request.policy);
    let Some(ran) = gate::run_apart(resources, request, tree, &commands)? else {
        return Ok(Input::EffectDropped);
    };
    let result = |check: &StopCheck| match look(&resources.vault, tree, check) {
        Some(seen) => seen.map_err(|error| fault(&error)),
        None => Ok(of_command(check, &commands, &ran)),
    };
    let mut results = request.policy.stop.checks.iter().map(result).collect::<Result<Vec<_>, _>>()?;
    let hidden = &request.policy.gate.hidden;
    if !hidden.is_off() && hidden.output != HiddenOutput::All && !resources.is_weak(Defence::Hidden) {
        results.iter_mut().for_each(withhold);
    }
    Ok(Input::StopChecked(results))
}

/// What windlass sees of a check by itself; none for a command.
pub fn look(vault: &Vault, tree: &TreeId, check: &StopCheck) -> Option<Result<StopResult, VaultError>> {
    let path = stop_path(&check.condition)?;
    let seen = find(vault, tree, path).map(|found| {
        let StopLook { holds, why } = look_at(&check.condition, &found);
        StopResult { check: check.name.clone(), holds, why, output: None }
    });
    Some(seen)
}

/// What a command says where agents may not know more than red or green of it; what it printed is kept.
fn withhold(result: &mut StopResult) {
    if result.output.is_some() {
        result.why = if result.holds { "green".to_owned() } else { "red".to_owned() };
    }
}

fn find(vault: &Vault, tree: &TreeId, path: &str) -> Result<FoundPath, VaultError> {
    Ok(match vault.look_at(tree, path.as_bytes(), MAX_STOP_FILE)? {
        None => FoundPath::Nothing,
        Some(TreePlace::File(bytes)) => FoundPath::File(bytes),
        Some(TreePlace::TooLarge { bytes }) => FoundPath::TooLarge { bytes },
        Some(TreePlace::Directory) => FoundPath::Directory,
        Some(TreePlace::Link) => FoundPath::Link,
        Some(TreePlace::Submodule) => FoundPath::Submodule,
    })
}

fn commands(policy: &Policy) -> Vec<CheckPolicy> {
    let command = |(name, run): (&str, &str)| CheckPolicy {
        name: name.to_owned(),
        run: run.to_owned(),
        timeout: policy.gate.timeout,
        control: "off".to_owned(),
        ..CheckPolicy::default()
    };
    policy.stop.commands().map(command).collect()
}

/// A command holds where it would be green as a check.
fn of_command(check: &StopCheck, commands: &[CheckPolicy], ran: &[CheckResult]) -> StopResult {
    let asked = commands.iter().find(|asked| asked.name == check.name);
    let Some((asked, result)) = asked.zip(ran.iter().find(|result| result.check == check.name)) else {
        let why = "it was not run".to_owned();
        return StopResult { check: check.name.clone(), holds: false, why, output: None };
    };
    let red = result.red_without_control(asked);
    let ending = red.as_ref().map_or_else(|| result.ending(), |reason| reason.words());
    let said = result.excerpt.lines().rev().find(|line| !line.trim().is_empty());
    let why = match said.filter(|_| red.is_some()) {
        Some(line) => format!("{ending}: {}", line.trim().chars().take(TOLD).collect::<String>()),
        None => ending,
    };
    StopResult { check: check.name.clone(), holds: red.is_none(), why, output: Some(result.output.clone()) }
}
