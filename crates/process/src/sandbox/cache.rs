//! Proofs that held, remembered until the machine is started again or anything they depend on changes.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde::{Deserialize, Serialize};
use windlass_core::policy::SandboxLevel;

use crate::procfs;
use crate::sandbox::SandboxProof;
use crate::spawner::Spawner;

/// One that did not hold is not kept: whoever follows its remedy is believed at once.
#[derive(Debug, Serialize, Deserialize)]
struct Cache {
    circumstances: Circumstances,
    proofs: Vec<SandboxProof>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Circumstances {
    boot_id: String,
    kernel: String,
    user: u32,
    binary_size: u64,
    binary_mtime: i64,
    binary_mtime_nsec: i64,
}

impl Spawner {
    /// As [`Spawner::prove`], but asks `cache` first, a file of the caller's. One that is damaged, of another
    /// boot, kernel, binary or user, or that others may write, is not believed.
    pub fn prove_once(&self, level: SandboxLevel, scratch: &Path, cache: &Path) -> SandboxProof {
        let Ok(circumstances) = self.circumstances() else { return self.prove(level, scratch) };
        let mut known = read(cache, &circumstances);
        if let Some(proof) = known.iter().find(|proof| proof.level == level) {
            return proof.clone();
        }
        let proof = self.prove(level, scratch);
        if proof.held {
            known.push(proof.clone());
            // It is proven either way; without a cache the next start proves it again.
            write(cache, &Cache { circumstances, proofs: known }).ok();
        }
        proof
    }

    fn circumstances(&self) -> io::Result<Circumstances> {
        let binary = std::fs::metadata(self.warden_path())?;
        Ok(Circumstances {
            boot_id: procfs::boot_id()?,
            kernel: std::fs::read_to_string("/proc/sys/kernel/osrelease")?.trim().to_owned(),
            user: rustix::process::geteuid().as_raw(),
            binary_size: binary.size(),
            binary_mtime: binary.mtime(),
            binary_mtime_nsec: binary.mtime_nsec(),
        })
    }
}

fn read(path: &Path, circumstances: &Circumstances) -> Vec<SandboxProof> {
    let ours = std::fs::symlink_metadata(path)
        .is_ok_and(|found| found.is_file() && found.uid() == circumstances.user && found.mode() & 0o022 == 0);
    let text = if ours { std::fs::read(path).unwrap_or_default() } else { Vec::new() };
    match serde_json::from_slice::<Cache>(&text) {
        Ok(cache) if cache.circumstances == *circumstances => {
            cache.proofs.into_iter().filter(|proof| proof.held).collect()
        }
        Ok(_) | Err(_) => Vec::new(),
    }
}

fn write(path: &Path, cache: &Cache) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    let unfinished = path.with_file_name(name);
    std::fs::write(&unfinished, serde_json::to_vec_pretty(cache)?)?;
    std::fs::set_permissions(&unfinished, std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    std::fs::rename(&unfinished, path).inspect_err(|_| drop(std::fs::remove_file(&unfinished)))
}
