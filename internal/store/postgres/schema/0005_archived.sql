-- Version 5: trees that were archived are in no list but their own. What lists are read by has them apart. The table is
-- locked for as long as the indexes are made; what is at work waits that long.

ALTER TABLE sessions ADD COLUMN archived BIGINT NOT NULL DEFAULT 0 CHECK (archived IN (0, 1));

DROP INDEX roots_by_person;
DROP INDEX roots_by_text;
CREATE INDEX roots_by_person ON sessions (begun_by, archived, born) WHERE parent = '';
CREATE INDEX roots_by_text ON sessions (archived, born) INCLUDE (words) WHERE parent = '';

CREATE OR REPLACE VIEW agent_status AS SELECT
	root AS tree, id AS session, nullif(parent, '') AS parent, nullif(name, '') AS name, nullif(title, '') AS title,
	type, model, cwd AS folder, nullif(begun_by, '') AS begun_by,
	status, nullif(waiting, '') AS waiting, nullif(cause, '') AS cause, asleep_at <> 0 AS asleep,
	run, turns, tool_uses, input AS input_tokens, output AS output_tokens, cache_read AS cache_read_tokens,
	cache_write AS cache_write_tokens, (cost / 1e9)::double precision AS cost_usd,
	to_timestamp(created_at / 1e9) AS created_at,
	CASE WHEN started_at <> 0 THEN to_timestamp(started_at / 1e9) END AS started_at,
	CASE WHEN ended_at <> 0 THEN to_timestamp(ended_at / 1e9) END AS ended_at,
	archived <> 0 AS archived
FROM sessions;
