-- Version 4. Tasks that are taken up again, and what is asked of whoever runs an agent.

-- `description` is the task in a few words, `definition` the name of the agent that the worker was started as, `resumes` how often it was taken up again, `flags` what the checks of its end have
-- seen (their words, with blanks between them), `cleared_ms` when its spawner took it off the list.
ALTER TABLE tasks ADD COLUMN description TEXT;
ALTER TABLE tasks ADD COLUMN definition TEXT;
ALTER TABLE tasks ADD COLUMN resumes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tasks ADD COLUMN flags TEXT NOT NULL DEFAULT '';
ALTER TABLE tasks ADD COLUMN cleared_ms INTEGER;

-- `stop` is what somebody has asked of the one who runs the agent; a run that ends takes it away. `follow_up` is what the agent is
-- to be told when it has nothing left to do.
ALTER TABLE agents ADD COLUMN stop TEXT;
ALTER TABLE agents ADD COLUMN follow_up TEXT;

PRAGMA user_version = 4;
