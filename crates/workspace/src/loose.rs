//! Single objects as git keeps them by default: a file each, complete beside
//! its place and then renamed.

use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::fault::{At, FileFault};
use crate::pack::{NewObject, Packer, temporary_name};

/// Writes an object into an object directory, over whatever has its name: a
/// power cut may have left an empty file there.
pub(crate) fn write(objects: &Path, packer: &mut Packer, object: &NewObject<'_>) -> Result<(), FileFault> {
    put(objects, packer, object, Flush::Never)
}

/// The same, safe from a power cut once it returns.
pub(crate) fn write_flushed(
    objects: &Path,
    packer: &mut Packer,
    object: &NewObject<'_>,
) -> Result<(), FileFault> {
    put(objects, packer, object, Flush::AtOnce)
}

enum Flush {
    Never,
    AtOnce,
}

fn put(objects: &Path, packer: &mut Packer, object: &NewObject<'_>, flush: Flush) -> Result<(), FileFault> {
    let hex = object.oid.to_hex().to_string();
    let dir = objects.join(&hex[..2]);
    fs::create_dir_all(&dir).at("create", &dir)?;
    let temporary = temporary_name(&dir);
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o444)
        .open(&temporary)
        .at("create", &temporary)?;
    file.write_all(&packer.loose(object.kind, object.content)).at("write", &temporary)?;
    let flush = matches!(flush, Flush::AtOnce);
    if flush {
        file.sync_all().at("flush", &temporary)?;
    }
    fs::rename(&temporary, dir.join(&hex[2..])).at("rename", &temporary)?;
    if flush {
        fs::File::open(&dir).and_then(|dir| dir.sync_all()).at("flush", &dir)?;
    }
    Ok(())
}
