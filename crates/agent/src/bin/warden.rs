//! For tests of this crate only: the hidden modes of the binary.

use std::process::ExitCode;

use windlass_agent::{ACP_ARG, SCRIPTED_ARG, acp_main, scripted_main};
use windlass_process::{WARDEN_ARG, warden_main};

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    match args.next() {
        Some(word) if word == WARDEN_ARG => warden_main(args),
        Some(word) if word == SCRIPTED_ARG => scripted_main(args),
        Some(word) if word == ACP_ARG => acp_main(args),
        Some(_) | None => ExitCode::from(2),
    }
}
