//! Runs checks on a clean checkout, and knows which paths a change may not touch.
//!
//! [`run_command`] runs one command of a gate, a shell command under a warden, and [`excerpt`] keeps the last
//! useful lines of what it printed. [`JunitFiles`] and [`Counted`] read the tests a check reports, and
//! [`Cache`] keeps what its builds may begin with. [`PathRules`] says what a path is to the gate: product,
//! protected, or a term of the trial, [`watched`] which changed paths become findings, and [`missing_files`] which
//! files a check names that the base does not have. [`JudgedTree`] knows what may not be written while a check
//! runs, and [`TreeWatch`] sees it. [`look_at`] says whether a stop check about a file holds.
//!
//! Not here: the checkout itself, restoring paths, and reading the base (workspace); storing output (the
//! driver and store); whether a gate is green and what follows (core). A check's environment is exactly what
//! the caller gives: nothing is read from ours.

mod base_terms;
mod cache;
mod definition;
mod excerpt;
mod exempt;
mod home_settings;
mod judged_tree;
mod junit;
mod kept_setup;
mod loaded_with_tests;
mod make_terms;
mod makefile;
mod named;
mod never_product;
mod outputs_beside;
mod package_scripts;
mod paths;
mod run;
mod run_files;
mod shell;
mod steering;
mod stop;
mod tally;
mod tree_watch;
mod watched;

pub use base_terms::{BaseTerms, list_modules_command};
pub use cache::{Cache, CacheCopied, CacheCopy, copy_into};
pub use definition::definition;
pub use excerpt::{OutputTail, excerpt};
pub use exempt::ExemptPaths;
pub use home_settings::HomeSettings;
pub use judged_tree::{JudgedTree, TreeRoles, WriteJudge, WriteRecorder};
pub use junit::{Before, CaseParts, JunitFiles};
pub use kept_setup::{holds_only_packages, install_dirs, is_manifest, needed_in_home, only_install};
pub use loaded_with_tests::is_loaded_with_tests;
pub use named::{MissingFile, missing_files, named_files, required_program};
pub use never_product::is_never_product;
pub use paths::{BadGlob, Globs, GuardedBy, PathKind, PathRules, TermBy, literal, only_adds_lines};
pub use run::{CheckCommand, Checked, GateRun, run, run_check, run_command};
pub use run_files::BaseReader;
pub use steering::installed_dir;
pub use stop::{FoundPath, MAX_STOP_FILE, StopLook, look_at, stop_path};
pub use tally::{Counted, compare_names, new_and_run};
pub use tree_watch::{DirectoryKind, TouchSink, TreeWatch, WatchEnd, WatchPlace, look_through_layer};
pub use watched::watched;
