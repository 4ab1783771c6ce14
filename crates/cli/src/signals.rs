//! SIGINT, SIGTERM and SIGHUP end what this process drives in good order; a
//! second one ends the process at once. Wardens see their pipe close and kill
//! what they guard. A SIGHUP that was ignored when the process started, as
//! `nohup` does it, stays ignored.

use std::sync::OnceLock;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use windlass_app::Interrupts;

use crate::exit::Exit;
use crate::failure::{Failure, OrFail};

/// From the first call on, signals are interrupts for the rest of the process.
pub fn interrupts() -> Result<Interrupts, Failure> {
    static WATCHED: OnceLock<Interrupts> = OnceLock::new();
    if let Some(interrupts) = WATCHED.get() {
        return Ok(interrupts.clone());
    }
    let hangup = (!ignores_hangup()).then_some(SIGHUP);
    let mut signals = Signals::new([SIGINT, SIGTERM].into_iter().chain(hangup)).or_error()?;
    let interrupts = WATCHED.get_or_init(Interrupts::new).clone();
    let told = interrupts.clone();
    let watch = move || {
        let mut seen = false;
        for signal in signals.forever() {
            if seen {
                signal_hook::low_level::exit(Exit::Interrupted.code().into());
            }
            seen = true;
            told.raise(name(signal));
        }
    };
    std::thread::Builder::new().name("signals".to_owned()).spawn(watch).or_error()?;
    Ok(interrupts)
}

/// What the kernel says of this process. Where it says nothing, a hangup interrupts.
fn ignores_hangup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap_or_default();
    u64::from_str_radix(ignored.trim(), 16).is_ok_and(|ignored| ignored & (1 << (SIGHUP - 1)) != 0)
}

fn name(signal: i32) -> &'static str {
    match signal {
        SIGINT => "SIGINT",
        SIGTERM => "SIGTERM",
        SIGHUP => "SIGHUP",
        _ => "a signal",
    }
}
