//! A drive of a loop on this machine, from its lock to its outcome.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::mpsc::SyncSender;

use windlass_core::event::Decision;
use windlass_core::id::LoopName;
use windlass_core::input::{Asked, Input, Stamped};
use windlass_core::live::Live;
use windlass_core::outcome::Reason;
use windlass_core::policy::Policy;
use windlass_core::state::{Pause, State};
use windlass_process::{LeftoversError, Spawner};
use windlass_store::blob::BlobDir;
use windlass_store::{BlobError, Fault, LockError, LoopLock, OpenError, Reader, Store, VaultDir};
use windlass_workspace::{Checkout, Space};

use crate::clock::{self, Clock};
use crate::confine::{Confine, Exposed, Unproven, check_records, prove};
use crate::drive::{Drive, DriveError, Ended};
use crate::ground::{Ground, GroundError};
use crate::journal::{Journal, JournalError};
use crate::machine::{Machine, Observer};
use crate::operate::LEFTOVERS_PATIENCE;
use crate::perform::{Litter, Shelf, SpaceDesk, Stop, Workshop};
use crate::project::Project;
use crate::surroundings::{NoShell, Surroundings};
use crate::trail::Keeper;
use crate::weaken::Defence;

/// The largest task text that is read back.
const TEXT_LIMIT: u64 = 2 << 20;

/// A loop, and where everything of it is.
#[derive(Clone)]
pub struct LoopSite {
    pub name: LoopName,
    pub project: Project,
    pub vault: VaultDir,
    pub surroundings: Surroundings,
}

#[derive(Debug, thiserror::Error)]
pub enum DriveLoopError {
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Drive(#[from] DriveError),
    #[error(transparent)]
    Leftovers(#[from] LeftoversError),
    #[error(transparent)]
    Shell(#[from] NoShell),
    #[error(transparent)]
    Ground(#[from] GroundError),
    #[error(transparent)]
    Store(#[from] Fault),
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Blob(#[from] BlobError),
    #[error("{path}: {source}")]
    File { path: String, source: std::io::Error },
    #[error(transparent)]
    Exposed(#[from] Exposed),
    #[error(transparent)]
    Sandbox(#[from] Unproven),
    #[error("the disk is full; everything acknowledged is saved ({0})")]
    DiskFull(String),
}

impl DriveLoopError {
    pub fn is_disk_full(&self) -> bool {
        matches!(self, Self::DiskFull(_))
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "most errors say it all")]
    pub fn hints(&self) -> Vec<String> {
        match self {
            Self::Lock(LockError::Held { .. }) => {
                vec!["another process drives this loop; `windlass status` shows it".to_owned()]
            }
            Self::Exposed(exposed) => exposed.hints(),
            Self::Sandbox(unproven) => unproven.hints(),
            Self::DiskFull(_) => {
                vec!["free some space, then `windlass resume` and `windlass run`".to_owned()]
            }
            _ => Vec::new(),
        }
    }
}

pub fn drive_loop(
    store: &mut Store,
    site: &LoopSite,
    asked: Asked,
    observer: &mut dyn Observer,
) -> Result<Ended, DriveLoopError> {
    let lock = LoopLock::take(&site.vault.loop_lock(&site.name), clock::wall())?;
    windlass_process::end_leftovers(&site.vault.attempts(&site.name), LEFTOVERS_PATIENCE)?;
    let commands = open_reader(&site.vault)?;
    let mut journal = Journal::open(store, &site.name)?;
    let mut texts = BTreeMap::new();
    for task in journal.state().tasks.iter() {
        let bytes = commands.blob(&task.task.text, TEXT_LIMIT)?;
        texts.insert(task.task.text.clone(), String::from_utf8_lossy(&bytes).into_owned());
    }
    let mut keeper = Keeper::open(&site.project.top, &site.name);
    keeper.catch_up(&commands, journal.state());
    // More than anybody can read between two looks; what does not fit is in the transcript.
    let (to, live) = std::sync::mpsc::sync_channel(1000);
    let workshop = workshop(site, journal.state().policy(), texts, (keeper.directory(), to))?;
    let asked = Asked { sandbox: workshop.proven.clone(), ..asked };
    let mut both = Both { keeper, observer };
    let ended = {
        let mut machine = Machine::new(workshop, site.name.clone(), (commands, live), &mut both)
            .map_err(|source| DriveLoopError::File { path: "signals".to_owned(), source })?;
        Drive::new(&mut journal, &mut machine).run(asked)
    };
    drop(lock);
    match ended {
        Err(DriveError::Journal(error)) if error.is_disk_full() => pause_full(store, site, &error),
        ended => Ok(ended?),
    }
}

/// The log could not grow; the store's reserve makes room for saying so.
fn pause_full(store: &mut Store, site: &LoopSite, error: &JournalError) -> Result<Ended, DriveLoopError> {
    let full = |_: JournalError| DriveLoopError::DiskFull(error.to_string());
    let mut journal = Journal::open(store, &site.name).map_err(full)?;
    let stamp = Clock::new().stamp();
    let what = Input::StoreFull { detail: error.to_string() };
    let input = Stamped { at: stamp.at, elapsed: stamp.elapsed, fresh: stamp.fresh, closes: None, what };
    journal.take(&input, Vec::new()).map_err(full)?;
    Ok(Ended::Paused(Pause { why: Reason::DiskFull, detail: error.to_string() }))
}

pub(crate) fn workshop(
    site: &LoopSite,
    policy: &Policy,
    texts: BTreeMap<windlass_core::id::BlobId, String>,
    (trail, live): (&Path, SyncSender<Live>),
) -> Result<Workshop, DriveLoopError> {
    let surroundings = Surroundings { state: site.vault.state().to_owned(), ..site.surroundings.clone() };
    let shell = surroundings.shell()?;
    let Ground { git, repository, vault } = Ground::open(&surroundings, &site.project, &site.vault)?;
    let attempts = site.vault.attempts(&site.name);
    let checkout = site.vault.checkout(&site.name);
    // Nothing of an old attempt is alive, so what is left of it is litter.
    windlass_process::remove_tree(&attempts)
        .map_err(|source| DriveLoopError::File { path: attempts.display().to_string(), source })?;
    for dir in [&attempts, &checkout] {
        std::fs::create_dir_all(dir)
            .map_err(|source| DriveLoopError::File { path: dir.display().to_string(), source })?;
    }
    let space = Space::new(&site.vault.space(&site.name), &site.vault.cache_file(&site.name, "stat"));
    let spawner = Spawner::new();
    check_records(&policy.sandbox, &surroundings)?;
    let standing = prove(&policy.sandbox, &spawner, (&surroundings, &site.vault.proofs()))?;
    let confine = Confine::new(&standing, &policy.sandbox, &surroundings);
    let redactor = surroundings.redactor(policy);
    let overlay =
        confine.may_have_tree() && spawner.probe(&checkout).overlay && !surroundings.is_weak(Defence::Layer);
    Ok(Workshop {
        dirs: site.vault.clone(),
        trail: trail.to_owned(),
        git,
        repository,
        vault,
        blobs: Shelf::new(BlobDir::new(site.vault.blobs()), redactor.clone()),
        redactor,
        spawner,
        overlay,
        surroundings,
        shell,
        confine,
        proven: standing.proven,
        texts,
        space: Mutex::new(SpaceDesk { space, touched: true }),
        checkout: Mutex::new(Checkout::new(&checkout.join("clean"))),
        protection: Mutex::new(None),
        stop: Mutex::new(Stop::default()),
        litter: Litter::default(),
        live,
    })
}

/// Ends a cancelled run that nobody drives. The caller holds the loop's lock,
/// and nothing of an old attempt is alive.
pub(crate) fn wind_down(store: &mut Store, site: &LoopSite) -> Result<(), DriveLoopError> {
    let commands = open_reader(&site.vault)?;
    let mut journal = Journal::open(store, &site.name)?;
    let keeper = Keeper::open(&site.project.top, &site.name);
    let (to, live) = std::sync::mpsc::sync_channel(1);
    let workshop = workshop(site, journal.state().policy(), BTreeMap::new(), (keeper.directory(), to))?;
    let mut quiet = Quiet;
    let mut machine = Machine::new(workshop, site.name.clone(), (commands, live), &mut quiet)
        .map_err(|source| DriveLoopError::File { path: "signals".to_owned(), source })?;
    Ok(Drive::new(&mut journal, &mut machine).wind_down()?)
}

struct Quiet;

impl Observer for Quiet {
    fn decided(&mut self, _: &State, _: &Decision) {}
}

fn open_reader(vault: &VaultDir) -> Result<Reader, DriveLoopError> {
    Reader::open(vault)?.ok_or_else(|| DriveLoopError::File {
        path: vault.db().display().to_string(),
        source: std::io::ErrorKind::NotFound.into(),
    })
}

/// What is decided goes to the trail and to whoever watches.
struct Both<'o> {
    keeper: Keeper,
    observer: &'o mut dyn Observer,
}

impl Observer for Both<'_> {
    fn decided(&mut self, state: &State, decision: &Decision) {
        self.keeper.write(state, decision);
        if let Some(warning) = self.keeper.warning() {
            self.observer.warned(&warning);
        }
        self.observer.decided(state, decision);
    }

    fn ticked(&mut self) {
        self.keeper.ticked();
        self.observer.ticked();
    }

    fn heard(&mut self, live: &Live) {
        self.observer.heard(live);
    }
}
