-- Version 3. The queue of permission requests.

-- `root` is the topmost ancestor of `agent`: whose queue the request is in. `call`, `tool` and `input` tell a call that was
-- asked about before. `rule` is what a lasting answer covers, `widest` the farthest that a yes may reach, `fallback`
-- what counts from `deadline_ms` on. `taken_ms` is when the one who asked acted on the answer.
CREATE TABLE permissions (
    seq         INTEGER PRIMARY KEY,
    id          BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
    agent       BLOB NOT NULL REFERENCES agents (id),
    root        BLOB NOT NULL REFERENCES agents (id),
    owner       TEXT NOT NULL,
    call        TEXT NOT NULL,
    tool        TEXT NOT NULL,
    what        TEXT NOT NULL,
    input       TEXT NOT NULL,
    directory   TEXT NOT NULL,
    why         TEXT NOT NULL,
    warning     TEXT,
    rule        TEXT,
    widest      TEXT NOT NULL,
    created_ms  INTEGER NOT NULL,
    deadline_ms INTEGER NOT NULL,
    fallback    TEXT NOT NULL,
    state       TEXT NOT NULL,
    scope       TEXT,
    answered_by TEXT,
    answered_ms INTEGER,
    reason      TEXT,
    taken_ms    INTEGER
) STRICT;

CREATE INDEX permissions_by_agent ON permissions (agent);
CREATE INDEX permissions_waiting ON permissions (deadline_ms) WHERE state = 'pending';
CREATE INDEX permissions_standing ON permissions (root) WHERE scope <> 'once';

PRAGMA user_version = 3;
