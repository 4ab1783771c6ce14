//! The gate's clean tree: a directory that lives on between runs and is
//! changed only by what differs between two trees.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use gix_hash::ObjectId;
use gix_object::bstr::ByteSlice;
use windlass_core::id::TreeId;

use crate::cache::{self, CacheKey};
use crate::fault::{At, FileFault};
use crate::id::{BadId, parse, tree_oid};
use crate::materialise::materialise;
use crate::model::DirNode;
use crate::objects::ObjectError;
use crate::place;
use crate::trees;
use crate::vault::Vault;
use crate::verify::{make_empty, verify};

/// A tree id, a boot id, and room.
const MARK_LEN: usize = 120;

#[derive(Debug, thiserror::Error)]
pub enum CheckoutError {
    #[error(transparent)]
    Object(#[from] ObjectError),
    #[error(transparent)]
    Id(#[from] BadId),
    #[error(transparent)]
    File(#[from] FileFault),
}

/// How the directory came to hold the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Brought {
    Already,
    /// This many paths were rewritten.
    Delta(usize),
    /// Every file was compared, and what differed rewritten.
    Verified,
    /// Written from nothing.
    Whole,
}

pub struct Checkout {
    dir: PathBuf,
    /// Beside the directory: which tree it holds, or that it is being changed.
    mark: PathBuf,
    cache: PathBuf,
    known: Option<Known>,
}

/// What was last written or found, and whether the cache on disk lags behind.
struct Known {
    key: CacheKey,
    model: Box<DirNode>,
    saved: bool,
}

impl Checkout {
    pub fn new(dir: &Path) -> Self {
        let beside = |extension: &str| {
            let name = dir.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            dir.with_file_name(format!(".{name}.{extension}"))
        };
        Self { dir: dir.to_owned(), mark: beside("tree"), cache: beside("stat"), known: None }
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Makes the directory hold the tree, trusting that nobody but windlass
    /// wrote to it. After a crash in the middle it is verified instead.
    pub fn bring_to(&mut self, vault: &Vault, tree: &TreeId) -> Result<Brought, CheckoutError> {
        let to = tree_oid(tree)?;
        let Some(from) = self.held().filter(|_| self.dir.is_dir()) else {
            return self.verify_and_rewrite(vault, tree);
        };
        if from == to {
            return Ok(Brought::Already);
        }
        let mut reader = vault.reader();
        let changes = match trees::diff(&mut reader, from, to) {
            Ok(changes) => changes,
            Err(ObjectError::Missing { .. }) if vault.reader().has(&to) => {
                return self.verify_and_rewrite(vault, tree);
            }
            Err(error) => return Err(error.into()),
        };
        self.begin()?;
        place::apply(&self.dir, &changes, &mut reader)?;
        self.complete(to)?;
        Ok(Brought::Delta(changes.len()))
    }

    /// Makes the directory hold the tree, whatever has been done to it: for
    /// machines where the gate writes into it. Extra files are removed.
    pub fn verify_and_rewrite(&mut self, vault: &Vault, tree: &TreeId) -> Result<Brought, CheckoutError> {
        let from_disk = || cache::load(&self.cache, vault.id()).map(|(_, model)| model);
        let old = self.known.take().map(|known| known.model).or_else(from_disk);
        self.rewrite(vault, tree, old)
    }

    fn rewrite(
        &mut self,
        vault: &Vault,
        tree: &TreeId,
        old: Option<Box<DirNode>>,
    ) -> Result<Brought, CheckoutError> {
        let to = tree_oid(tree)?;
        self.mend()?;
        self.begin()?;
        let is_dir = fs::symlink_metadata(&self.dir).is_ok_and(|meta| meta.is_dir());
        let objects = vault.objects();
        let (model, brought) = if is_dir {
            (verify(&self.dir, &objects, to, old)?, Brought::Verified)
        } else {
            self.known = None;
            make_empty(&self.dir)?;
            (materialise(&self.dir, &objects, to)?, Brought::Whole)
        };
        let key = CacheKey { vault: *vault.id(), base: to, facts: [0; 32], excludes: [0; 32] };
        self.known = Some(Known { key, model, saved: false });
        self.complete(to)?;
        Ok(brought)
    }

    /// Where a gate writes into the directory, it may have taken the modes of it and of what it lies in.
    fn mend(&self) -> Result<(), FileFault> {
        for path in self.dir.parent().into_iter().chain([self.dir.as_path()]) {
            crate::dir::mend(path).at("open up", path)?;
        }
        Ok(())
    }

    /// Writes what this process knows for the next one; also done when the
    /// value is dropped.
    pub fn save(&mut self) -> Result<(), CheckoutError> {
        if let Some(known) = self.known.as_mut().filter(|known| !known.saved) {
            cache::save(&self.cache, &known.key, &known.model)?;
            known.saved = true;
        }
        Ok(())
    }

    /// Removes the directory and its marks.
    pub fn remove(&mut self) -> Result<(), CheckoutError> {
        self.mend()?;
        self.begin()?;
        self.known = None;
        crate::remove::discard(&self.dir)?;
        for file in [&self.mark, &self.cache] {
            match fs::remove_file(file) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(FileFault::new("remove", file, error).into());
                }
                Ok(()) | Err(_) => {}
            }
        }
        Ok(())
    }

    /// The tree it holds, if it was completed since this machine started: the
    /// mark is not flushed, so a power cut makes it worthless.
    fn held(&self) -> Option<ObjectId> {
        let text = fs::read(&self.mark).ok()?;
        let mut words = text.to_str().ok()?.split_whitespace();
        let (tree, boot) = (parse(words.next()?).ok()?, words.next()?);
        (boot == boot_id()?).then_some(tree)
    }

    fn begin(&self) -> Result<(), FileFault> {
        self.write_mark("changing")
    }

    fn complete(&self, tree: ObjectId) -> Result<(), FileFault> {
        self.write_mark(&format!("{tree} {}", boot_id().unwrap_or_default()))
    }

    /// Over the old mark in one write of fixed length: ext4 flushes a file
    /// that is truncated or replaced, which would cost more than the change.
    fn write_mark(&self, text: &str) -> Result<(), FileFault> {
        if let Some(parent) = self.mark.parent() {
            fs::create_dir_all(parent).at("create", parent)?;
        }
        let open = fs::File::options().create(true).truncate(false).write(true).open(&self.mark);
        open.and_then(|file| file.write_all_at(format!("{text:MARK_LEN$}").as_bytes(), 0))
            .at("write", &self.mark)
    }
}

impl Drop for Checkout {
    fn drop(&mut self) {
        // A cache that cannot be written costs time, not truth.
        let _ = self.save();
    }
}

#[cfg(target_os = "linux")]
fn boot_id() -> Option<String> {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(text.trim().to_owned())
}

/// Without a boot id no mark is believed, and every use verifies.
#[cfg(not(target_os = "linux"))]
fn boot_id() -> Option<String> {
    None
}
