-- Version 13: who began each tree, and what lists of roots are read by.

ALTER TABLE sessions ADD COLUMN begun_by TEXT NOT NULL DEFAULT '';

UPDATE sessions SET begun_by = coalesce((
	SELECT CASE WHEN json_valid(CAST(body AS TEXT)) THEN CAST(body AS TEXT) ->> '$.caller.name' END
	FROM events e WHERE e.root = sessions.root AND e.session = sessions.id AND e.seq = 1), '')
WHERE parent = '';

CREATE INDEX roots_by_folder ON sessions (cwd) WHERE parent = '';
CREATE INDEX roots_by_person ON sessions (begun_by) WHERE parent = '';
-- Most statuses change with every turn, and so stand in no index: these are the few rows in which the rare ones are.
CREATE INDEX roots_live ON sessions (born) WHERE parent = '' AND ended_at = 0;
CREATE INDEX roots_failed ON sessions (born) WHERE parent = '' AND cause <> '';
-- A text that is looked for is compared with what stands here; rows are read of what it found alone.
CREATE INDEX roots_by_text ON sessions (born, lower(title || char(1) || name)) WHERE parent = '';
