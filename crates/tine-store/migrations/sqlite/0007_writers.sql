-- Version 7. Who writes where at the same time.

-- An agent that has changed files of its directory in its current run. A row counts for as long as the agent's lease has this fence.
-- `directory` ends with `/`, so that one lies in another where the other's text begins it.
CREATE TABLE writers (
    agent     BLOB NOT NULL PRIMARY KEY REFERENCES agents (id),
    directory TEXT NOT NULL,
    fence     INTEGER NOT NULL,
    at_ms     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

PRAGMA user_version = 7;
