//! Views and events as words on a terminal, lines in a pipe, or JSON.

pub mod json;
pub mod out;
pub mod progress;
pub mod proof;
pub mod text;
pub mod view;
