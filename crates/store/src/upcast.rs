//! Old record formats, upgraded on read. A loop outlives the binary that began
//! it: each format ever written has its step here, and stays.

/// What this binary writes.
pub const FORMAT: u32 = 1;

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("record format {found} is not one this windlass reads (it knows up to {FORMAT})")]
pub struct UnknownFormat {
    pub found: u32,
}

/// The body as the current format has it.
pub fn upcast(format: u32, body: String) -> Result<String, UnknownFormat> {
    match format {
        FORMAT => Ok(body),
        found => Err(UnknownFormat { found }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_current_format_passes_and_a_newer_one_is_refused() {
        assert_eq!(upcast(FORMAT, "{}".to_owned()), Ok("{}".to_owned()));
        assert_eq!(upcast(FORMAT + 1, "{}".to_owned()), Err(UnknownFormat { found: FORMAT + 1 }));
    }
}
