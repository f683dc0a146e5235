-- Version 10. A process of a version before 9 that still runs adds agents without a reach. Its workers must not become open.

-- The column again, without a default: SQLite changes no default in place.
ALTER TABLE agents RENAME COLUMN reach TO reach_before;
ALTER TABLE agents ADD COLUMN reach TEXT;
UPDATE agents SET reach = reach_before;
ALTER TABLE agents DROP COLUMN reach_before;

-- A worker of an open agent gets its directory, and everybody else the reach of its parent, which is never wider.
CREATE TRIGGER reach_of_older_programs AFTER INSERT ON agents WHEN NEW.reach IS NULL
BEGIN
    UPDATE agents SET reach = coalesce(
        (SELECT CASE
            WHEN NEW.standing = 'worker' AND json_extract(parent.reach, '$.writes') = 'open'
            THEN '{"writes":"directory","notes":null,"writable":[],"network":false}'
            ELSE parent.reach
        END FROM agents parent WHERE parent.id = NEW.parent),
        '{"writes":"open","notes":null,"writable":[],"network":true}'
    ) WHERE id = NEW.id;
END;

PRAGMA user_version = 10;
