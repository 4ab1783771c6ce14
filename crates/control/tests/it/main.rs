//! Tests are broken for real, and real runners say what became of them.

#![allow(
    clippy::disallowed_methods,
    reason = "the runners of each language are started, and PATH is asked for them"
)]

mod form;
mod lies;
mod printed;
mod project;
mod robust;
mod runners;
mod values;
