//! SIGINT, SIGTERM and SIGHUP end a drive in good order; a second one ends the
//! process at once. Wardens see their pipe close and kill what they guard.

use std::sync::mpsc::SyncSender;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};

use crate::world::Happening;

pub const INTERRUPTED_EXIT: i32 = 130;

/// Watches until dropped.
pub struct Watch {
    handle: Handle,
    thread: Option<std::thread::JoinHandle<()>>,
}

pub fn watch(to: SyncSender<Happening>) -> std::io::Result<Watch> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    let handle = signals.handle();
    let thread = std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        let mut seen = false;
        for signal in signals.forever() {
            if seen {
                signal_hook::low_level::exit(INTERRUPTED_EXIT);
            }
            seen = true;
            if to.send(Happening::Signalled { signal: name(signal).to_owned() }).is_err() {
                return;
            }
        }
    })?;
    Ok(Watch { handle, thread: Some(thread) })
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.handle.close();
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            debug_assert!(ended.is_ok(), "the signal thread does not panic");
        }
    }
}

fn name(signal: i32) -> &'static str {
    match signal {
        SIGINT => "SIGINT",
        SIGTERM => "SIGTERM",
        SIGHUP => "SIGHUP",
        _ => "a signal",
    }
}
