//! The hash chain over a loop's records: each hash covers the one before it, so
//! that a record changed, removed or inserted behind our back breaks the chain.

use std::fmt;

use windlass_core::id::{LoopName, Seq};
use windlass_core::time::Timestamp;

/// Distinguishes these hashes from every other use of blake3.
const DOMAIN: &str = "windlass 2026 record chain v1";

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ChainHash([u8; 32]);

impl ChainHash {
    /// What the first record of a loop stands on.
    pub const GENESIS: Self = Self([0; 32]);

    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Reads what `Display` writes.
    pub fn parse(text: &str) -> Option<Self> {
        blake3::Hash::from_hex(text).ok().map(|hash| Self(*hash.as_bytes()))
    }
}

impl fmt::Display for ChainHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ChainHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ChainHash({self})")
    }
}

/// Everything one record's hash covers. Public so that an independent pass
/// over a log can recompute it.
pub struct Link<'a> {
    pub previous: ChainHash,
    pub name: &'a LoopName,
    pub seq: Seq,
    pub at: Timestamp,
    pub format: u32,
    pub events: u64,
    pub body: &'a str,
}

impl Link<'_> {
    /// Numbers are little-endian; the name carries its length, and the body
    /// comes last, so that no two links read as the same bytes.
    pub fn hash(&self) -> ChainHash {
        let mut hasher = blake3::Hasher::new_derive_key(DOMAIN);
        hasher.update(&self.previous.0);
        hasher.update(&(self.name.as_str().len() as u64).to_le_bytes());
        hasher.update(self.name.as_str().as_bytes());
        hasher.update(&self.seq.0.to_le_bytes());
        hasher.update(&self.at.0.to_le_bytes());
        hasher.update(&self.format.to_le_bytes());
        hasher.update(&self.events.to_le_bytes());
        hasher.update(self.body.as_bytes());
        ChainHash(*hasher.finalize().as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_a_link_changes_its_hash() {
        let (one, two) = (LoopName::new("one").unwrap(), LoopName::new("two").unwrap());
        let link = || Link {
            previous: ChainHash::GENESIS,
            name: &one,
            seq: Seq(1),
            at: Timestamp(5),
            format: 1,
            events: 2,
            body: "{}",
        };
        let variants = [
            link(),
            Link { previous: ChainHash([1; 32]), ..link() },
            Link { name: &two, ..link() },
            Link { seq: Seq(2), ..link() },
            Link { at: Timestamp(6), ..link() },
            Link { format: 2, ..link() },
            Link { events: 3, ..link() },
            Link { body: "{ }", ..link() },
        ];
        let hashes: std::collections::HashSet<_> = variants.iter().map(Link::hash).collect();
        assert_eq!(hashes.len(), variants.len());
    }
}
