-- Version 2. What is known of providers' caches.

-- `reply` is the provider's id of the reply; `verdict` and `note` are the caller's words about the cache.
ALTER TABLE requests ADD COLUMN reply TEXT;
ALTER TABLE requests ADD COLUMN verdict TEXT;
ALTER TABLE requests ADD COLUMN note TEXT;

-- Entries that should be alive: one row for each place up to which a request was written or read.
CREATE TABLE cache_entries (
    scope    BLOB NOT NULL CHECK (length(scope) = 32),
    hash     BLOB NOT NULL CHECK (length(hash) = 32),
    tokens   INTEGER NOT NULL,
    exact    INTEGER NOT NULL,
    bytes    INTEGER NOT NULL,
    lifetime TEXT NOT NULL,
    used_ms  INTEGER NOT NULL,
    PRIMARY KEY (scope, hash)
) STRICT, WITHOUT ROWID;

CREATE INDEX cache_entries_by_use ON cache_entries (used_ms);

PRAGMA user_version = 2;
