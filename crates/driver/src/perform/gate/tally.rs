//! The tests a check reports, counted in the files it wrote.

use std::path::Path;

use windlass_core::outcome::Fault;
use windlass_core::policy::CheckPolicy;
use windlass_core::tally::{Counts, Earlier, Names, Tally};
use windlass_gate::{Before, Counted, JunitFiles};
use windlass_store::{Blob, Reader};

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

    pub fn tally(
        &self,
        shop: &Workshop,
        job: &Job,
        seen: (&str, &Path),
    ) -> Result<(Tally, Option<Blob>), Fault> {
        let (check, written) = seen;
        if shop.is_weak(Defence::Junit) {
            return Ok((unjudged(shop)?, None));
        }
        let counted = self.files.read(written, &self.before).and_then(|files| Counted::of(&files));
        let counted = match counted {
            Ok(counted) => counted,
            Err(why) => return Ok((Tally::Unreadable { why }, None)),
        };
        let names = shop.blobs.stage(counted.names().into_bytes()).map_err(|error| fault(&error))?;
        let earlier = earlier(shop, job, check)?;
        let earlier = earlier.as_ref().map(|(with, text)| (*with, text.as_str()));
        Ok((Tally::Counted(counted.counts(names.id().clone(), earlier)), Some(names)))
    }
}

/// The names of an earlier tree's tests of this check.
fn earlier(shop: &Workshop, job: &Job, check: &str) -> Result<Option<(Earlier, String)>, Fault> {
    let Some((with, names)) = job.earlier.get(check) else { return Ok(None) };
    let reader = Reader::open(&shop.dirs).map_err(|error| fault(&error))?;
    let Some(reader) = reader else { return Ok(None) };
    let bytes = reader.blob(names, NAMES_LIMIT).map_err(|error| fault(&error))?;
    Ok(Some((*with, String::from_utf8_lossy(&bytes).into_owned())))
}

/// One test that passed: what a gate that does not count would believe.
fn unjudged(shop: &Workshop) -> Result<Tally, Fault> {
    let names = shop.blobs.stage(Vec::new()).map_err(|error| fault(&error))?;
    Ok(Tally::Counted(Counts {
        tests: 1,
        failures: 0,
        errors: 0,
        skipped: 0,
        failed: Names::default(),
        names: names.id().clone(),
        compared: None,
    }))
}
