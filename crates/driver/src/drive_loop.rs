//! A drive of a loop, from its lease to its outcome; and the loop's world on
//! this machine.

use std::path::Path;
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use windlass_core::event::Decision;
use windlass_core::id::LoopName;
use windlass_core::input::{Asked, Input};
use windlass_core::live::Live;
use windlass_core::outcome::Reason;
use windlass_core::policy::Policy;
use windlass_core::state::{Pause, State};
use windlass_core::view::View;
use windlass_process::{LeftoversError, Spawner};
use windlass_store::{LeaseError, Store, StoreError, VaultDir};
use windlass_workspace::{Checkout, Space};

use crate::clock::Clock;
use crate::confine::{RecordsExposed, SandboxUnavailable};
use crate::drive::{Drive, DriveError, Ended};
use crate::interrupt::Interrupts;
use crate::journal::{Journal, JournalError};
use crate::live_ring::LiveRing;
use crate::local_world::{LocalWorld, Observer};
use crate::perform::{BackgroundRemoval, BlobStage, EffectResources, Stop, WorkspaceState};
use crate::project::Project;
use crate::repositories::{Repositories, RepositoriesError};
use crate::safeguards::{Machine, Safeguards};
use crate::surroundings::{NoShell, Surroundings};
use crate::trail::TrailWriter;
use crate::world::{Stamp, World, Worlds};

/// How long what an old attempt left may take to die.
pub const LEFTOVERS_PATIENCE: Duration = Duration::from_secs(10);

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
    Lease(#[from] LeaseError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Drive(#[from] DriveError),
    #[error(transparent)]
    Leftovers(#[from] LeftoversError),
    #[error(transparent)]
    Shell(#[from] NoShell),
    #[error(transparent)]
    Repositories(#[from] RepositoriesError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("{path}: {source}")]
    File { path: String, source: std::io::Error },
    #[error(transparent)]
    Exposed(#[from] RecordsExposed),
    #[error(transparent)]
    Sandbox(#[from] SandboxUnavailable),
    #[error("the disk is full; everything acknowledged is saved ({0})")]
    DiskFull(String),
}

impl DriveLoopError {
    pub fn is_disk_full(&self) -> bool {
        matches!(self, Self::DiskFull(_))
    }

    pub fn is_driven_elsewhere(&self) -> bool {
        matches!(self, Self::Lease(LeaseError::Held { .. }))
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "most errors say it all")]
    pub fn hints(&self) -> Vec<String> {
        match self {
            Self::Lease(LeaseError::Held { name, .. }) => {
                vec![format!("`windlass attach {name}` shows what it does")]
            }
            Self::Exposed(exposed) => exposed.hints(),
            Self::Sandbox(unavailable) => unavailable.hints(),
            Self::DiskFull(_) => {
                vec!["free some space, then `windlass resume` and `windlass run`".to_owned()]
            }
            _ => Vec::new(),
        }
    }
}

/// Drives a loop until it rests, in the world that is opened for it.
pub fn drive(
    store: &Arc<dyn Store>,
    name: &LoopName,
    asked: Asked,
    worlds: &mut dyn Worlds,
) -> Result<Ended, DriveLoopError> {
    let _lease = store.lease(name, worlds.stamp().at)?;
    let journal = Journal::open(Arc::clone(store), name)?;
    tracing::debug!(%name, seq = journal.state().seq.0, "drive begins");
    let ended = {
        let mut world = worlds.open(store, journal.state())?;
        let asked = Asked { sandbox: world.sandbox(), ..asked };
        Drive::new(journal, world.as_mut()).run(asked)
    };
    tracing::debug!(%name, ?ended, "drive ends");
    match ended {
        Err(DriveError::Journal(error)) if error.is_disk_full() => pause_full(store, name, worlds, &error),
        ended => Ok(ended?),
    }
}

/// The log could not grow; the store's reserve makes room for saying so.
fn pause_full(
    store: &Arc<dyn Store>,
    name: &LoopName,
    worlds: &mut dyn Worlds,
    error: &JournalError,
) -> Result<Ended, DriveLoopError> {
    let full = |_: JournalError| DriveLoopError::DiskFull(error.to_string());
    let mut journal = Journal::open(Arc::clone(store), name).map_err(full)?;
    let what = Input::StoreFull { detail: error.to_string() };
    journal.take(worlds.stamp(), None, what).map_err(full)?;
    Ok(Ended::Paused(Pause { why: Reason::DiskFull, detail: error.to_string(), undone: None }))
}

/// The loop's world on this machine.
pub struct SiteWorlds<'o> {
    pub site: LoopSite,
    pub interrupts: Interrupts,
    observer: WithTrail<'o>,
    clock: Clock,
}

impl<'o> SiteWorlds<'o> {
    /// What is decided is shown to `observer` and written to the trail; what is
    /// heard is shown to it and kept for others.
    pub fn new(site: LoopSite, interrupts: Interrupts, observer: &'o mut dyn Observer) -> Self {
        let writer = TrailWriter::open(&site.project.top, &site.name);
        let observer = WithTrail { writer, ring: None, observer };
        Self { site, interrupts, observer, clock: Clock::new() }
    }
}

impl Worlds for SiteWorlds<'_> {
    fn stamp(&mut self) -> Stamp {
        self.clock.stamp()
    }

    fn is_interrupted(&self) -> bool {
        self.interrupts.is_raised()
    }

    fn open(&mut self, store: &Arc<dyn Store>, state: &State) -> Result<Box<dyn World + '_>, DriveLoopError> {
        fail::fail_point!("drive::open");
        let site = &self.site;
        windlass_process::end_leftovers(&site.vault.attempts(&site.name), LEFTOVERS_PATIENCE)?;
        self.observer.writer.catch_up(&**store, &site.name);
        self.observer.ring = Some(LiveRing::open(&site.vault, &site.name));
        // More than anybody can read between two looks; what does not fit is in the transcript.
        let (to, live) = std::sync::mpsc::sync_channel(1000);
        let outputs = DriveOutputs { trail: self.observer.writer.directory(), live: to };
        let resources = effect_resources(site, store, state.policy(), outputs)?;
        Ok(Box::new(LocalWorld::new(resources, live, &self.interrupts, &mut self.observer)?))
    }
}

/// Where the effects of a drive put what is not part of the record.
pub(crate) struct DriveOutputs<'a> {
    /// The directory of the loop's trail, which agents may read.
    pub trail: &'a Path,
    pub live: SyncSender<Live>,
}

pub(crate) fn effect_resources(
    site: &LoopSite,
    store: &Arc<dyn Store>,
    policy: &Policy,
    outputs: DriveOutputs<'_>,
) -> Result<EffectResources, DriveLoopError> {
    let surroundings = Surroundings { state: site.vault.state().to_owned(), ..site.surroundings.clone() };
    let shell = surroundings.shell()?;
    let Repositories { git, repository, vault } =
        Repositories::open(&surroundings, &site.project, &site.vault)?;
    let attempts = site.vault.attempts(&site.name);
    let checkout = site.vault.checkout(&site.name);
    // Nothing of an old attempt is alive, so what is left of it can be removed.
    windlass_process::remove_tree(&attempts)
        .map_err(|source| DriveLoopError::File { path: attempts.display().to_string(), source })?;
    for dir in [&attempts, &checkout] {
        std::fs::create_dir_all(dir)
            .map_err(|source| DriveLoopError::File { path: dir.display().to_string(), source })?;
    }
    let space = Space::new(&site.vault.space(&site.name), &site.vault.cache_file(&site.name, "stat"));
    let spawner = Spawner::new();
    let machine = Machine {
        spawner: &spawner,
        surroundings: &surroundings,
        proofs: &site.vault.proofs(),
        checkout: &checkout,
    };
    let safeguards = Safeguards::make(policy, &machine)?;
    Ok(EffectResources {
        name: site.name.clone(),
        store: Arc::clone(store),
        dirs: site.vault.clone(),
        trail: outputs.trail.to_owned(),
        git,
        repository,
        vault,
        blobs: BlobStage::new(Arc::clone(store), safeguards.redactor.clone()),
        spawner,
        surroundings,
        shell,
        safeguards,
        workspace: Mutex::new(WorkspaceState { space, touched: true }),
        checkout: Mutex::new(Checkout::new(&checkout.join("clean"))),
        rules: Mutex::new(None),
        stop: Mutex::new(Stop::default()),
        removal: BackgroundRemoval::default(),
        live: outputs.live,
    })
}

/// What is decided goes to the trail and to whoever watches, what is heard to the ring.
struct WithTrail<'o> {
    writer: TrailWriter,
    /// None until the loop's lease is held.
    ring: Option<LiveRing>,
    observer: &'o mut dyn Observer,
}

impl Observer for WithTrail<'_> {
    fn decided(&mut self, view: &View, decision: &Decision) {
        self.writer.write(view, decision);
        if let Some(ring) = &mut self.ring {
            ring.decided(view.events);
        }
        if let Some(warning) = self.writer.warning() {
            self.observer.warned(&warning);
        }
        self.observer.decided(view, decision);
    }

    fn ticked(&mut self) {
        self.writer.ticked();
        self.observer.ticked();
    }

    fn heard(&mut self, live: &Live) {
        if let Some(ring) = &mut self.ring {
            ring.keep(live);
        }
        self.observer.heard(live);
    }
}
