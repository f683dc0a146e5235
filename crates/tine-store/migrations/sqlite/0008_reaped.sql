-- Version 8. Dead agents that nobody wants to see any more.

-- When a dead agent was taken off the lists, in milliseconds since the Unix epoch. Its rows stay: descendants inherit them, and what it
-- spent was spent.
ALTER TABLE agents ADD COLUMN reaped_ms INTEGER;

PRAGMA user_version = 8;
