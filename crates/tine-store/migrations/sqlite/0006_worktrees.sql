-- Version 6. Worktrees that were made for agents.

-- One row an agent, written with it. `path` is where its files are, or were; `origin` the directory of the checkout that it was forked
-- from; `repository` what all checkouts of the repository share. `files` and `commits` say what it had done when it was last looked
-- at: how many files differ from the start, and how many commits it made. `removed_ms` is when it was removed; what it held is kept by refs.
CREATE TABLE worktrees (
    agent BLOB PRIMARY KEY NOT NULL REFERENCES agents (id),
    path TEXT NOT NULL,
    origin TEXT NOT NULL,
    repository TEXT NOT NULL,
    files INTEGER NOT NULL DEFAULT 0,
    commits INTEGER NOT NULL DEFAULT 0,
    made_ms INTEGER NOT NULL,
    removed_ms INTEGER
) STRICT, WITHOUT ROWID;

PRAGMA user_version = 6;
