//! The class of a turn's end. A class decides what it counts against, and nothing about the work.

use windlass_core::input::AttemptEnd;
use windlass_process::ProgramExit;

use crate::agent::WallSource;

/// As far as an exit status tells. Adapters that know their program's own words look at those first.
///
/// A turn that ended badly after it reached a limit on its resources ended because of it.
pub fn class(exit: &ProgramExit, wall: WallSource, trips: &[&str]) -> AttemptEnd {
    match exit {
        ProgramExit::Code(1..) | ProgramExit::Code(..0) | ProgramExit::Signal(_) if !trips.is_empty() => {
            AttemptEnd::Crashed { what: trips.join("; ") }
        }
        ProgramExit::Code(0) => AttemptEnd::Normal,
        ProgramExit::Code(code) => AttemptEnd::Crashed { what: format!("exit code {code}") },
        ProgramExit::Signal(signal) => match signal_name(*signal) {
            Signal::FromOutside => AttemptEnd::Killed,
            Signal::OwnFault(name) => AttemptEnd::Crashed { what: format!("ended by {name}") },
            Signal::Other => AttemptEnd::Crashed { what: format!("ended by signal {signal}") },
        },
        ProgramExit::TimedOut => match wall {
            WallSource::Agent => AttemptEnd::TimedOut,
            WallSource::Budget => AttemptEnd::Budget,
        },
        ProgramExit::Stalled => AttemptEnd::Stalled,
        ProgramExit::Cancelled => AttemptEnd::Interrupted,
        ProgramExit::NotStarted { why } => AttemptEnd::Crashed { what: why.clone() },
        ProgramExit::WardenLost { .. } => AttemptEnd::Killed,
    }
}

/// What a program without an adapter of its own says by its exit code: those of
/// sysexits.h for a failure that passes, and for one that only its operator ends.
pub fn told_by_code(exit: &ProgramExit) -> Option<AttemptEnd> {
    const TEMPORARY_FAILURE: i32 = 75;
    const NO_PERMISSION: i32 = 77;
    match exit {
        ProgramExit::Code(TEMPORARY_FAILURE) => Some(AttemptEnd::RateLimited { retry_at: None }),
        ProgramExit::Code(NO_PERMISSION) => {
            Some(AttemptEnd::Auth { what: "it exited with code 77".to_owned() })
        }
        ProgramExit::Code(_)
        | ProgramExit::Signal(_)
        | ProgramExit::TimedOut
        | ProgramExit::Stalled
        | ProgramExit::Cancelled
        | ProgramExit::NotStarted { .. }
        | ProgramExit::WardenLost { .. } => None,
    }
}

enum Signal {
    /// What people, service managers and the kernel's memory killer send. Ours never arrive here: a program
    /// that windlass ended has a `ProgramExit` that says why.
    FromOutside,
    OwnFault(&'static str),
    Other,
}

fn signal_name(signal: i32) -> Signal {
    match signal {
        1 | 2 | 9 | 15 => Signal::FromOutside,
        4 => Signal::OwnFault("SIGILL"),
        6 => Signal::OwnFault("SIGABRT"),
        8 => Signal::OwnFault("SIGFPE"),
        11 => Signal::OwnFault("SIGSEGV"),
        13 => Signal::OwnFault("SIGPIPE"),
        _ => Signal::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_exit_has_one_class() {
        let crashed = |what: &str| AttemptEnd::Crashed { what: what.to_owned() };
        for (exit, end) in [
            (ProgramExit::Code(0), AttemptEnd::Normal),
            (ProgramExit::Code(7), crashed("exit code 7")),
            (ProgramExit::Signal(9), AttemptEnd::Killed),
            (ProgramExit::Signal(15), AttemptEnd::Killed),
            (ProgramExit::Signal(2), AttemptEnd::Killed),
            (ProgramExit::Signal(1), AttemptEnd::Killed),
            (ProgramExit::Signal(11), crashed("ended by SIGSEGV")),
            (ProgramExit::Signal(64), crashed("ended by signal 64")),
            (ProgramExit::TimedOut, AttemptEnd::TimedOut),
            (ProgramExit::Stalled, AttemptEnd::Stalled),
            (ProgramExit::Cancelled, AttemptEnd::Interrupted),
            (ProgramExit::NotStarted { why: "cannot run x".to_owned() }, crashed("cannot run x")),
            (ProgramExit::WardenLost { why: "gone".to_owned() }, AttemptEnd::Killed),
        ] {
            assert_eq!(class(&exit, WallSource::Agent, &[]), end, "{exit:?}");
        }
        assert_eq!(class(&ProgramExit::TimedOut, WallSource::Budget, &[]), AttemptEnd::Budget);
        assert_eq!(class(&ProgramExit::Stalled, WallSource::Budget, &[]), AttemptEnd::Stalled);
        let tripped = |exit| class(&exit, WallSource::Agent, &["it reached its memory limit"]);
        let crashed = AttemptEnd::Crashed { what: "it reached its memory limit".to_owned() };
        assert_eq!(tripped(ProgramExit::Signal(9)), crashed, "not a mystery");
        assert_eq!(tripped(ProgramExit::Code(1)), crashed);
        assert_eq!(tripped(ProgramExit::Code(0)), AttemptEnd::Normal, "it went on all the same");
    }
}
