-- Version 3: who began each tree, and what lists of roots are read by. What changes with every turn, as statuses do,
-- stands in no index: an update of it would have to write all of them.

ALTER TABLE sessions ADD COLUMN begun_by TEXT COLLATE "C" NOT NULL DEFAULT '';

UPDATE sessions SET begun_by = coalesce((
	SELECT convert_from(body, 'UTF8')::jsonb #>> '{caller,name}'
	FROM events e WHERE e.root = sessions.root AND e.session = sessions.id AND e.seq = 1), '')
WHERE parent = '';

-- By its hash: a path may be longer than an entry of an index.
CREATE INDEX roots_by_folder ON sessions USING hash (cwd) WHERE parent = '';
CREATE INDEX roots_by_person ON sessions (begun_by, born) WHERE parent = '';
CREATE INDEX roots_live ON sessions (born) WHERE parent = '' AND ended_at = 0;
CREATE INDEX roots_failed ON sessions (born) WHERE parent = '' AND cause <> '';

-- A text that is looked for is compared with what stands in the index; rows are read of what it found alone.
ALTER TABLE sessions ADD COLUMN words TEXT COLLATE "C" GENERATED ALWAYS AS
	(lower((left(title, 200) || chr(1) || left(name, 200)) COLLATE "C")) STORED;
CREATE INDEX roots_by_text ON sessions (born) INCLUDE (words) WHERE parent = '';
