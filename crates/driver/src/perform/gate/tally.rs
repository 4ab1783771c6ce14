//! The tests a check reports, counted in the files it wrote.

use std::path::Path;

use windlass_core::outcome::Fault;
use windlass_core::policy::CheckPolicy;
use windlass_core::tally::{Counts, Earlier, Names, Tally};
use windlass_gate::{Before, Counted, JunitFiles};

use crate::perform::{Job, Workshop, fault};
use crate::weaken::Defence;

/// Above what a tally of the largest files can be.
const NAMES_LIMIT: u64 = 80 << 20;

/// What a check's tests are read with; none where the policy names no files.
pub struct Watch {
    files: JunitFiles,
    before: Before,
}

impl Watch {
    /// Looks at what is there before the check runs.
    pub fn begin(check: &CheckPolicy, written: &Path) -> Result<Option<Self>, Fault> {
        if check.junit.is_empty() {
            return Ok(None);
        }
        let files = JunitFiles::new(&check.junit).map_err(|error| fault(&error))?;
        let before = files.before(written);
        Ok(Some(Self { files, before }))
    }

    pub fn tally(&self, shop: &Workshop, job: &Job, seen: (&str, &Path)) -> Result<Tally, Fault> {
        let (check, written) = seen;
        if shop.is_weak(Defence::Junit) {
            return unjudged(shop);
        }
        let counted = self.files.read(written, &self.before).and_then(|files| Counted::of(&files));
        let counted = match counted {
            Ok(counted) => counted,
            Err(why) => return Ok(Tally::Unreadable { why }),
        };
        let names = shop.blobs.put(counted.names().into_bytes())?;
        let earlier = earlier(shop, job, check)?;
        let earlier = earlier.as_ref().map(|(with, text)| (*with, text.as_str()));
        Ok(Tally::Counted(counted.counts(names, earlier)))
    }
}

/// The names of an earlier tree's tests of this check.
fn earlier(shop: &Workshop, job: &Job, check: &str) -> Result<Option<(Earlier, String)>, Fault> {
    let Some((with, names)) = job.earlier.get(check) else { return Ok(None) };
    Ok(Some((*with, shop.blobs.text(names, NAMES_LIMIT)?)))
}

/// One test that passed: what a gate that does not count would believe.
fn unjudged(shop: &Workshop) -> Result<Tally, Fault> {
    let names = shop.blobs.put(Vec::new())?;
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
