//! Following a loop that another process drives: its record and what is heard
//! of it, in the order in which its own screen shows them.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

use windlass_core::event::{Decision, Event, IterationEvent, RunEvent};
use windlass_core::id::{LoopName, Seq};
use windlass_core::state::State;
use windlass_core::view::{Owner, View};
use windlass_driver::Interrupts;
use windlass_driver::live_ring::{HeardLine, LiveFollower};
use windlass_driver::local_world::Observer;
use windlass_store::{Followed, ReadStore, decisions};

use crate::error::Classify as _;
use crate::{AppError, OpenProject};

/// How often it is looked for what was heard.
const TICK: Duration = Duration::from_millis(150);

/// Why a loop is followed no further.
#[derive(Debug)]
pub enum FollowEnd {
    /// Nobody drives it, and this is how it stands.
    NotDriven(Box<View>),
    /// The caller was asked to stop; the loop goes on.
    Interrupted,
}

impl OpenProject {
    /// Shows what happens in a loop until nobody drives it any more, beginning
    /// with its open iteration.
    pub fn attach(
        &self,
        name: &LoopName,
        observer: &mut dyn Observer,
        interrupts: &Interrupts,
    ) -> Result<FollowEnd, AppError> {
        let reader = self.find(Some(name.as_str()))?.reader;
        let (wake, woken) = sync_channel(1);
        let wake = Arc::new(move || {
            let _ = wake.try_send(());
        });
        let _following = reader.follow(name, Followed::Records, wake).or_broken()?;
        let start = shown_from(&*reader, name)?;
        let live = LiveFollower::of(&self.vault, name);
        let mut follow =
            Follow { reader, name, state: None, seen: Seq(0), start, live, heard: VecDeque::new() };
        follow.until_rest(observer, interrupts, &woken)
    }
}

/// The record in which the open iteration, or the run, began.
fn shown_from(reader: &dyn ReadStore, name: &LoopName) -> Result<Seq, AppError> {
    let mut start = Seq(0);
    for read in decisions(reader, name, Seq(0)) {
        let (record, decision) = read.or_broken()?;
        if decision.events.iter().any(begins) {
            start = record.seq;
        }
    }
    Ok(start)
}

fn begins(event: &Event) -> bool {
    matches!(event, Event::Iteration(IterationEvent::Opened { .. }) | Event::Run(RunEvent::Started { .. }))
}

struct Follow<'a> {
    reader: Arc<dyn ReadStore>,
    name: &'a LoopName,
    state: Option<State>,
    seen: Seq,
    /// Nothing before this record is shown.
    start: Seq,
    live: LiveFollower,
    /// Heard, and not shown yet.
    heard: VecDeque<HeardLine>,
}

impl Follow<'_> {
    fn until_rest(
        &mut self,
        observer: &mut dyn Observer,
        interrupts: &Interrupts,
        woken: &Receiver<()>,
    ) -> Result<FollowEnd, AppError> {
        loop {
            // Asked first: what a driver stored before it left is read after.
            let driven = self.reader.holder(self.name).or_broken()?.is_held();
            self.catch_up(observer)?;
            if !driven {
                let state = self.state.as_ref().ok_or_else(|| AppError::broken("the loop has no record"))?;
                return Ok(FollowEnd::NotDriven(Box::new(View::of(state).seen_with(Owner::Gone))));
            }
            if interrupts.is_raised() {
                return Ok(FollowEnd::Interrupted);
            }
            observer.ticked();
            let _ = woken.recv_timeout(TICK);
        }
    }

    fn catch_up(&mut self, observer: &mut dyn Observer) -> Result<(), AppError> {
        // Before the records: whatever it was heard after is in the store.
        self.heard.extend(self.live.lines());
        let reader = Arc::clone(&self.reader);
        for read in decisions(&*reader, self.name, self.seen) {
            let (record, decision) = read.or_broken()?;
            self.show_heard(observer);
            self.seen = record.seq;
            match &mut self.state {
                Some(state) => state.apply(record.seq, &decision),
                None => self.state = Some(State::created_by(&decision).or_broken()?),
            }
            self.show(observer, &decision);
        }
        self.show_heard(observer);
        Ok(())
    }

    fn show(&self, observer: &mut dyn Observer, decision: &Decision) {
        if let Some(state) = self.state.as_ref().filter(|_| self.seen >= self.start) {
            observer.decided(&View::of(state), decision);
        }
    }

    fn show_heard(&mut self, observer: &mut dyn Observer) {
        let events = self.state.as_ref().map_or(0, |state| state.events);
        while let Some(line) = self.heard.pop_front_if(|line| line.after <= events) {
            if self.seen >= self.start {
                observer.heard(&line.live);
            }
        }
    }
}
