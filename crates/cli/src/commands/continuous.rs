//! `windlass run --continuous`: when a run has ended, the plan is read again after a while, and what is new is
//! done.

use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use windlass_app::{OwnPlanWait, clock};
use windlass_core::id::LoopName;
use windlass_core::time::{Millis, Timestamp};

use super::run::{Closing, go};
use crate::args::RunArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::place::Locations;
use crate::show::out::{complain, say};
use crate::show::{text, times};
use crate::signals;

/// How soon a process that waits sees that it was ended from elsewhere.
const LOOK: Duration = Duration::from_millis(300);

/// Ends with what the last run came to, where that wants the operator, or when it has looked often enough.
pub fn run(locations: &Locations, asked: &RunArgs) -> Result<Exit, Failure> {
    let (name, mut exit) = go(locations, asked, Closing::WithNext)?;
    let later = next_cycle(asked, name.as_str());
    let mut told = Told { news: true, ..Told::default() };
    let mut cycle = 1;
    while goes_on(exit) && asked.max_cycles.is_none_or(|most| cycle < most) {
        if told.news && !asked.json {
            let until = times::local(clock::wall().plus(asked.every));
            say!("\nthe plan is read again at {until}; Ctrl-C or `windlass cancel {name}` ends this");
        }
        match wait(locations, &name, asked.every)? {
            WaitEnd::Time => {}
            WaitEnd::Interrupted => return Ok(exit),
            WaitEnd::Ended => {
                say!("{name}: the plan is not read again, as you said");
                return Ok(exit);
            }
        }
        cycle += 1;
        exit = told.cycle(locations, &later, &name)?.unwrap_or(exit);
    }
    Ok(if told.fault.is_some() { Exit::Usage } else { exit })
}

fn goes_on(exit: Exit) -> bool {
    match exit {
        Exit::Done | Exit::Blocked => true,
        Exit::Error | Exit::Usage | Exit::Limit | Exit::Cancelled | Exit::Paused | Exit::Interrupted => false,
    }
}

/// What the screen has of earlier cycles: what did not change is not told again.
#[derive(Default)]
struct Told {
    /// The last cycle did something.
    news: bool,
    /// What is wrong with the files.
    fault: Option<String>,
    /// What was edited, and gave nothing to do.
    edits: Vec<String>,
}

impl Told {
    /// None where the files could not be used: half-written ones are whole in a later cycle.
    fn cycle(
        &mut self,
        locations: &Locations,
        asked: &RunArgs,
        name: &LoopName,
    ) -> Result<Option<Exit>, Failure> {
        let place = locations.open_project()?;
        let stands = |view: Option<windlass_core::view::View>| view.map(|view| view.updated_at);
        let before = stands(place.view(name)?);
        self.news = false;
        match go(locations, asked, Closing::WithNews) {
            Ok((_, exit)) => {
                self.fault = None;
                self.news = stands(place.view(name)?) != before;
                let edits = place.edited_since(name).unwrap_or_default();
                if !edits.is_empty() && edits != self.edits && !asked.json {
                    say!("changed, with nothing new to do: {}", text::clean(&edits.join(", ")));
                }
                self.edits = edits;
                Ok(Some(exit))
            }
            Err(failure) if failure.exit == Exit::Usage => {
                let fault = failure.to_string();
                if self.fault.as_ref() != Some(&fault) {
                    complain!("{}\n  the plan is read again in {}", fault.trim_end(), asked.every);
                }
                self.fault = Some(fault);
                Ok(None)
            }
            Err(failure) => Err(failure),
        }
    }
}

/// The same loop, whose plan and policy the files say from here on.
fn next_cycle(asked: &RunArgs, name: &str) -> RunArgs {
    RunArgs { what: Some(name.to_owned()), name: None, set: Vec::new(), base: None, ..asked.clone() }
}

enum WaitEnd {
    Time,
    Interrupted,
    /// By `windlass cancel`.
    Ended,
}

/// Others see this wait, and can end it.
fn wait(locations: &Locations, name: &LoopName, span: Millis) -> Result<WaitEnd, Failure> {
    let (tell, told) = sync_channel::<()>(1);
    let listening = signals::interrupts()?.listen(move |_| {
        // One word is enough, and whoever waited may be gone.
        let _ = tell.try_send(());
    });
    let until = clock::wall().plus(span);
    let shown = locations.open_project()?.wait_for_plan(name, until)?;
    let end = listen(&told, &shown, until);
    drop(listening);
    Ok(end)
}

fn listen(told: &Receiver<()>, shown: &OwnPlanWait, until: Timestamp) -> WaitEnd {
    loop {
        if shown.is_ended() {
            return WaitEnd::Ended;
        }
        let left = Duration::from_millis(until.since(clock::wall()).0);
        if left.is_zero() {
            return WaitEnd::Time;
        }
        if told.recv_timeout(left.min(LOOK)) != Err(RecvTimeoutError::Timeout) {
            return WaitEnd::Interrupted;
        }
    }
}
