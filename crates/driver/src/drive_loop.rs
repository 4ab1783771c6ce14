//! A drive of a loop on this machine, from its lock to its outcome.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::mpsc::SyncSender;

use windlass_agent::live::Live;
use windlass_core::event::Decision;
use windlass_core::id::LoopName;
use windlass_core::input::{Asked, Input, Stamped};
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

pub struct Order {
    pub name: LoopName,
    pub asked: Asked,
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
    order: Order,
    observer: &mut dyn Observer,
) -> Result<Ended, DriveLoopError> {
    let lock = LoopLock::take(&order.vault.loop_lock(&order.name), clock::wall())?;
    windlass_process::end_leftovers(&order.vault.attempts(&order.name), LEFTOVERS_PATIENCE)?;
    let commands = open_reader(&order.vault)?;
    let mut journal = Journal::open(store, &order.name)?;
    let mut texts = BTreeMap::new();
    for task in journal.state().tasks.iter() {
        let bytes = commands.blob(&task.task.text, TEXT_LIMIT)?;
        texts.insert(task.task.text.clone(), String::from_utf8_lossy(&bytes).into_owned());
    }
    let mut keeper = Keeper::open(&order.project.top, &order.name);
    keeper.catch_up(&commands, journal.state());
    // More than anybody can read between two looks; what does not fit is in the transcript.
    let (to, live) = std::sync::mpsc::sync_channel(1000);
    let workshop = workshop(&order, journal.state().policy(), texts, (keeper.directory(), to))?;
    let asked = Asked { sandbox: workshop.proven.clone(), ..order.asked.clone() };
    let mut both = Both { keeper, observer };
    let ended = {
        let mut machine = Machine::new(workshop, order.name.clone(), (commands, live), &mut both)
            .map_err(|source| DriveLoopError::File { path: "signals".to_owned(), source })?;
        Drive::new(&mut journal, &mut machine).run(asked)
    };
    drop(lock);
    match ended {
        Err(DriveError::Journal(error)) if error.is_disk_full() => pause_full(store, &order, &error),
        ended => Ok(ended?),
    }
}

/// The log could not grow; the store's reserve makes room for saying so.
fn pause_full(store: &mut Store, order: &Order, error: &JournalError) -> Result<Ended, DriveLoopError> {
    let full = |_: JournalError| DriveLoopError::DiskFull(error.to_string());
    let mut journal = Journal::open(store, &order.name).map_err(full)?;
    let stamp = Clock::new().stamp();
    let what = Input::StoreFull { detail: error.to_string() };
    let input = Stamped { at: stamp.at, elapsed: stamp.elapsed, fresh: stamp.fresh, closes: None, what };
    journal.take(&input, Vec::new()).map_err(full)?;
    Ok(Ended::Paused(Pause { why: Reason::DiskFull, detail: error.to_string() }))
}

pub(crate) fn workshop(
    order: &Order,
    policy: &Policy,
    texts: BTreeMap<windlass_core::id::BlobId, String>,
    (trail, live): (&Path, SyncSender<Live>),
) -> Result<Workshop, DriveLoopError> {
    let surroundings = Surroundings { state: order.vault.state().to_owned(), ..order.surroundings.clone() };
    let shell = surroundings.shell()?;
    let Ground { git, repository, vault } = Ground::open(&surroundings, &order.project, &order.vault)?;
    let attempts = order.vault.attempts(&order.name);
    let checkout = order.vault.checkout(&order.name);
    // Nothing of an old attempt is alive, so what is left of it is litter.
    windlass_process::remove_tree(&attempts)
        .map_err(|source| DriveLoopError::File { path: attempts.display().to_string(), source })?;
    for dir in [&attempts, &checkout] {
        std::fs::create_dir_all(dir)
            .map_err(|source| DriveLoopError::File { path: dir.display().to_string(), source })?;
    }
    let space = Space::new(&order.vault.space(&order.name), &order.vault.cache_file(&order.name, "stat"));
    let spawner = Spawner::new();
    check_records(&policy.sandbox, &surroundings)?;
    let standing = prove(&policy.sandbox, &spawner, (&surroundings, &order.vault.proofs()))?;
    let confine = Confine::new(&standing, &policy.sandbox, &surroundings);
    let redactor = surroundings.redactor(policy);
    let overlay =
        confine.may_have_tree() && spawner.probe(&checkout).overlay && !surroundings.is_weak(Defence::Layer);
    Ok(Workshop {
        dirs: order.vault.clone(),
        trail: trail.to_owned(),
        git,
        repository,
        vault,
        blobs: Shelf::new(BlobDir::new(order.vault.blobs()), redactor.clone()),
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
