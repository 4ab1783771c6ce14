//! Knows which paths a change may not touch, and which files a check names.

mod definition;
mod named;
mod protect;
mod shell;

pub use definition::definition;
pub use named::{MissingFile, missing_files, named_files};
pub use protect::{BadGlob, Protection, npm_scripts_changed};
