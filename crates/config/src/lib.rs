//! The policy file: layers of files and flags in, one `Policy` out, with the
//! place of every value kept. `layer` is the only part that reads files, besides
//! `detect`, which looks at a project.
//!
//! It reads no environment and prints nothing: the directories of the user come
//! in as arguments, and problems go out as values that render themselves.

mod agent_keys;
mod checks;
mod detect;
mod duration;
mod explain;
mod field;
mod keys;
mod layer;
mod problem;
mod read;
mod resolve;
mod size;
mod tables;
mod template;
#[cfg(test)]
mod tests;

pub use detect::detect;
pub use explain::all_keys;
pub use layer::{PROJECT_FILE, Sources, read_layers};
pub use problem::Colour;
pub use resolve::{Resolved, resolve};
pub use template::{example_file, project_file};
