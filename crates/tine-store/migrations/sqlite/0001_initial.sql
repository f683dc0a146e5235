-- Version 1. Ids are 16 random bytes, times are milliseconds since the Unix epoch.
-- `seq` keeps the order in which rows were made; nothing outside the table refers to it.

-- System prompt and tool declarations, frozen; one row serves a whole lineage.
CREATE TABLE heads (
    hash BLOB NOT NULL PRIMARY KEY CHECK (length(hash) = 32),
    body TEXT NOT NULL
) STRICT;

CREATE TABLE agents (
    seq         INTEGER PRIMARY KEY,
    id          BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
    name        TEXT,
    parent      BLOB REFERENCES agents (id),
    fork_point  INTEGER,
    standing    TEXT NOT NULL,
    state       TEXT NOT NULL,
    context     TEXT NOT NULL,
    model       TEXT NOT NULL,
    max_tokens  INTEGER NOT NULL,
    thinking    TEXT,
    effort      TEXT,
    head        BLOB NOT NULL REFERENCES heads (hash),
    directory   TEXT NOT NULL,
    depth       INTEGER NOT NULL,
    created_ms  INTEGER NOT NULL,
    updated_ms  INTEGER NOT NULL,
    -- The last mail that the agent has acknowledged.
    mail_cursor INTEGER NOT NULL DEFAULT 0
) STRICT;

-- A name is unique among the living and free again after a death.
CREATE UNIQUE INDEX agents_by_name ON agents (name) WHERE name IS NOT NULL AND state <> 'dead';
CREATE INDEX agents_by_parent ON agents (parent) WHERE parent IS NOT NULL;

-- Append-only. AUTOINCREMENT: an id is never used twice, so an old fork point can never name a new entry.
CREATE TABLE entries (
    id    INTEGER PRIMARY KEY AUTOINCREMENT,
    agent BLOB NOT NULL REFERENCES agents (id),
    kind  TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    body  TEXT NOT NULL
) STRICT;

-- The row id is the second column of every SQLite index, so this one is ordered by (agent, id).
CREATE INDEX entries_by_agent ON entries (agent);

CREATE TABLE tasks (
    seq         INTEGER PRIMARY KEY,
    agent       BLOB NOT NULL UNIQUE REFERENCES agents (id),
    spawner     BLOB NOT NULL REFERENCES agents (id),
    directive   TEXT NOT NULL,
    status      TEXT NOT NULL,
    report      TEXT,
    error       TEXT,
    uncached    INTEGER NOT NULL DEFAULT 0,
    write_short INTEGER,
    write_long  INTEGER,
    read        INTEGER,
    output      INTEGER NOT NULL DEFAULT 0,
    reasoning   INTEGER,
    turns       INTEGER NOT NULL DEFAULT 0,
    tool_uses   INTEGER NOT NULL DEFAULT 0,
    created_ms  INTEGER NOT NULL,
    ended_ms    INTEGER
) STRICT;

CREATE INDEX tasks_by_spawner ON tasks (spawner);

CREATE TABLE mail (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    recipient BLOB NOT NULL REFERENCES agents (id),
    sender    BLOB REFERENCES agents (id),
    at_ms     INTEGER NOT NULL,
    body      TEXT NOT NULL
) STRICT;

CREATE INDEX mail_by_recipient ON mail (recipient);

-- A token column is NULL where the provider did not report the part; that is not zero.
CREATE TABLE requests (
    seq          INTEGER PRIMARY KEY,
    id           BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
    agent        BLOB NOT NULL REFERENCES agents (id),
    started_ms   INTEGER NOT NULL,
    model        TEXT NOT NULL,
    uncached     INTEGER,
    write_short  INTEGER,
    write_long   INTEGER,
    read         INTEGER,
    output       INTEGER,
    reasoning    INTEGER,
    stop         TEXT,
    prompt_bytes INTEGER
) STRICT;

CREATE INDEX requests_by_agent ON requests (agent);

-- A row stays after its release, so that the fence of an agent never goes back.
CREATE TABLE leases (
    agent    BLOB NOT NULL PRIMARY KEY REFERENCES agents (id),
    owner    TEXT,
    fence    INTEGER NOT NULL,
    taken_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

PRAGMA user_version = 1;
