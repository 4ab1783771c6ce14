//! The tests a check reports, counted in the files it wrote.

use std::path::Path;

use windlass_control::FailedCase;
use windlass_core::gate::{CheckResult, GateReport, Trial};
use windlass_core::outcome::Fault;
use windlass_core::policy::CheckPolicy;
use windlass_core::tally::{Counts, Earlier, Names, Tally};
use windlass_gate::{Before, CaseParts, Counted, JunitFiles, compare_names, new_and_run};

use crate::perform::{EffectRequest, EffectResources, fault};
use crate::weaken::Defence;

/// Above what a tally of the largest files can be.
const NAMES_LIMIT: u64 = 80 << 20;

/// What a check's tests are read with; none where the policy names no files.
pub struct TestCounter {
    files: JunitFiles,
    before: Before,
}

impl TestCounter {
    /// Looks at what is there before the check runs.
    pub fn begin(check: &CheckPolicy, written: &Path) -> Result<Option<Self>, Fault> {
        if check.junit.is_empty() {
            return Ok(None);
        }
        let files = JunitFiles::new(&check.junit).map_err(|error| fault(&error))?;
        let before = files.before(written);
        Ok(Some(Self { files, before }))
    }

    /// The failed tests of what the check wrote; none where that cannot be read.
    pub fn failed(&self, written: &Path) -> Vec<FailedCase> {
        let counted = self.files.read(written, &self.before).and_then(|files| Counted::of(&files));
        let case = |CaseParts { class, name, message }| FailedCase { class, name, message };
        counted.map(|counted| counted.failed().map(case).collect()).unwrap_or_default()
    }

    /// The names of the failed tests, as a tally has them.
    pub fn failed_names(&self, written: &Path) -> Vec<String> {
        let counted = self.files.read(written, &self.before).and_then(|files| Counted::of(&files));
        counted.map(|counted| counted.failed_names()).unwrap_or_default()
    }

    /// Counts what the check wrote, and compares it with an earlier tree's tests.
    pub fn tally(
        &self,
        resources: &EffectResources,
        written: &Path,
        earlier: Option<&EarlierTests>,
    ) -> Result<Tally, Fault> {
        if resources.is_weak(Defence::Junit) {
            return unjudged(resources);
        }
        let counted = self.files.read(written, &self.before).and_then(|files| Counted::of(&files));
        let counted = match counted {
            Ok(counted) => counted,
            Err(why) => return Ok(Tally::Unreadable { why }),
        };
        let names = resources.blobs.put(counted.names().into_bytes())?;
        let earlier = earlier.map(|earlier| (earlier.tree, earlier.names.as_str()));
        Ok(Tally::Counted(counted.counts(names, earlier)))
    }
}

/// The names of an earlier tree's tests of one check.
pub struct EarlierTests {
    tree: Earlier,
    names: String,
}

pub fn earlier_tests(
    resources: &EffectResources,
    request: &EffectRequest,
    trial: Trial,
    check: &str,
) -> Result<Option<EarlierTests>, Fault> {
    let earlier = match trial {
        Trial::Landing => &request.earlier,
        // A base with tests that nobody accepted: trusted terms lack them from the start.
        Trial::TrustedTerms if request.trusts_less_than_its_base() => return Ok(None),
        Trial::TrustedTerms => &request.at_baseline,
        // What they lack or have more is judged elsewhere.
        Trial::AddedTests | Trial::Base => return Ok(None),
    };
    let Some((tree, names)) = earlier.get(check) else { return Ok(None) };
    Ok(Some(EarlierTests { tree: *tree, names: resources.blobs.text(names, NAMES_LIMIT)? }))
}

/// Every test that ran on trusted terms must have run in what lands: a setting that lands could leave some out.
pub fn compare_trials(resources: &EffectResources, report: &mut GateReport) -> Result<(), Fault> {
    let names = |result: &CheckResult| match &result.tally {
        Some(Tally::Counted(counts)) => Some(counts.names.clone()),
        Some(Tally::Unreadable { .. }) | None => None,
    };
    for result in &mut report.landing {
        let then = report.trusted.iter().rev().find(|other| other.check == result.check).and_then(names);
        let (Some(then), Some(now)) = (then, names(result)) else { continue };
        let [then, now] = [then, now].map(|names| resources.blobs.text(&names, NAMES_LIMIT));
        let compared = compare_names(Earlier::TrustedTerms, &then?, &now?);
        if let Some(Tally::Counted(counts)) = &mut result.tally
            && (compared.vanished.count > 0 || compared.newly_skipped.count > 0)
        {
            counts.compared = Some(compared);
        }
    }
    Ok(())
}

/// Of tests that failed with the added tests of a fix: those that its base does not have, and that run in what
/// will land.
pub fn caught(
    resources: &EffectResources,
    failed: &[String],
    base: &CheckResult,
    landing: &CheckResult,
) -> Result<Option<Names>, Fault> {
    let names = |result: &CheckResult| match &result.tally {
        Some(Tally::Counted(counts)) => resources.blobs.text(&counts.names, NAMES_LIMIT).map(Some),
        Some(Tally::Unreadable { .. }) | None => Ok(None),
    };
    let (Some(base), Some(landing)) = (names(base)?, names(landing)?) else { return Ok(None) };
    Ok(Some(Names::of(new_and_run(failed, &base, &landing))))
}

/// One test that passed: what a gate that does not count would believe.
fn unjudged(resources: &EffectResources) -> Result<Tally, Fault> {
    let names = resources.blobs.put(Vec::new())?;
    Ok(Tally::Counted(Counts {
        tests: 1,
        failures: 0,
        errors: 0,
        skipped: 0,
        failed: Names::default(),
        names,
        compared: None,
    }))
}
