//! Where new objects are collected on their way into one pack.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::fault::FileFault;
use crate::objects::{ObjectStore, Reader};
use crate::pack::{NewObject, PackWriter, Packer};

/// Where new objects go: one pack, begun with the first of them.
pub(crate) struct Sink {
    pack_dir: PathBuf,
    writer: Mutex<Option<PackWriter>>,
}

impl Sink {
    pub(crate) fn new(pack_dir: &Path) -> Self {
        Self { pack_dir: pack_dir.to_owned(), writer: Mutex::new(None) }
    }

    /// Stores an object unless it is already there.
    pub(crate) fn put(&self, worker: &mut Worker, object: &NewObject<'_>) -> Result<bool, FileFault> {
        let NewObject { oid, kind, content } = *object;
        let lock = || self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        if worker.reader.has(&oid) || lock().as_ref().is_some_and(|writer| writer.has(&oid)) {
            return Ok(false);
        }
        let packed = worker.packer.pack(oid, kind, content);
        let mut writer = lock();
        match writer.as_mut() {
            Some(writer) => writer.add(&packed)?,
            None => writer.insert(PackWriter::create(&self.pack_dir)?).add(&packed)?,
        }
        Ok(true)
    }

    /// Makes everything durable; the number of objects written.
    pub(crate) fn finish(self) -> Result<usize, FileFault> {
        let Some(writer) = self.writer.into_inner().unwrap_or_else(PoisonError::into_inner) else {
            return Ok(0);
        };
        let count = writer.len();
        writer.finish()?;
        Ok(count)
    }
}

/// One thread's tools.
pub(crate) struct Worker {
    pub reader: Reader,
    pub packer: Packer,
    pub buffer: Vec<u8>,
}

impl Worker {
    pub(crate) fn new(objects: &ObjectStore) -> Self {
        Self { reader: objects.reader(), packer: Packer::new(), buffer: Vec::new() }
    }
}
