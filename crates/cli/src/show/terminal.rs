//! What the screen can do, as the terminal and the environment say.
#![allow(clippy::disallowed_methods, reason = "the edge reads the environment")]

use std::io::IsTerminal;

/// Narrower ones are taken for wider: there a line would be all breaks.
const NARROWEST: usize = 20;

/// Whether a line can be drawn again in its place.
pub fn redraws() -> bool {
    std::io::stdout().is_terminal() && !is_dumb()
}

/// Whether colours are wanted there.
pub fn takes_colours(stream: &impl IsTerminal) -> bool {
    let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    stream.is_terminal() && !unwanted && !is_dumb()
}

/// How many columns a line has; none in a pipe, where nothing is cut or broken.
pub fn columns() -> Option<usize> {
    if !std::io::stdout().is_terminal() {
        return None;
    }
    let asked = std::env::var("COLUMNS").ok().and_then(|value| value.trim().parse().ok());
    let size = || rustix::termios::tcgetwinsize(std::io::stdout()).ok().map(|size| usize::from(size.ws_col));
    let columns = asked.filter(|columns| *columns > 0).or_else(size).filter(|columns| *columns > 0);
    Some(columns.unwrap_or(80).max(NARROWEST))
}

fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}
