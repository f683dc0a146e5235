-- Version 13. Agents that were removed for good, and whose row others still need.

-- When an agent was removed, in milliseconds since the Unix epoch. Its row and the entries that others have inherited stay for as long as
-- there are such others, and go with the last of them.
ALTER TABLE agents ADD COLUMN removed_ms INTEGER;

PRAGMA user_version = 13;
