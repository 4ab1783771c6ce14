//! What every test of the store needs: a vault in a temporary directory, and
//! short ways to write and read it.
#![allow(clippy::disallowed_methods, reason = "tests start processes and wait for them")]
#![allow(dead_code, reason = "each test binary uses its own part")]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use windlass_core::id::{LoopName, Seq};
use windlass_core::time::Timestamp;
use windlass_store::{
    Append, AppendError, Appended, Ask, Fault, Log, Record, StateDir, Store, VaultDir, replay,
};

pub struct Vault {
    pub temp: tempfile::TempDir,
    pub dir: VaultDir,
}

pub fn vault() -> Vault {
    let temp = tempfile::tempdir().unwrap();
    let dir = vault_in(temp.path());
    Vault { temp, dir }
}

pub fn vault_in(state: &Path) -> VaultDir {
    StateDir::new(state).vault(OsStr::new("shop"), Path::new("/home/me/shop/.git"))
}

pub fn name(text: &str) -> LoopName {
    LoopName::new(text).unwrap()
}

pub fn record(loop_name: &str, expected: u64, body: &str) -> Append {
    Append {
        loop_name: name(loop_name),
        expected: Seq(expected),
        at: Timestamp(1_700_000_000_000),
        body: body.to_owned(),
        events: 2,
        view: format!("{{\"after\":{body:?}}}"),
        fold_version: 1,
        takes: None,
        blobs: Vec::new(),
    }
}

pub fn append(store: &mut Store, loop_name: &str, expected: u64) -> Result<Appended, AppendError> {
    store.append(record(loop_name, expected, &format!("record {}", expected + 1)))
}

pub fn ask(loop_name: &str, body: &str) -> Ask {
    Ask { loop_name: name(loop_name), at: Timestamp(5), body: body.to_owned() }
}

pub fn read_all(store: &Store, loop_name: &str) -> Result<Vec<Record>, Fault> {
    replay(store, &name(loop_name), Seq(0)).collect()
}

/// A copy of what is on disk at this moment, as a crash would leave it.
pub fn crash_image(vault: &VaultDir, to: &Path) -> VaultDir {
    let image = vault_in(to);
    std::fs::create_dir_all(image.root()).unwrap();
    let wal = with_suffix(&vault.db(), "-wal");
    for file in [vault.db(), wal, vault.root().join("marker"), vault.root().join("receipts")] {
        if file.exists() {
            std::fs::copy(&file, image.root().join(file.file_name().unwrap())).unwrap();
        }
    }
    image
}

pub fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(suffix);
    path.into()
}

/// This test binary, running only the named test, as a child told so by a variable.
pub fn child(test: &str, vault_state: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]);
    command.env(CHILD, vault_state).stdin(Stdio::piped()).stdout(Stdio::piped());
    command
}

const CHILD: &str = "WINDLASS_STORE_TEST_CHILD";

/// The vault a child works on; nothing in an ordinary run of the test.
pub fn child_vault() -> Option<VaultDir> {
    std::env::var_os(CHILD).map(|state| vault_in(Path::new(&state)))
}
