//! `windlass run --continuous`: when a run has ended, the plan is read again after a while, and what is new is
//! done.

use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use windlass_app::clock;
use windlass_core::time::Millis;

use super::run::{Closing, go};
use crate::args::RunArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::place::Locations;
use crate::show::out::say;
use crate::show::times;
use crate::signals;

/// Ends with what the last run came to, where that wants the operator, or when it has looked often enough.
pub fn run(locations: &Locations, asked: &RunArgs) -> Result<Exit, Failure> {
    let mut asked = asked.clone();
    let mut cycle = 1;
    loop {
        let (name, exit) = go(locations, &asked, Closing::WithNext)?;
        let goes_on = match exit {
            Exit::Done | Exit::Blocked => true,
            Exit::Error | Exit::Usage | Exit::Limit | Exit::Cancelled | Exit::Paused | Exit::Interrupted => {
                false
            }
        };
        if !goes_on || asked.max_cycles.is_some_and(|most| cycle >= most) {
            return Ok(exit);
        }
        if !asked.json {
            let until = times::local(clock::wall().plus(asked.every));
            say!("\nthe plan is read again at {until}; Ctrl-C ends this");
        }
        if is_interrupted_within(asked.every)? {
            return Ok(exit);
        }
        cycle += 1;
        asked = next_cycle(&asked, name.as_str());
    }
}

/// The same loop, whose plan and policy the files say from here on.
fn next_cycle(asked: &RunArgs, name: &str) -> RunArgs {
    RunArgs { what: Some(name.to_owned()), name: None, set: Vec::new(), base: None, ..asked.clone() }
}

fn is_interrupted_within(span: Millis) -> Result<bool, Failure> {
    let (tell, told) = sync_channel::<()>(1);
    let listening = signals::interrupts()?.listen(move |_| {
        // One word is enough, and whoever waited may be gone.
        let _ = tell.try_send(());
    });
    let heard = told.recv_timeout(Duration::from_millis(span.0));
    drop(listening);
    Ok(heard != Err(RecvTimeoutError::Timeout))
}
