//! How far the log of each loop was acknowledged, in a file of its own beside
//! the database: SQLite takes a write-ahead log that was cut, damaged or taken
//! away for one that ends earlier, and would show an older state as the newest.
//!
//! A receipt is written after the flush of the commit it is about, and is not
//! flushed itself before the store closes. After a crash it may be older than
//! the log, or lost, and then proves less; it is never newer. For the same
//! reason nobody writes one for records that somebody else committed: what is
//! visible after a crash need not be on the disk yet.
//!
//! One slot of a fixed size for each loop, at the place its row's id gives, so
//! that processes write beside one another and none has to read before.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use windlass_core::id::{LoopName, Seq};

use crate::chain::ChainHash;

/// A divisor of every sector size, so that no slot is written by halves.
const SLOT: usize = 256;
/// Ids come one by one; a higher one is not from us.
const SLOTS_MAX: u64 = 1 << 20;
const CHECK_DIGITS: usize = 16;

/// A record that was acknowledged, and so can only be missing by damage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Receipt {
    pub loop_id: i64,
    pub name: LoopName,
    pub seq: Seq,
    pub hash: ChainHash,
}

/// The file, open for writing.
#[derive(Debug)]
pub(crate) struct Receipts(Option<File>);

impl Receipts {
    /// Without the file nothing is proven, and everything else works.
    pub(crate) fn open(path: &Path) -> Self {
        Self(OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path).ok())
    }

    /// To be called once the record is durable. That it fails proves less, later.
    pub(crate) fn note(&self, receipt: &Receipt) {
        let (Some(file), Some(offset)) = (&self.0, offset(receipt.loop_id)) else { return };
        let _ = file.write_all_at(&slot(receipt), offset);
    }

    /// Nothing of this loop is proven from here on. Durable when it returns.
    pub(crate) fn clear(&self, loop_id: i64) -> io::Result<()> {
        let (Some(file), Some(offset)) = (&self.0, offset(loop_id)) else { return Ok(()) };
        file.write_all_at(&[0; SLOT], offset)?;
        file.sync_data()
    }

    pub(crate) fn flush(&self) {
        if let Some(file) = &self.0 {
            let _ = file.sync_data();
        }
    }
}

/// Every receipt that can be read. To be called before the database is looked
/// at: one that is read later may be about a record that came in between.
pub(crate) fn read(path: &Path) -> io::Result<Vec<Receipt>> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let slots = bytes.chunks_exact(SLOT).zip(0..);
    Ok(slots.filter_map(|(slot, loop_id)| parse(loop_id, slot)).collect())
}

fn offset(loop_id: i64) -> Option<u64> {
    u64::try_from(loop_id).ok().filter(|id| *id < SLOTS_MAX).map(|id| id * SLOT as u64)
}

fn slot(receipt: &Receipt) -> Vec<u8> {
    let words = format!("{} {} {}", receipt.name, receipt.seq.0, receipt.hash);
    let mut slot = format!("{words} {}", check(receipt.loop_id, &words)).into_bytes();
    slot.resize(SLOT - 1, b' ');
    slot.push(b'\n');
    slot
}

/// Nothing for a slot that was never used, or not wholly written.
fn parse(loop_id: i64, slot: &[u8]) -> Option<Receipt> {
    let text = std::str::from_utf8(slot).ok()?;
    let (words, found) = text.trim_end().rsplit_once(' ')?;
    if found != check(loop_id, words) {
        return None;
    }
    let mut fields = words.split(' ');
    let name = LoopName::new(fields.next()?).ok()?;
    let seq = Seq(fields.next()?.parse().ok()?);
    Some(Receipt { loop_id, name, seq, hash: ChainHash::parse(fields.next()?)? })
}

fn check(loop_id: i64, words: &str) -> String {
    let hash = blake3::hash(format!("{loop_id} {words}").as_bytes()).to_hex();
    hash[..CHECK_DIGITS].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receipt(loop_id: i64, name: &str, seq: u64) -> Receipt {
        let hash = ChainHash::from_bytes([u8::try_from(seq).unwrap(); 32]);
        Receipt { loop_id, name: LoopName::new(name).unwrap(), seq: Seq(seq), hash }
    }

    #[test]
    fn the_last_receipt_of_each_loop_is_read_back() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("receipts");
        assert_eq!(read(&path).unwrap(), []);
        let (one, other) = (Receipts::open(&path), Receipts::open(&path));
        let longest = "n".repeat(64);
        other.note(&receipt(3, &longest, 7));
        for seq in 1..=9 {
            one.note(&receipt(1, "demo", seq));
        }
        one.flush();
        one.note(&receipt(2, "removed", 4));
        other.clear(2).unwrap();
        one.note(&receipt(-1, "odd", 1));
        one.note(&receipt(i64::MAX, "odd", 1));
        assert_eq!(read(&path).unwrap(), [receipt(1, "demo", 9), receipt(3, &longest, 7)]);
        assert_eq!(fs::metadata(&path).unwrap().len(), 4 * SLOT as u64);
    }

    #[test]
    fn a_slot_that_is_not_whole_proves_nothing() {
        let whole = slot(&receipt(1, "demo", 12));
        assert_eq!(parse(1, &whole), Some(receipt(1, "demo", 12)));
        assert_eq!(parse(2, &whole), None, "it is of another loop");
        for at in 0..whole.iter().rposition(|byte| *byte != b' ' && *byte != b'\n').unwrap() {
            let mut torn = whole.clone();
            torn[at] ^= 1;
            assert_eq!(parse(1, &torn), None, "changed at {at}");
            torn[at..].fill(0);
            assert_eq!(parse(1, &torn), None, "zeros from {at}");
        }
    }
}
