-- Version 9. What the commands and file tools of an agent may touch.

-- An object of JSON: `writes` is open, directory, read-only or notes, with the directory of `notes`; `writable` are more directories;
-- `network` says whether commands may use it.
ALTER TABLE agents ADD COLUMN reach TEXT NOT NULL
    DEFAULT '{"writes":"open","notes":null,"writable":[],"network":true}';

-- Older agents were confined by each run for itself. Workers were by default, so they are from now on, and so is whoever was forked from
-- one of them.
WITH RECURSIVE confined (id) AS (
    SELECT id FROM agents WHERE standing = 'worker'
    UNION SELECT a.id FROM confined JOIN agents a ON a.parent = confined.id
)
UPDATE agents SET reach = '{"writes":"directory","notes":null,"writable":[],"network":false}'
    WHERE id IN (SELECT id FROM confined);

PRAGMA user_version = 9;
