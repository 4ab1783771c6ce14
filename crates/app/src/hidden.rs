//! The modes of the binary that windlass starts itself, and no operator.

use std::env::ArgsOs;
use std::ffi::OsStr;
use std::process::ExitCode;

/// Plays the mode that the first word names, if it names one. The rest of the
/// words is the mode's.
pub fn hidden_mode(first: &OsStr, rest: ArgsOs) -> Option<ExitCode> {
    match first.to_str()? {
        windlass_driver::WARDEN_ARG => Some(windlass_driver::warden_main(rest)),
        windlass_driver::SCRIPTED_ARG => Some(windlass_driver::scripted_main(rest)),
        windlass_driver::ACP_ARG => Some(windlass_driver::acp_main(rest)),
        _ => None,
    }
}
