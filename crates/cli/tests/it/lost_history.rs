//! History that was acknowledged and is gone is missed: nothing is shown as an
//! older state, and no loop begins as if there had never been one. What a kill
//! leaves is no such loss.

use std::fs;
use std::path::{Path, PathBuf};

use crate::case::{Case, LOOP, Setup};

const HONEST: &str = "if [ $n -eq 1 ]; then hold; fi\necho 42 >answer.txt\ncomplete";

fn vault(case: &Case) -> PathBuf {
    let vaults = case.home.state().join("windlass/vaults");
    fs::read_dir(&vaults).unwrap().next().unwrap().unwrap().path()
}

fn database(vault: &Path) -> PathBuf {
    vault.join("windlass.db")
}

fn wal(vault: &Path) -> PathBuf {
    vault.join("windlass.db-wal")
}

/// Killed in the author's first turn: the loop's beginning is in the database,
/// and what its drive recorded is in the write-ahead log alone.
fn killed() -> (Case, PathBuf) {
    let case = Setup::new(HONEST).ready();
    drop(case.start_until("author", 1).kill());
    let vault = vault(&case);
    assert!(fs::metadata(wal(&vault)).unwrap().len() > 0, "the log holds the drive");
    (case, vault)
}

fn completed() -> (Case, PathBuf) {
    let case = Setup::new("echo 42 >answer.txt\ncomplete").ready();
    case.run().completed();
    let vault = vault(&case);
    (case, vault)
}

fn change(path: &Path, how: impl Fn(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).unwrap();
    how(&mut bytes);
    fs::write(path, bytes).unwrap();
}

fn files(vault: &Path) -> Vec<(PathBuf, Option<Vec<u8>>)> {
    [database(vault), wal(vault)].map(|path| (path.clone(), fs::read(path).ok())).into()
}

/// Every verb that reads, and the ones that would change something: exit 1, the
/// place, the remedy, and no file of the database is made or touched.
#[track_caller]
fn refused(case: &Case, place: &Path) {
    let before = files(&vault(case));
    let turns = case.turns("author");
    for words in [
        &["status", LOOP][..],
        &["status"],
        &["list"],
        &["log", LOOP],
        &["prove", LOOP],
        &["pause", LOOP],
        &["run", "--name", LOOP],
        &["run"],
        &["run", "--name", "another"],
    ] {
        let ran = case.windlass(words).expect_code(1);
        assert!(ran.stderr.contains(&place.display().to_string()), "{words:?}: the place: {ran}");
        assert!(ran.stderr.contains("restore") && ran.stderr.contains("backup"), "{words:?}: {ran}");
        assert!(!ran.stdout.contains("No loops"), "{words:?}: {ran}");
    }
    let doctor = case.windlass(&["doctor"]).expect_code(1);
    assert!(doctor.stdout.contains(&place.display().to_string()), "{doctor}");
    assert_eq!(files(&vault(case)), before, "nothing was made anew");
    assert_eq!(case.turns("author"), turns, "nothing was launched");
    case.untouched();
}

#[test]
fn a_write_ahead_log_that_was_deleted() {
    let (case, vault) = killed();
    fs::remove_file(wal(&vault)).unwrap();
    refused(&case, &database(&vault));
}

#[test]
fn a_write_ahead_log_that_was_emptied() {
    let (case, vault) = killed();
    change(&wal(&vault), Vec::clear);
    refused(&case, &database(&vault));
}

#[test]
fn a_write_ahead_log_that_was_cut() {
    let (case, vault) = killed();
    change(&wal(&vault), |bytes| bytes.truncate(bytes.len() / 2));
    refused(&case, &database(&vault));
}

#[test]
fn a_write_ahead_log_whose_checksums_fail() {
    let (case, vault) = killed();
    change(&wal(&vault), |bytes| bytes.iter_mut().skip(32).step_by(97).for_each(|byte| *byte ^= 0x5a));
    refused(&case, &database(&vault));
}

#[test]
fn database_and_log_damaged_together() {
    let (case, vault) = killed();
    for path in [database(&vault), wal(&vault)] {
        change(&path, |bytes| bytes.iter_mut().take(4096).for_each(|byte| *byte ^= 0x5a));
    }
    refused(&case, &database(&vault));
}

#[test]
fn database_and_log_emptied_together() {
    let (case, vault) = killed();
    for path in [database(&vault), wal(&vault)] {
        change(&path, Vec::clear);
    }
    refused(&case, &database(&vault));
}

#[test]
fn an_empty_database_beside_its_log() {
    let (case, vault) = killed();
    change(&database(&vault), Vec::clear);
    refused(&case, &database(&vault));
}

#[test]
fn a_database_of_before_the_last_drive() {
    let (case, vault) = killed();
    let old: Vec<_> = files(&vault);
    case.run().completed();
    for (path, bytes) in old {
        fs::write(path, bytes.unwrap()).unwrap();
    }
    let _ = fs::remove_file(vault.join("windlass.db-shm"));
    refused(&case, &database(&vault));
}

#[test]
fn a_finished_drive_leaves_nothing_in_the_log() {
    let (case, vault) = completed();
    assert_eq!(fs::metadata(wal(&vault)).unwrap().len(), 0);
    fs::remove_file(wal(&vault)).unwrap();
    assert_eq!(case.status()["outcome"]["kind"], "completed");
    change(&database(&vault), Vec::clear);
    refused(&case, &database(&vault));
}

/// Neither the database nor anything that says there was one: the snapshots do.
#[test]
fn snapshots_of_a_loop_that_is_not_on_record() {
    let (case, vault) = completed();
    for name in ["windlass.db", "windlass.db-wal", "windlass.db-shm", "marker", "receipts"] {
        let _ = fs::remove_file(vault.join(name));
    }
    refused(&case, &vault.join("vault.git/refs/windlass").join(LOOP));
}

/// With the whole vault gone the trail in the project remembers the loop, until the operator moves it away.
#[test]
fn a_trail_of_a_loop_that_is_not_on_record() {
    let (case, vault) = killed();
    fs::remove_dir_all(vault.parent().unwrap()).unwrap();
    fs::create_dir_all(&vault).unwrap();
    let trail = case.repo.path().canonicalize().unwrap().join(".windlass/loops").join(LOOP);
    refused(&case, &trail);
    fs::rename(&trail, case.side().join("aside")).unwrap();
    case.run().completed();
}

/// Another state directory has other records; the trail of these is no reproach to it.
#[test]
fn a_second_state_directory_begins_with_nothing() {
    let (case, _) = killed();
    let other = case.home.path().join("other").display().to_string();
    let list = case.windlass(&["list", "--state-dir", &other]).expect_code(0);
    assert!(list.stdout.contains("No loops"), "{list}");
    assert_eq!(case.status()["status"], "interrupted", "{list}");
}

#[test]
fn what_a_kill_leaves_is_no_loss() {
    let (case, vault) = killed();
    for words in [&["status", LOOP][..], &["list"], &["log", LOOP], &["doctor"]] {
        case.windlass(words).expect_code(0);
    }
    // Nothing is proven without receipts, and nothing is refused for that.
    fs::remove_file(vault.join("receipts")).unwrap();
    case.windlass(&["status", LOOP]).expect_code(0);
    case.run().completed();
}
