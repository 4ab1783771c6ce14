//! Reading a loop's events, and waiting for those that are still to come.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use windlass_core::id::Seq;
use windlass_driver::Interrupts;
use windlass_store::{Followed, decisions};

use crate::error::Classify as _;
use crate::history::LoggedEvent;
use crate::{AppError, StoredLoop};

/// How long nothing is looked at without being woken: a wake can be lost with
/// the machine's last file handle.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

/// What a follower is told.
pub enum FollowedEvent {
    Event(Box<LoggedEvent>),
    /// There is no more, for the moment.
    CaughtUp,
}

/// What a follower wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FollowNext {
    Go,
    Stop,
}

impl StoredLoop {
    /// Tells every event from the first on, and then those that come, until the
    /// follower has enough or the process is interrupted.
    pub fn follow(
        &self,
        interrupts: &Interrupts,
        tell: &mut dyn FnMut(FollowedEvent) -> FollowNext,
    ) -> Result<(), AppError> {
        let (wake, woken) = sync_channel(1);
        let of_signal = wake.clone();
        // A full channel means that the wake is on its way already.
        let _listening = interrupts.listen(move |_| _ = of_signal.try_send(()));
        let of_record = Arc::new(move || _ = wake.try_send(()));
        let _subscription = self.reader.follow(&self.name, Followed::Records, of_record).or_broken()?;
        let mut after = Seq(0);
        loop {
            for read in decisions(&*self.reader, &self.name, after) {
                let (record, decision) = read.or_broken()?;
                after = record.seq;
                for (number, event) in (record.first_event..).zip(decision.events) {
                    let logged = Box::new(LoggedEvent { number, at: decision.at, event });
                    if tell(FollowedEvent::Event(logged)) == FollowNext::Stop {
                        return Ok(());
                    }
                }
            }
            if tell(FollowedEvent::CaughtUp) == FollowNext::Stop {
                return Ok(());
            }
            match woken.recv_timeout(LOOK_AGAIN) {
                Ok(()) | Err(RecvTimeoutError::Timeout) if !interrupts.is_raised() => {}
                Ok(()) | Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return Ok(()),
            }
        }
    }
}
