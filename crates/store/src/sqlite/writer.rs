//! One writer thread per open store, with group commit: whatever is waiting
//! when the writer comes round goes into one transaction and shares its flush.
//! Nobody is answered before that flush has returned.
#![allow(clippy::disallowed_methods, reason = "bounds its own wait for a batch")]

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rusqlite::{Connection, TransactionBehavior};

use super::fault::classify;
use super::receipts::Receipts;
use super::reserve::Reserve;
use crate::layout::VaultDir;
use crate::log::StoreError;

const QUEUE: usize = 256;
const BATCH: usize = 128;
/// Moving the log's pages into the database costs flushes, so it is done when
/// nobody has written for a while, or at the latest when recovery after a crash
/// would have to read this many pages.
const QUIET: Duration = Duration::from_millis(300);
const CHECKPOINT_QUIET_PAGES: i64 = 512;
const CHECKPOINT_LATEST_PAGES: i64 = 4096;

pub(crate) struct Writer {
    queue: Option<SyncSender<Box<dyn Work>>>,
    thread: Option<JoinHandle<()>>,
    path: PathBuf,
}

impl Writer {
    pub(crate) fn start(mut desk: WriterThread, path: PathBuf) -> std::io::Result<Self> {
        let (queue, inbox) = sync_channel(QUEUE);
        let thread =
            std::thread::Builder::new().name("store-writer".to_owned()).spawn(move || desk.serve(&inbox))?;
        Ok(Self { queue: Some(queue), thread: Some(thread), path })
    }

    /// Has `perform` done inside a transaction; returns once that is durable.
    /// An inner error takes back what `perform` did and nothing else. It may be
    /// called again if the transaction it was part of could not be committed.
    pub(crate) fn transact<T, E, F>(&self, perform: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
        F: FnMut(&Connection) -> rusqlite::Result<Result<T, E>> + Send + 'static,
    {
        let stopped = || E::from(StoreError::Stopped { path: self.path.clone() });
        let (reply, answer) = sync_channel(1);
        let queue = self.queue.as_ref().ok_or_else(stopped)?;
        queue.send(Box::new(Request { perform, outcome: None, reply })).map_err(|_| stopped())?;
        answer.recv().unwrap_or_else(|_| Err(stopped()))
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            // A writer that panicked has already failed every request.
            let _ = thread.join();
        }
    }
}

trait Work: Send {
    fn perform(&mut self, conn: &Connection) -> rusqlite::Result<Kept>;
    fn fail(&mut self, fault: StoreError);
    /// Tells the asker what came of it.
    fn answer(self: Box<Self>);
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kept {
    Yes,
    TakenBack,
}

struct Request<T, E, F> {
    perform: F,
    outcome: Option<Result<T, E>>,
    reply: SyncSender<Result<T, E>>,
}

impl<T, E, F> Work for Request<T, E, F>
where
    T: Send,
    E: From<StoreError> + Send,
    F: FnMut(&Connection) -> rusqlite::Result<Result<T, E>> + Send,
{
    fn perform(&mut self, conn: &Connection) -> rusqlite::Result<Kept> {
        let outcome = (self.perform)(conn)?;
        let kept = if outcome.is_ok() { Kept::Yes } else { Kept::TakenBack };
        self.outcome = Some(outcome);
        Ok(kept)
    }

    fn fail(&mut self, fault: StoreError) {
        self.outcome = Some(Err(fault.into()));
    }

    fn answer(self: Box<Self>) {
        if let Some(outcome) = self.outcome {
            // An asker that no longer listens has lost nothing but the answer.
            let _ = self.reply.send(outcome);
        }
    }
}

/// The thread's side.
pub(crate) struct WriterThread {
    conn: Connection,
    path: PathBuf,
    reserve: Reserve,
    receipts: Arc<Receipts>,
    commits: u64,
    pace: Pace,
}

/// How many asked together lately, and how long a flush took.
#[derive(Default)]
struct Pace {
    last: usize,
    before: usize,
    flush: Duration,
}

impl Pace {
    fn note(&mut self, batch: usize, flush: Duration) {
        (self.before, self.last, self.flush) = (self.last, batch, flush);
    }

    fn recent_batch(&self) -> usize {
        self.last.max(self.before)
    }

    fn max_wait(&self) -> Duration {
        (self.flush / 4).min(Duration::from_millis(1))
    }
}

impl WriterThread {
    pub(crate) fn new(conn: Connection, vault: &VaultDir, receipts: Arc<Receipts>) -> Self {
        let reserve = Reserve::keep(vault.reserve());
        Self { conn, path: vault.db(), reserve, receipts, commits: 0, pace: Pace::default() }
    }

    fn serve(&mut self, inbox: &Receiver<Box<dyn Work>>) {
        let mut tidy = true;
        loop {
            let first = if tidy {
                inbox.recv().map_err(|_| RecvTimeoutError::Disconnected)
            } else {
                inbox.recv_timeout(QUIET)
            };
            match first {
                Ok(first) => {
                    let mut batch = self.gather(first, inbox);
                    let began = Instant::now();
                    self.commit(&mut batch);
                    self.pace.note(batch.len(), began.elapsed());
                    batch.into_iter().for_each(Work::answer);
                    if self.wal_pages() >= CHECKPOINT_LATEST_PAGES {
                        self.checkpoint("PASSIVE");
                    }
                    tidy = false;
                }
                Err(RecvTimeoutError::Timeout) => {
                    self.tidy_up();
                    tidy = true;
                }
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        self.close();
    }

    /// What waits goes together. Where several loops write at once, those just
    /// answered are about to ask again: a wait far shorter than a flush saves
    /// them one. A single loop never waits.
    fn gather(&self, first: Box<dyn Work>, inbox: &Receiver<Box<dyn Work>>) -> Vec<Box<dyn Work>> {
        let mut batch = vec![first];
        let deadline = Instant::now() + self.pace.max_wait();
        while batch.len() < BATCH {
            match inbox.try_recv() {
                Ok(work) => batch.push(work),
                Err(_) if batch.len() >= self.pace.recent_batch() => break,
                Err(_) => match inbox.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                    Ok(work) => batch.push(work),
                    Err(_) => break,
                },
            }
        }
        batch
    }

    /// Puts the whole batch into one transaction. If that cannot be committed,
    /// each request gets its own, so that one too large for the disk does not
    /// fail the others.
    fn commit(&mut self, batch: &mut [Box<dyn Work>]) {
        let Err(error) = transact(&mut self.conn, batch) else {
            self.commits += 1;
            return;
        };
        let fault = classify(&self.conn, &self.path, &error);
        if batch.len() > 1 && !matches!(fault, StoreError::Busy { .. }) {
            for work in batch {
                self.commit(std::slice::from_mut(work));
            }
            return;
        }
        if matches!(fault, StoreError::Full { .. }) {
            self.reserve.release();
        }
        for work in batch {
            work.fail(fault.clone());
        }
    }

    fn tidy_up(&mut self) {
        self.reserve.refill();
        if self.wal_pages() >= CHECKPOINT_QUIET_PAGES {
            self.checkpoint("PASSIVE");
        }
    }

    /// Whatever was written lies in the database itself, and not in a log that
    /// may be lost or damaged by itself; an empty log also makes the next
    /// reader's start cheap. But not at the price of waiting for another process.
    fn close(&mut self) {
        if self.commits == 0 {
            return;
        }
        if self.conn.busy_timeout(Duration::ZERO).is_ok() {
            self.checkpoint("TRUNCATE");
        }
        self.receipts.flush();
    }

    /// Pages in the write-ahead log, moved to the database or not.
    fn wal_pages(&self) -> i64 {
        let pages = |row: &rusqlite::Row<'_>| row.get(1);
        self.conn.query_row("PRAGMA wal_checkpoint(NOOP)", [], pages).unwrap_or(0)
    }

    /// A checkpoint that fails changes nothing and is tried again later.
    fn checkpoint(&self, how: &str) {
        let _ = self.conn.query_row(&format!("PRAGMA wal_checkpoint({how})"), [], |_| Ok(()));
    }
}

fn transact(conn: &mut Connection, batch: &mut [Box<dyn Work>]) -> rusqlite::Result<()> {
    let transaction = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for work in batch {
        transaction.prepare_cached("SAVEPOINT request")?.execute([])?;
        if work.perform(&transaction)? == Kept::TakenBack {
            transaction.prepare_cached("ROLLBACK TO request")?.execute([])?;
        }
        transaction.prepare_cached("RELEASE request")?.execute([])?;
    }
    crash_point("store::before_commit");
    transaction.commit()?;
    crash_point("store::after_commit");
    Ok(())
}

/// With the feature `failpoints`, `FAILPOINTS="store::before_commit=2*off->return"`
/// ends the whole process at the third commit, as a crash would.
fn crash_point(name: &str) {
    let _ = name;
    fail::fail_point!(name, |_| -> () { std::process::abort() });
}
