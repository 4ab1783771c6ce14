//! What the gate makes of a project's paths.

use std::path::{Component, Path};

use windlass_core::history::{HistoryLimits, Keep};
use windlass_core::policy::Policy;
use windlass_driver::terms::{self, PathExplained};

use crate::{AppError, OpenProject, PolicyArguments};

impl OpenProject {
    /// What each of these paths is to the gate, by the policy in the project, and by the base of the loop that
    /// was created last.
    pub fn explain_paths(&self, paths: &[String]) -> Result<Vec<PathExplained>, AppError> {
        let paths: Vec<String> =
            paths.iter().map(|path| self.path_below_top(path)).collect::<Result<_, _>>()?;
        let shown_by_base = self.shown_by_last_base().unwrap_or_default();
        terms::explain(&self.gate_policy()?, &self.surroundings(), &shown_by_base, &paths)
            .map_err(AppError::refused)
    }

    /// A path as it is named from the top of the repository.
    fn path_below_top(&self, named: &str) -> Result<String, AppError> {
        let path = Path::new(named);
        let below = path.strip_prefix(&self.project.top).unwrap_or(path);
        let parts: Option<Vec<&str>> = below
            .components()
            .filter(|part| *part != Component::CurDir)
            .map(|part| if let Component::Normal(name) = part { name.to_str() } else { None })
            .collect();
        match parts {
            Some(parts) if !parts.is_empty() => Ok(parts.join("/")),
            Some(_) | None => Err(AppError::refused(format!("{named} is no path in the repository"))
                .hint("write it from the top of the repository, like src/main.rs")),
        }
    }

    /// None where no record can be read.
    fn shown_by_last_base(&self) -> Option<Vec<String>> {
        let loops = self.loops().ok()?;
        let last = loops.into_iter().max_by_key(|stored| stored.view().ok().map(|view| view.created_at))?;
        let limits = HistoryLimits { gates: Keep::All, ..HistoryLimits::NOTHING };
        let past = last.history(limits).ok()?;
        let ids = past.checks().filter_map(|of| of.result.writes.as_ref()?.terms.as_ref());
        ids.map(|id| last.text(id).ok()).collect()
    }

    /// The policy whose gate judges a loop that is created here now.
    pub fn gate_policy(&self) -> Result<Policy, AppError> {
        Ok(self.caller.policy(&self.project.top, &PolicyArguments::default())?.policy)
    }
}
