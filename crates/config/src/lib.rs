//! The policy file: layers of files and flags in, one `Policy` out, with the
//! place of every value kept. `layer` is the only part that reads files, besides
//! `detect`, which looks at a project.
//!
//! A key is one entry of `keys` or `agent_keys`: its name, its kind of value (one
//! implementation below `kind`), the field of core's `Policy` it fills, and what
//! it means. Defaults are core's.
//!
//! It reads no environment and prints nothing: the user's own file comes in as a
//! path, the names of agents as a list, and problems go out as values that render
//! themselves.

mod agent_keys;
mod detect;
mod explain;
mod extend;
mod format;
mod key;
mod keys;
mod kind;
mod layer;
mod problem;
mod read;
mod resolve;
mod revise;
mod template;
#[cfg(test)]
mod tests;

pub use detect::{
    ChosenCheck, ChosenChecks, Proposal, StackProposal, TestWay, detect, install_command, project_around,
    projects_below,
};
pub use explain::{Explanation, KeyDoc, UnknownKey};
pub use extend::{ExtendError, PolicyAddition, checks_of_text, extend_policy_text};
pub use format::{AgentNames, PolicyFormat};
pub use kind::duration::parse as parse_duration;
pub use layer::{Layer, LayerKind, PROJECT_FILE, Sources};
pub use problem::{ConfigError, ConfigProblem, Styling};
pub use read::ValueOrigin;
pub use resolve::Resolved;
pub use revise::with_edits;
pub use template::{FileAgent, project_file};
