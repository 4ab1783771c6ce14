//! The class of a turn's end. A class decides what it counts against, and nothing about the work.

use windlass_core::input::AttemptEnd;
use windlass_process::Exit;

use crate::agent::WallSource;

/// As far as an exit status tells. Adapters that know their program's own words look at those first.
///
/// A turn that ended badly after it reached a limit on its resources ended because of it.
pub fn class(exit: &Exit, wall: WallSource, trips: &[&str]) -> AttemptEnd {
    match exit {
        Exit::Code(1..) | Exit::Code(..0) | Exit::Signal(_) if !trips.is_empty() => {
            AttemptEnd::Crashed { what: trips.join("; ") }
        }
        Exit::Code(0) => AttemptEnd::Normal,
        Exit::Code(code) => AttemptEnd::Crashed { what: format!("exit code {code}") },
        Exit::Signal(signal) => match signal_name(*signal) {
            Signal::FromOutside => AttemptEnd::Killed,
            Signal::OwnFault(name) => AttemptEnd::Crashed { what: format!("ended by {name}") },
            Signal::Other => AttemptEnd::Crashed { what: format!("ended by signal {signal}") },
        },
        Exit::TimedOut => match wall {
            WallSource::Agent => AttemptEnd::TimedOut,
            WallSource::Budget => AttemptEnd::Budget,
        },
        Exit::Stalled => AttemptEnd::Stalled,
        Exit::Cancelled => AttemptEnd::Interrupted,
        Exit::NotStarted { why } => AttemptEnd::Crashed { what: why.clone() },
        Exit::WardenLost { .. } => AttemptEnd::Killed,
    }
}

enum Signal {
    /// What people, service managers and the kernel's memory killer send. Ours never arrive here: a program
    /// that windlass ended has an `Exit` that says why.
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
            (Exit::Code(0), AttemptEnd::Normal),
            (Exit::Code(7), crashed("exit code 7")),
            (Exit::Signal(9), AttemptEnd::Killed),
            (Exit::Signal(15), AttemptEnd::Killed),
            (Exit::Signal(2), AttemptEnd::Killed),
            (Exit::Signal(1), AttemptEnd::Killed),
            (Exit::Signal(11), crashed("ended by SIGSEGV")),
            (Exit::Signal(64), crashed("ended by signal 64")),
            (Exit::TimedOut, AttemptEnd::TimedOut),
            (Exit::Stalled, AttemptEnd::Stalled),
            (Exit::Cancelled, AttemptEnd::Interrupted),
            (Exit::NotStarted { why: "cannot run x".to_owned() }, crashed("cannot run x")),
            (Exit::WardenLost { why: "gone".to_owned() }, AttemptEnd::Killed),
        ] {
            assert_eq!(class(&exit, WallSource::Agent, &[]), end, "{exit:?}");
        }
        assert_eq!(class(&Exit::TimedOut, WallSource::Budget, &[]), AttemptEnd::Budget);
        assert_eq!(class(&Exit::Stalled, WallSource::Budget, &[]), AttemptEnd::Stalled);
        let tripped = |exit| class(&exit, WallSource::Agent, &["it reached its memory limit"]);
        let crashed = AttemptEnd::Crashed { what: "it reached its memory limit".to_owned() };
        assert_eq!(tripped(Exit::Signal(9)), crashed, "not a mystery");
        assert_eq!(tripped(Exit::Code(1)), crashed);
        assert_eq!(tripped(Exit::Code(0)), AttemptEnd::Normal, "it went on all the same");
    }
}
