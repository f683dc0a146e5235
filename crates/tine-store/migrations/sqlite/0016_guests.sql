-- Version 16. Conversations of other programs, which a gateway has seen.

-- `host` is the program, `session` its own id of the conversation (null where its requests hold none). `first` is the identity of the
-- first message, by which a conversation without a known session is found. `used_ms` is the time of its last request.
CREATE TABLE guests (
    agent   BLOB NOT NULL PRIMARY KEY REFERENCES agents (id),
    host    TEXT NOT NULL,
    session TEXT,
    first   BLOB NOT NULL CHECK (length(first) = 32),
    used_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX guests_by_session ON guests (host, session);
CREATE INDEX guests_by_first ON guests (first);

PRAGMA user_version = 16;
