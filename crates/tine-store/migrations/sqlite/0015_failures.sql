-- Version 15. Why an agent's last run failed.

-- The cause in words, in a line; null where the last run did not fail, and while one is under way.
ALTER TABLE agents ADD COLUMN failure TEXT;

PRAGMA user_version = 15;
