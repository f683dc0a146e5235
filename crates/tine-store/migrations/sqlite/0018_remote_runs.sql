-- Version 18. Runs that another machine's process has.

-- The last run of an agent that was given away. `position` counts what has come back of it, and changes in one transaction with the
-- entries that came. `detail` is the caller's.
CREATE TABLE remote_runs (
    agent    BLOB NOT NULL PRIMARY KEY REFERENCES agents (id),
    run      TEXT NOT NULL,
    position INTEGER NOT NULL,
    detail   TEXT NOT NULL,
    begun_ms INTEGER NOT NULL,
    ended_ms INTEGER
) STRICT, WITHOUT ROWID;

PRAGMA user_version = 18;
