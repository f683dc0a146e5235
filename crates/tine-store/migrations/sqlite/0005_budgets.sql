-- Version 5. Budgets of whole trees.

-- What a request cost, in millionths of a USD; NULL where no price is known.
ALTER TABLE requests ADD COLUMN micro_usd INTEGER;

-- One row for a tree with caps; a cap that is NULL is none. `tokens`, `micro_usd` and `unpriced` are sums over all requests of
-- the tree, kept here because a sum over thousands of rows before each request would be too slow. The time runs from `started_ms`.
CREATE TABLE budgets (
    root          BLOB NOT NULL PRIMARY KEY REFERENCES agents (id),
    tokens_max    INTEGER,
    micro_usd_max INTEGER,
    time_max_ms   INTEGER,
    agents_max    INTEGER,
    running_max   INTEGER,
    tokens        INTEGER NOT NULL,
    micro_usd     INTEGER NOT NULL,
    unpriced      INTEGER NOT NULL,
    started_ms    INTEGER NOT NULL,
    updated_ms    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- `request`: what a request that is under way may use, under the request's id. `run`: a worker's place in the line of those
-- that run, under the worker's id; the first `running_max` of a tree run, the others wait.
CREATE TABLE reservations (
    seq       INTEGER PRIMARY KEY,
    id        BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
    root      BLOB NOT NULL REFERENCES budgets (root),
    agent     BLOB NOT NULL REFERENCES agents (id),
    owner     TEXT NOT NULL,
    kind      TEXT NOT NULL,
    tokens    INTEGER NOT NULL,
    micro_usd INTEGER NOT NULL,
    at_ms     INTEGER NOT NULL
) STRICT;

CREATE INDEX reservations_by_root ON reservations (root);
CREATE INDEX reservations_by_agent ON reservations (agent);

PRAGMA user_version = 5;
