-- "WDLS": tells our database from any other.
PRAGMA application_id = 1464093779;

CREATE TABLE loops (
    id           INTEGER PRIMARY KEY,
    name         TEXT    NOT NULL UNIQUE,
    created_at   INTEGER NOT NULL,
    head_seq     INTEGER NOT NULL,
    head_hash    BLOB    NOT NULL,
    events       INTEGER NOT NULL,
    fold_version INTEGER NOT NULL,
    view         TEXT    NOT NULL
) STRICT;

CREATE TABLE records (
    loop_id     INTEGER NOT NULL REFERENCES loops (id),
    seq         INTEGER NOT NULL,
    at          INTEGER NOT NULL,
    format      INTEGER NOT NULL,
    first_event INTEGER NOT NULL,
    events      INTEGER NOT NULL,
    hash        BLOB    NOT NULL,
    body        TEXT    NOT NULL,
    PRIMARY KEY (loop_id, seq)
) STRICT, WITHOUT ROWID;

-- Rows are only added: that a command was taken is in the log. AUTOINCREMENT:
-- an id once given out never names another command.
CREATE TABLE commands (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    loop_id   INTEGER NOT NULL REFERENCES loops (id),
    at        INTEGER NOT NULL,
    body      TEXT    NOT NULL
) STRICT;

CREATE INDEX commands_of_loop ON commands (loop_id, id);

-- With rowids, so that the index holds hashes only and not whole blobs.
CREATE TABLE blobs (
    hash  BLOB NOT NULL UNIQUE,
    bytes BLOB NOT NULL
) STRICT;
