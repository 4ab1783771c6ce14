//! A database that is torn, corrupt or of a later version is refused with its
//! path, the reason and what to do, and is never made anew.

use std::fs;
use std::path::{Path, PathBuf};

use windlass_testkit::Ran;

use crate::case::{Case, LONG, LOOP, Setup};

const HONEST: &str = "if [ $n -eq 1 ]; then hold; fi\necho 42 >answer.txt\ncomplete";
/// Where SQLite keeps the number that says which version wrote the file.
const USER_VERSION: usize = 60;

/// A loop that was interrupted, so that a run has to read its history.
fn interrupted() -> (Case, PathBuf) {
    let case = Setup::new(HONEST).agent_keys("grace = \"200ms\"").ready();
    let running = case.start_until("author", 1);
    running.signal(rustix::process::Signal::TERM);
    running.finish(LONG).expect_code(130);
    let vaults = case.home.state().join("windlass/vaults");
    let vault = fs::read_dir(&vaults).unwrap().next().unwrap().unwrap().path();
    let database = vault.join("windlass.db");
    assert!(database.is_file(), "{}", database.display());
    whole(&database);
    (case, database)
}

/// Moves what the write-ahead log holds into the file itself.
fn whole(database: &Path) {
    let connection = rusqlite::Connection::open(database).unwrap();
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    connection.close().unwrap();
    let log = database.with_extension("db-wal");
    assert!(!log.exists() || fs::metadata(&log).unwrap().len() == 0, "{} is left", log.display());
}

fn damage(database: &Path, how: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut bytes = fs::read(database).unwrap();
    how(&mut bytes);
    fs::write(database, &bytes).unwrap();
    bytes
}

/// Refused, with the path; the file is byte for byte what it was.
#[track_caller]
fn refused(case: &Case, database: &Path, damaged: &[u8]) -> Ran {
    let ran = case.windlass(&["run", "--name", LOOP]);
    assert!(ran.status.code().is_some_and(|code| !matches!(code, 0 | 101)), "{ran}");
    assert!(ran.stderr.contains(&database.parent().unwrap().display().to_string()), "the path: {ran}");
    assert!(ran.stderr.contains("restore") || ran.stderr.contains("use the newer"), "the remedy: {ran}");
    assert_eq!(fs::read(database).unwrap(), damaged, "nothing was recreated");
    assert_eq!(case.turns("author"), 1, "nothing was launched");
    case.untouched();
    ran
}

#[test]
fn a_database_of_a_later_version() {
    let (case, database) = interrupted();
    let damaged = damage(&database, |bytes| {
        bytes[USER_VERSION..USER_VERSION + 4].copy_from_slice(&9_999u32.to_be_bytes())
    });
    let ran = refused(&case, &database, &damaged);
    assert!(ran.stderr.contains("newer") || ran.stderr.contains("later"), "{ran}");
    let told = case.windlass(&["status", LOOP]);
    assert!(told.status.code().is_some_and(|code| !matches!(code, 0 | 101)), "{told}");
}

#[test]
fn a_database_cut_short() {
    let (case, database) = interrupted();
    let damaged = damage(&database, |bytes| bytes.truncate(bytes.len() / 2));
    refused(&case, &database, &damaged);
}

#[test]
fn a_file_that_is_no_database() {
    let (case, database) = interrupted();
    let damaged = damage(&database, |bytes| bytes[..64].fill(b'x'));
    refused(&case, &database, &damaged);
}

#[test]
fn an_empty_file_where_the_database_was() {
    let (case, database) = interrupted();
    let damaged = damage(&database, Vec::clear);
    refused(&case, &database, &damaged);
}

/// Well-formed to SQLite, but not what windlass wrote: the hash chain knows.
#[test]
fn a_record_that_was_changed() {
    let (case, database) = interrupted();
    let damaged = damage(&database, |bytes| {
        let mut changed = 0;
        let wanted = b"attempt_started";
        for at in 0..bytes.len() - wanted.len() {
            if &bytes[at..at + wanted.len()] == wanted {
                bytes[at..at + wanted.len()].copy_from_slice(b"Attempt_started");
                changed += 1;
            }
        }
        assert!(changed > 0, "the record is not in the file");
    });
    refused(&case, &database, &damaged);
}

#[test]
fn a_record_that_was_changed_into_another_sound_one() {
    let (case, database) = interrupted();
    let damaged = damage(&database, |bytes| {
        let wanted = b"\"title\":\"Write the answer\"";
        let places: Vec<_> =
            (0..bytes.len() - wanted.len()).filter(|at| &bytes[*at..at + wanted.len()] == wanted).collect();
        assert!(!places.is_empty(), "the record is not in the file");
        for at in places {
            bytes[at..at + wanted.len()].copy_from_slice(b"\"title\":\"Write the Answer\"");
        }
    });
    refused(&case, &database, &damaged);
}

#[test]
fn a_lost_workspace_is_rebuilt_from_the_vault() {
    let (case, _) = interrupted();
    fs::remove_dir_all(case.status()["workspace"].as_str().unwrap()).unwrap();
    case.run().completed();
}

#[test]
fn a_lost_checkout_of_the_gate_is_rebuilt() {
    let (case, _) = interrupted();
    for dir in ["checkouts", "spaces"] {
        let dir = case.home.state().join("windlass").join(dir);
        if dir.exists() {
            fs::remove_dir_all(dir).unwrap();
        }
    }
    case.run().completed();
}
