-- Version 11. What servers of models have said of themselves.

-- A fact that a server's own answer told: what it refuses, how much it takes. `model` is empty where the fact holds for every model of
-- the host. A later answer replaces an earlier one of the same name.
CREATE TABLE server_notes (
    host  TEXT NOT NULL,
    model TEXT NOT NULL,
    name  TEXT NOT NULL,
    value TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    PRIMARY KEY (host, model, name)
) STRICT, WITHOUT ROWID;

PRAGMA user_version = 11;
