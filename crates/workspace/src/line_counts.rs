//! How many lines of each file a change adds and takes away.

use gix_object::bstr::BString;
use windlass_core::id::TreeId;

use crate::vault::{Vault, VaultError};

/// More of a list than anybody reads.
const LIST_BYTES: usize = 1 << 20;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineCounts {
    pub path: BString,
    /// None for a file that is no text.
    pub lines: Option<ChangedLines>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChangedLines {
    pub added: u64,
    pub removed: u64,
}

impl Vault {
    /// Of every file in which the trees differ, in the order of paths.
    pub fn line_counts(&self, old: &TreeId, new: &TreeId) -> Result<Vec<LineCounts>, VaultError> {
        let printed = self
            .git_here()
            .args(["diff", "--no-ext-diff", "--no-textconv", "--no-renames", "--numstat", "-z"])
            .args(["--end-of-options", old.as_str(), new.as_str()])
            .keep_first(LIST_BYTES)
            .run()?;
        Ok(printed.stdout.split_inclusive(|byte| *byte == 0).filter_map(parse).collect())
    }
}

/// `ADDED<tab>REMOVED<tab>PATH<nul>`, with `-` for both of a binary file. A line
/// that was cut has no end.
fn parse(line: &[u8]) -> Option<LineCounts> {
    let line = line.strip_suffix(b"\0")?;
    let mut fields = line.splitn(3, |byte| *byte == b'\t');
    let mut number = || std::str::from_utf8(fields.next()?).ok()?.parse::<u64>().ok();
    let lines = number().zip(number()).map(|(added, removed)| ChangedLines { added, removed });
    let path = line.splitn(3, |byte| *byte == b'\t').nth(2)?;
    Some(LineCounts { path: BString::from(path), lines })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_numstat_is_read() {
        let read = |line: &str| parse(line.as_bytes()).map(|of| (of.path.to_string(), of.lines));
        let lines = Some(ChangedLines { added: 3, removed: 1 });
        assert_eq!(read("3\t1\ta\tb.txt\0"), Some(("a\tb.txt".to_owned(), lines)));
        assert_eq!(read("-\t-\tpicture.png\0"), Some(("picture.png".to_owned(), None)));
        assert_eq!(read("3\t1\tcut of"), None);
        assert_eq!(read("\0"), None);
    }
}
