-- Version 12. Short values under names, each set by whoever knows the one before.

CREATE TABLE stamps (
    name  TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL,
    at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

PRAGMA user_version = 12;
