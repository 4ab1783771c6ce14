//! Nothing is left of what the user who started us was allowed beyond being that user.

use rustix::thread::{
    CapabilitySet, CapabilitySets, clear_ambient_capability_set, set_capabilities, set_no_new_privs,
};

use crate::sys;

/// No set-uid program, file capability or uid 0 gives anything back after this.
pub fn give_up() -> Result<(), String> {
    no_new()?;
    let empty = CapabilitySet::empty();
    let drop = || {
        clear_ambient_capability_set()?;
        sys::drop_bounding_set()?;
        let none = CapabilitySets { effective: empty, permitted: empty, inheritable: empty };
        std::io::Result::Ok(set_capabilities(None, none)?)
    };
    drop().map_err(|error| format!("cannot drop the capabilities: {error}"))
}

pub fn no_new() -> Result<(), String> {
    set_no_new_privs(true).map_err(|error| format!("cannot give up new privileges: {error}"))
}
