//! What windlass does to the machine, line by line, for whoever has to understand
//! a supervisor that misbehaves. Off, unless `WINDLASS_LOG` asks for it. It holds
//! ids, names, times and exit codes; nothing that an agent or a check printed.
#![allow(clippy::disallowed_methods, reason = "the edge reads the environment")]

use std::fmt;
use std::sync::Arc;

use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::FormatTime;
use windlass_app::{clock, open_debug_log};

use crate::failure::{Failure, OrFail};
use crate::place::Locations;
use crate::show::out::complain;

const VARIABLE: &str = "WINDLASS_LOG";

pub fn start(locations: &Locations) -> Result<(), Failure> {
    let Some(asked) = std::env::var_os(VARIABLE).filter(|asked| !asked.is_empty()) else { return Ok(()) };
    let level = asked.to_str().and_then(level).ok_or_else(|| {
        Failure::usage(format!("{VARIABLE} is {asked:?}, which is no level"))
            .hint("write error, warn, info, debug or trace; or off")
    })?;
    if level == LevelFilter::OFF {
        return Ok(());
    }
    let log = open_debug_log(&locations.caller()?)?;
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_ansi(false)
        .with_thread_names(true)
        .with_timer(TimeAndProcess)
        .log_internal_errors(false)
        .with_writer(Arc::new(log.file))
        .finish();
    tracing::subscriber::set_global_default(subscriber).or_error()?;
    complain!("windlass: debug log: {}", log.path.display());
    Ok(())
}

fn level(asked: &str) -> Option<LevelFilter> {
    // A number would be a level, too.
    asked.parse().ok().filter(|_| asked.chars().all(char::is_alphabetic))
}

/// Several processes write the same file.
struct TimeAndProcess;

impl FormatTime for TimeAndProcess {
    fn format_time(&self, to: &mut Writer<'_>) -> fmt::Result {
        write!(to, "{} {}", clock::wall(), std::process::id())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_a_word() {
        assert_eq!(level("debug"), Some(LevelFilter::DEBUG));
        assert_eq!(level("off"), Some(LevelFilter::OFF));
        assert_eq!(["3", "loud", "debug,trace"].map(level), [None; 3]);
    }
}
