//! The policy file: layers of files and flags in, one `Policy` out, with the
//! place of every value kept. Nothing here reads the environment; `layer` is
//! the only part that reads files, besides `detect`, which looks at a project.

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
mod template;
#[cfg(test)]
mod tests;

pub use detect::{Proposal, detect};
pub use explain::{Explanation, KeyDoc, UnknownKey, all_keys};
pub use layer::{Layer, LayerKind, PROJECT_FILE, Sources, read_layers, user_file};
pub use problem::{Colour, ConfigError, Problem};
pub use read::Origin;
pub use resolve::{Resolved, resolve};
pub use template::{PLACEHOLDER_AGENT, example_file, project_file};
