//! A model on disk, for the next process. It is a cache: a file that is
//! missing, damaged, or of another vault or format is no model at all.

use std::path::Path;

use gix_hash::ObjectId;
use gix_object::bstr::ByteSlice;

use crate::dir::{DEEPEST, StatKey};
use crate::fault::{At, FileFault};
use crate::model::{Blob, Child, DirNode, Entry, IgnoreFile, Sealed, Skip, What};

const MAGIC: &[u8; 8] = b"windlas1";

/// The rules a model's decisions were made under, and the vault its objects
/// are in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CacheKey {
    pub vault: [u8; 16],
    pub base: ObjectId,
    pub facts: [u8; 32],
    pub excludes: [u8; 32],
}

pub(crate) fn save(path: &Path, key: &CacheKey, root: &DirNode) -> Result<(), FileFault> {
    let mut out = Vec::with_capacity(1 << 16);
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&key.vault);
    out.extend_from_slice(key.base.as_slice());
    out.extend_from_slice(&key.facts);
    out.extend_from_slice(&key.excludes);
    put_dir(&mut out, root);
    let sum = crc32fast::hash(&out);
    out.extend_from_slice(&sum.to_le_bytes());
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).at("create", parent)?;
    }
    let temporary = path.with_extension(format!("tmp{}", std::process::id()));
    std::fs::write(&temporary, &out).at("write", &temporary)?;
    std::fs::rename(&temporary, path).at("rename", &temporary)
}

pub(crate) fn load(path: &Path, vault: &[u8; 16]) -> Option<(CacheKey, Box<DirNode>)> {
    let bytes = std::fs::read(path).ok()?;
    let (body, sum) = bytes.split_last_chunk::<4>()?;
    if crc32fast::hash(body) != u32::from_le_bytes(*sum) {
        return None;
    }
    let mut input = Input { rest: body.strip_prefix(MAGIC)? };
    let key = CacheKey {
        vault: input.array()?,
        base: input.oid()?,
        facts: input.array()?,
        excludes: input.array()?,
    };
    if key.vault != *vault {
        return None;
    }
    let root = input.dir(0)?;
    input.rest.is_empty().then_some((key, Box::new(root)))
}

fn put_dir(out: &mut Vec<u8>, node: &DirNode) {
    put_stat(out, &node.stat);
    out.push(u8::from(node.racy) | u8::from(node.dirty) << 1);
    match node.tree {
        Sealed::Unknown => out.push(0),
        Sealed::Empty => out.push(1),
        Sealed::Tree(oid) => {
            out.push(2);
            out.extend_from_slice(oid.as_slice());
        }
    }
    match &node.ignore {
        None => out.push(0),
        Some(file) => {
            out.push(1 | u8::from(file.racy) << 1);
            put_stat(out, &file.stat);
        }
    }
    out.extend_from_slice(&(node.entries.len() as u32).to_le_bytes());
    for entry in &node.entries {
        put_entry(out, entry);
    }
}

fn put_entry(out: &mut Vec<u8>, entry: &Entry) {
    out.extend_from_slice(&(entry.name.len() as u32).to_le_bytes());
    out.extend_from_slice(&entry.name);
    out.push(entry.flags);
    match &entry.what {
        What::Blob(blob) => {
            out.push(if blob.racy { 1 } else { 0 });
            put_stat(out, &blob.stat);
            out.extend_from_slice(blob.oid.as_slice());
        }
        What::Dir(Child::Here(node)) => {
            out.push(2);
            put_dir(out, node);
        }
        What::Ignored => out.push(3),
        // Both are looked at again by the next walk.
        What::Dir(Child::Away(_)) | What::Skipped(_) => out.push(4),
    }
}

fn put_stat(out: &mut Vec<u8>, stat: &StatKey) {
    for number in [stat.dev, stat.ino, stat.size, stat.mtime as u64, stat.ctime as u64] {
        out.extend_from_slice(&number.to_le_bytes());
    }
    out.extend_from_slice(&stat.mode.to_le_bytes());
}

struct Input<'a> {
    rest: &'a [u8],
}

impl Input<'_> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.rest.split_first_chunk::<N>()?;
        self.rest = rest;
        Some(*head)
    }

    fn byte(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    fn number(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn count(&mut self) -> Option<usize> {
        self.array().map(|bytes| u32::from_le_bytes(bytes) as usize)
    }

    fn oid(&mut self) -> Option<ObjectId> {
        self.array::<20>().map(ObjectId::Sha1)
    }

    fn stat(&mut self) -> Option<StatKey> {
        Some(StatKey {
            dev: self.number()?,
            ino: self.number()?,
            size: self.number()?,
            mtime: self.number()? as i64,
            ctime: self.number()? as i64,
            mode: self.array().map(u32::from_le_bytes)?,
        })
    }

    fn dir(&mut self, depth: usize) -> Option<DirNode> {
        if depth > DEEPEST + 1 {
            return None;
        }
        let stat = self.stat()?;
        let bits = self.byte()?;
        let tree = match self.byte()? {
            0 => Sealed::Unknown,
            1 => Sealed::Empty,
            2 => Sealed::Tree(self.oid()?),
            _ => return None,
        };
        let ignore = match self.byte()? {
            0 => None,
            bits => Some(IgnoreFile { stat: self.stat()?, racy: bits & 2 != 0, patterns: None }),
        };
        let count = self.count()?;
        let mut entries = Vec::with_capacity(count.min(self.rest.len()));
        for _ in 0..count {
            entries.push(self.entry(depth)?);
        }
        Some(DirNode { stat, racy: bits & 1 != 0, dirty: bits & 2 != 0, tree, ignore, entries })
    }

    fn entry(&mut self, depth: usize) -> Option<Entry> {
        let length = self.count()?;
        let (name, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        let flags = self.byte()?;
        let what = match self.byte()? {
            tag @ (0 | 1) => What::Blob(Blob { racy: tag == 1, stat: self.stat()?, oid: self.oid()? }),
            2 => What::Dir(Child::Here(Box::new(self.dir(depth + 1)?))),
            3 => What::Ignored,
            4 => What::Skipped(Skip::Unseen),
            _ => return None,
        };
        Some(Entry { name: name.as_bstr().to_owned(), flags, what })
    }
}
