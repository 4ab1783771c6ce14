//! What an error of SQLite means to the operator.

use std::path::Path;

use rusqlite::{Connection, Error, ErrorCode};

use super::open::BUSY_LIMIT;
use crate::log::StoreError;
use crate::refusal::Refusal;

/// Classifies an error that a statement on this connection just returned.
pub(crate) fn classify(conn: &Connection, path: &Path, error: &Error) -> StoreError {
    // SAFETY: the handle is valid while the connection is borrowed, and the call only reads a field of it.
    let errno = unsafe { rusqlite::ffi::sqlite3_system_errno(conn.handle()) };
    let out_of_space = error.sqlite_error_code() == Some(ErrorCode::SystemIoFailure)
        && [libc::ENOSPC, libc::EDQUOT, libc::EFBIG].contains(&errno);
    if out_of_space { StoreError::Full { path: path.to_owned() } } else { classify_detached(path, error) }
}

/// The same when there is no connection to ask for the errno.
pub(crate) fn classify_detached(path: &Path, error: &Error) -> StoreError {
    let path_owned = path.to_owned();
    let of_wrong_type = matches!(
        error,
        Error::FromSqlConversionFailure(..) | Error::InvalidColumnType(..) | Error::Utf8Error(..)
    );
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => StoreError::Full { path: path_owned },
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            StoreError::Busy { path: path_owned, waited_s: BUSY_LIMIT.as_secs() }
        }
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => corrupt(path, error.to_string()),
        None if of_wrong_type => corrupt(path, error.to_string()),
        Some(_) | None => StoreError::Failed { path: path_owned, reason: error.to_string() },
    }
}

pub(crate) fn corrupt(path: &Path, what: impl std::fmt::Display) -> StoreError {
    let remedy = "nothing was changed: restore the whole vault directory from a backup, or move it away to \
                  begin again without this history";
    StoreError::Corrupt(Refusal::new(path, format!("the database is corrupt: {what}"), remedy))
}
