-- Version 17. What a fork of another program's conversation goes on from.

-- `upstream` is the base URL that the program's requests go on to, `account` tells the caches of two accounts apart and tells nothing of
-- a key, and `gateway` is the socket of the gateway that they passed last (null where it has none).
ALTER TABLE guests ADD COLUMN upstream TEXT NOT NULL DEFAULT '';
ALTER TABLE guests ADD COLUMN account TEXT NOT NULL DEFAULT '';
ALTER TABLE guests ADD COLUMN gateway TEXT;

-- The last request of a guest, in the caller's compression. It is replaced by the next one.
CREATE TABLE guest_requests (
    agent BLOB NOT NULL PRIMARY KEY REFERENCES agents (id),
    body  BLOB NOT NULL
) STRICT;

PRAGMA user_version = 17;
