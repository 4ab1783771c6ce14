//! Views and events as words on a terminal, lines in a pipe, or JSON.

pub mod banner;
pub mod counts;
mod held_up;
pub mod json;
pub mod list;
mod live_line;
pub mod moment;
mod next;
pub mod out;
pub mod progress;
pub mod proof;
pub mod red_lines;
#[cfg(test)]
mod sample;
pub mod story;
pub mod terminal;
pub mod text;
pub mod times;
mod told;
pub mod view;
