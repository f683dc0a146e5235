-- Version 14. What agents were asked first, so that people find them again.

-- The first words to the agent itself; null before there are any.
ALTER TABLE agents ADD COLUMN title TEXT;

PRAGMA user_version = 14;
