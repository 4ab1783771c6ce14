//! The thread that performs effects, one after the other: to start one for each
//! would take longer than some effects. It never outlives what it works for.

use std::convert::Infallible;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// How an effect that nobody wants any more is ended.
pub(crate) trait EndEffect: Send {
    /// Asks it to end soon.
    fn stop(&self);

    /// It did not: whatever it waits for is ended.
    fn kill(&self);
}

pub(crate) struct Performer<R> {
    requests: Option<SyncSender<R>>,
    thread: Option<JoinHandle<()>>,
    /// Closed when the thread ends, in whichever way.
    ended: Receiver<Infallible>,
    end: Box<dyn EndEffect>,
    /// How long an effect may take to end when it is asked, and when it is made to.
    patience: Duration,
    /// Given an effect, and not heard of since.
    busy: bool,
}

impl<R: Send + 'static> Performer<R> {
    pub fn start(
        mut perform: impl FnMut(R) + Send + 'static,
        end: Box<dyn EndEffect>,
        patience: Duration,
    ) -> std::io::Result<Self> {
        let (requests, given) = sync_channel::<R>(1);
        let (running, ended) = sync_channel(1);
        let work = move || {
            let _running = running;
            for request in given {
                perform(request);
            }
        };
        let thread = std::thread::Builder::new().name("perform".to_owned()).spawn(work)?;
        Ok(Self { requests: Some(requests), thread: Some(thread), ended, end, patience, busy: false })
    }

    /// False: its thread has ended. Only where the last effect is over.
    pub fn perform(&mut self, request: R) -> bool {
        self.busy = self.requests.as_ref().is_some_and(|requests| requests.send(request).is_ok());
        self.busy
    }
}

impl<R> Performer<R> {
    /// Its effect is over.
    pub fn closed(&mut self) {
        self.busy = false;
    }

    /// Nothing will be heard of its effect: the thread has ended.
    pub fn has_lost_its_effect(&self) -> bool {
        self.busy && self.ended.try_recv() == Err(TryRecvError::Disconnected)
    }

    fn ends_within(&self, patience: Duration) -> bool {
        self.ended.recv_timeout(patience) == Err(RecvTimeoutError::Disconnected)
    }
}

/// At least so long: on a busy machine what was killed needs a turn to see it.
const AFTER_KILL: Duration = Duration::from_secs(10);

impl<R> Drop for Performer<R> {
    /// Whoever drops it holds the loop's lease, which another may have next.
    fn drop(&mut self) {
        drop(self.requests.take());
        if self.busy {
            self.end.stop();
        }
        let mut ended = self.ends_within(self.patience);
        if !ended {
            self.end.kill();
            ended = self.ends_within(self.patience.max(AFTER_KILL));
        }
        match self.thread.take().filter(|_| ended).map(JoinHandle::join) {
            Some(Ok(())) => {}
            Some(Err(_)) => tracing::error!("the thread that performs effects panicked"),
            None => tracing::error!("an effect goes on after its drive: it could not be ended"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::mpsc::Sender;

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    /// Counts as an effect that ends when it is told so.
    struct Told {
        stop: Sender<&'static str>,
        kill: Sender<&'static str>,
    }

    impl EndEffect for Told {
        fn stop(&self) {
            self.stop.send("stop").ok();
        }

        fn kill(&self) {
            self.kill.send("kill").ok();
        }
    }

    struct Started {
        performer: Performer<()>,
        /// What the effect heard last, once it is over.
        over: Arc<AtomicBool>,
    }

    /// Its effects end when they hear this word.
    fn ending_at(word: &'static str, patience: Duration) -> Started {
        let (to, told) = std::sync::mpsc::channel();
        let over = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&over);
        let perform = move |()| {
            if told.iter().any(|heard| heard == word) {
                ended.store(true, Ordering::SeqCst);
            }
        };
        let end = Box::new(Told { stop: to.clone(), kill: to });
        Started { performer: Performer::start(perform, end, patience).unwrap(), over }
    }

    #[test]
    fn an_effect_is_over_when_its_performer_is_gone() {
        for (word, patience) in [("stop", LONG), ("kill", Duration::from_millis(10))] {
            let Started { mut performer, over } = ending_at(word, patience);
            assert!(performer.perform(()));
            drop(performer);
            assert!(over.load(Ordering::SeqCst), "{word}");
        }
    }

    #[test]
    fn a_thread_that_panicked_is_told_from_one_at_work() {
        let (go, gone) = sync_channel::<()>(1);
        let (to, _told) = std::sync::mpsc::channel();
        let perform = move |()| {
            let _ = gone.recv();
            panic!("outside of any effect");
        };
        let end = Box::new(Told { stop: to.clone(), kill: to });
        let mut performer = Performer::start(perform, end, LONG).unwrap();
        assert!(performer.perform(()));
        assert!(!performer.has_lost_its_effect());
        drop(go);
        assert!(performer.ends_within(LONG));
        assert!(performer.has_lost_its_effect());
        assert!(!performer.perform(()));
    }
}
