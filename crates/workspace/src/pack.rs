//! Writing one pack and its index (version 2), entry by entry, as objects
//! turn up. Deltas are not made: packs are small and short-lived, and
//! `Vault::maintain` leaves compression to git.

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::{Compress, Compression, FlushCompress, Status};
use gix_hash::{ObjectId, hasher};
use gix_object::Kind;
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use crate::fault::{At, FileFault};

const HEADER_LEN: u64 = 12;

/// An object that is to be stored.
#[derive(Clone, Copy)]
pub(crate) struct NewObject<'a> {
    pub(crate) oid: ObjectId,
    pub(crate) kind: Kind,
    pub(crate) content: &'a [u8],
}

/// An object turned into the bytes it takes in a pack.
pub(crate) struct Packed {
    oid: ObjectId,
    crc: u32,
    bytes: Vec<u8>,
}

/// Compresses objects; each thread has its own.
pub(crate) struct Packer {
    zlib: Compress,
}

impl Packer {
    pub(crate) fn new() -> Self {
        Self { zlib: Compress::new(Compression::fast(), true) }
    }

    pub(crate) fn pack(&mut self, oid: ObjectId, kind: Kind, content: &[u8]) -> Packed {
        let mut bytes = Vec::with_capacity(content.len() / 2 + 32);
        write_entry_header(&mut bytes, kind, content.len() as u64);
        self.deflate(content, &mut bytes);
        Packed { oid, crc: crc32fast::hash(&bytes), bytes }
    }

    /// A loose object file's bytes: header and content in one zlib stream.
    pub(crate) fn loose(&mut self, kind: Kind, content: &[u8]) -> Vec<u8> {
        let mut whole = gix_object::encode::loose_header(kind, content.len() as u64).to_vec();
        whole.extend_from_slice(content);
        let mut bytes = Vec::with_capacity(whole.len() / 2 + 32);
        self.deflate(&whole, &mut bytes);
        bytes
    }

    fn deflate(&mut self, content: &[u8], out: &mut Vec<u8>) {
        self.zlib.reset();
        let mut rest = content;
        loop {
            out.reserve(rest.len() / 2 + 64);
            let before = self.zlib.total_in();
            let status = self
                .zlib
                .compress_vec(rest, out, FlushCompress::Finish)
                .expect("deflate fails only on a broken stream state, and reset made a sound one");
            rest = &rest[(self.zlib.total_in() - before) as usize..];
            if status == Status::StreamEnd {
                return;
            }
        }
    }
}

/// A pack being written beside its final place.
pub(crate) struct PackWriter {
    dir: PathBuf,
    temporary: PathBuf,
    file: BufWriter<File>,
    offset: u64,
    seen: HashSet<ObjectId>,
    entries: Vec<IndexEntry>,
}

struct IndexEntry {
    oid: ObjectId,
    crc: u32,
    offset: u64,
}

impl PackWriter {
    /// `dir` is the `objects/pack` directory the finished pack will live in.
    pub(crate) fn create(dir: &Path) -> Result<Self, FileFault> {
        let temporary = temporary_name(dir);
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o444)
            .open(&temporary)
            .at("create", &temporary)?;
        let mut file = BufWriter::with_capacity(256 << 10, file);
        file.write_all(&[0; HEADER_LEN as usize]).at("write", &temporary)?;
        Ok(Self {
            dir: dir.to_owned(),
            temporary,
            file,
            offset: HEADER_LEN,
            seen: HashSet::new(),
            entries: Vec::new(),
        })
    }

    pub(crate) fn has(&self, oid: &ObjectId) -> bool {
        self.seen.contains(oid)
    }

    pub(crate) fn add(&mut self, packed: &Packed) -> Result<(), FileFault> {
        if !self.seen.insert(packed.oid) {
            return Ok(());
        }
        self.file.write_all(&packed.bytes).at("write", &self.temporary)?;
        self.entries.push(IndexEntry { oid: packed.oid, crc: packed.crc, offset: self.offset });
        self.offset += packed.bytes.len() as u64;
        Ok(())
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Makes the pack and its index durable and visible; the index comes last
    /// because a pack without one does not exist for git.
    pub(crate) fn finish(mut self) -> Result<(), FileFault> {
        if self.entries.is_empty() {
            return Ok(());
        }
        let checksum = self.seal()?;
        self.file.get_ref().sync_all().at("flush", &self.temporary)?;
        let index = self.write_index(checksum)?;
        let name = |extension| self.dir.join(format!("pack-{checksum}.{extension}"));
        std::fs::rename(&self.temporary, name("pack")).at("rename", &self.temporary)?;
        std::fs::rename(&index, name("idx")).at("rename", &index)?;
        File::open(&self.dir).and_then(|dir| dir.sync_all()).at("flush", &self.dir)
    }

    /// Writes the object count into the header, which was not known at the
    /// start, and the checksum over everything, which needs the count.
    fn seal(&mut self) -> Result<ObjectId, FileFault> {
        let path = &self.temporary;
        self.file.flush().at("write", path)?;
        let file = self.file.get_mut();
        let mut header = Vec::with_capacity(HEADER_LEN as usize);
        header.extend_from_slice(b"PACK");
        header.extend_from_slice(&2_u32.to_be_bytes());
        header.extend_from_slice(&(self.entries.len() as u32).to_be_bytes());
        file.seek(SeekFrom::Start(0)).at("seek in", path)?;
        file.write_all(&header).at("write", path)?;
        file.seek(SeekFrom::Start(0)).at("seek in", path)?;
        let mut digest = hasher(gix_hash::Kind::Sha1);
        let mut buffer = vec![0_u8; 256 << 10];
        loop {
            let n = file.read(&mut buffer).at("read", path)?;
            if n == 0 {
                break;
            }
            digest.update(&buffer[..n]);
        }
        let checksum = finalize(digest, path)?;
        file.write_all(checksum.as_slice()).at("write", path)?;
        Ok(checksum)
    }

    fn write_index(&mut self, pack_checksum: ObjectId) -> Result<PathBuf, FileFault> {
        self.entries.sort_by_key(|entry| entry.oid);
        let bytes = encode_index(&self.entries, pack_checksum);
        let path = temporary_name(&self.dir);
        let mut digest = hasher(gix_hash::Kind::Sha1);
        digest.update(&bytes);
        let checksum = finalize(digest, &path)?;
        let mut file =
            OpenOptions::new().write(true).create_new(true).mode(0o444).open(&path).at("create", &path)?;
        file.write_all(&bytes).at("write", &path)?;
        file.write_all(checksum.as_slice()).at("write", &path)?;
        file.sync_all().at("flush", &path)?;
        Ok(path)
    }
}

impl Drop for PackWriter {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.temporary);
    }
}

/// Leftovers of processes that are gone: git ignores these names, so they only
/// cost space.
pub(crate) fn sweep_temporaries(dir: &Path) -> Result<(), FileFault> {
    for entry in std::fs::read_dir(dir).at("list", dir)? {
        let entry = entry.at("list", dir)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let writer = name.strip_prefix(TEMPORARY).and_then(|rest| rest.split('_').next()?.parse().ok());
        if writer.and_then(Pid::from_raw).is_some_and(|pid| test_kill_process(pid) == Err(Errno::SRCH)) {
            std::fs::remove_file(entry.path()).at("remove", &entry.path())?;
        }
    }
    Ok(())
}

const TEMPORARY: &str = "tmp_windlass_";

pub(crate) fn temporary_name(dir: &Path) -> PathBuf {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let n = NEXT.fetch_add(1, Ordering::Relaxed);
    dir.join(format!("{TEMPORARY}{}_{n}", std::process::id()))
}

fn encode_index(entries: &[IndexEntry], pack_checksum: ObjectId) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(8 + 1024 + entries.len() * 28 + 40);
    bytes.extend_from_slice(b"\xfftOc");
    bytes.extend_from_slice(&2_u32.to_be_bytes());
    let mut upto = 0;
    for first in 0..=255_u8 {
        upto += entries[upto..].iter().take_while(|entry| entry.oid.first_byte() == first).count();
        bytes.extend_from_slice(&(upto as u32).to_be_bytes());
    }
    entries.iter().for_each(|entry| bytes.extend_from_slice(entry.oid.as_slice()));
    entries.iter().for_each(|entry| bytes.extend_from_slice(&entry.crc.to_be_bytes()));
    let mut large = Vec::new();
    for entry in entries {
        let short = if entry.offset < 1 << 31 {
            entry.offset as u32
        } else {
            large.push(entry.offset);
            1 << 31 | (large.len() - 1) as u32
        };
        bytes.extend_from_slice(&short.to_be_bytes());
    }
    large.iter().for_each(|offset| bytes.extend_from_slice(&offset.to_be_bytes()));
    bytes.extend_from_slice(pack_checksum.as_slice());
    bytes
}

fn write_entry_header(out: &mut Vec<u8>, kind: Kind, size: u64) {
    let code: u8 = match kind {
        Kind::Commit => 1,
        Kind::Tree => 2,
        Kind::Blob => 3,
        Kind::Tag => 4,
    };
    let mut rest = size >> 4;
    let mut byte = code << 4 | (size & 0x0f) as u8;
    while rest > 0 {
        out.push(byte | 0x80);
        byte = (rest & 0x7f) as u8;
        rest >>= 7;
    }
    out.push(byte);
}

fn finalize(digest: gix_hash::Hasher, path: &Path) -> Result<ObjectId, FileFault> {
    digest.try_finalize().map_err(std::io::Error::other).at("checksum", path)
}
