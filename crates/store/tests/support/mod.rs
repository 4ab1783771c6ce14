//! What every test of the store needs: a vault in a temporary directory, and
//! short ways to write and read it.
#![allow(clippy::disallowed_methods, reason = "tests start processes and wait for them")]
#![allow(dead_code, reason = "each test binary uses its own part")]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use windlass_core::command;
use windlass_core::id::{LoopName, Seq};
use windlass_core::time::Timestamp;
use windlass_store::{
    Append, AppendError, Appended, Log, NewCommand, ReadLog, Record, StateDir, StoreError, VaultDir, Wake,
    replay,
};

/// Far longer than anything that is waited for here takes.
pub const LONG: Duration = Duration::from_secs(60);

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
    }
}

pub fn append<L: Log + ?Sized>(store: &L, loop_name: &str, expected: u64) -> Result<Appended, AppendError> {
    store.append(record(loop_name, expected, &format!("record {}", expected + 1)))
}

/// A command that can be told from others by its text.
pub fn note(loop_name: &str, text: &str) -> NewCommand {
    let command = command::Command::Note { text: text.to_owned() };
    NewCommand { loop_name: name(loop_name), at: Timestamp(5), command }
}

pub fn read_all<L: ReadLog + ?Sized>(store: &L, loop_name: &str) -> Result<Vec<Record>, StoreError> {
    replay(store, &name(loop_name), Seq(0)).collect()
}

/// A copy of what is on disk at this moment, as a crash would leave it.
pub fn crash_image(vault: &VaultDir, to: &Path) -> VaultDir {
    let image = vault_in(to);
    std::fs::create_dir_all(image.root()).unwrap();
    for file in [db(vault), wal(vault), vault.root().join("marker"), receipts(vault)] {
        if file.exists() {
            std::fs::copy(&file, image.root().join(file.file_name().unwrap())).unwrap();
        }
    }
    copy_dir(&vault.root().join("blobs"), &image.root().join("blobs"));
    image
}

fn copy_dir(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_dir(&entry.path(), &to);
        } else {
            std::fs::copy(entry.path(), to).unwrap();
        }
    }
}

pub fn db(vault: &VaultDir) -> PathBuf {
    vault.root().join("windlass.db")
}

pub fn wal(vault: &VaultDir) -> PathBuf {
    vault.root().join("windlass.db-wal")
}

pub fn shm(vault: &VaultDir) -> PathBuf {
    vault.root().join("windlass.db-shm")
}

pub fn receipts(vault: &VaultDir) -> PathBuf {
    vault.root().join("receipts")
}

/// Something to call, and the place where the calls are heard.
pub fn wake() -> (Wake, Receiver<()>) {
    let (told, heard) = channel();
    let wake = move || {
        // Whoever no longer listens has heard enough.
        let _ = told.send(());
    };
    (Arc::new(wake), heard)
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
