//! Runs checks on a clean checkout, and knows which paths a change may not touch.
//!
//! [`run`] runs the checks of a gate one after the other, each a shell command under a warden, and
//! [`excerpt`] keeps the last useful lines of what they printed. [`Protection`] says which paths are restored
//! from the base before that, and [`missing_files`] which files a check names that the base does not have.
//!
//! Not here: the checkout itself, restoring paths, and reading the base (workspace); storing output (the
//! driver and store); whether a gate is green and what follows (core). A check's environment is exactly what
//! the caller gives: nothing is read from ours.

mod definition;
mod excerpt;
mod named;
mod protect;
mod run;
mod shell;

pub use definition::definition;
pub use excerpt::{Stream, excerpt};
pub use named::{MissingFile, missing_files, named_files};
pub use protect::{BadGlob, Protection, npm_scripts_changed};
pub use run::{Checked, GateRun, run, run_check};
