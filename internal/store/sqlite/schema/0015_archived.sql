-- Version 15: trees that were archived are in no list but their own. What lists are read by has them apart.

ALTER TABLE sessions ADD COLUMN archived INTEGER NOT NULL DEFAULT 0 CHECK (archived IN (0, 1));

DROP INDEX roots_by_folder;
DROP INDEX roots_by_person;
DROP INDEX roots_by_text;
CREATE INDEX roots_by_age ON sessions (archived) WHERE parent = '';
CREATE INDEX roots_by_folder ON sessions (cwd, archived) WHERE parent = '';
CREATE INDEX roots_by_person ON sessions (begun_by, archived) WHERE parent = '';
CREATE INDEX roots_by_text ON sessions (born, lower(title || char(1) || name), archived) WHERE parent = '';

DROP VIEW subagent_results;
DROP VIEW agent_status;

CREATE VIEW agent_status AS SELECT
	root AS tree, id AS session, nullif(parent, '') AS parent, nullif(name, '') AS name, nullif(title, '') AS title,
	type, model, cwd AS folder, nullif(begun_by, '') AS begun_by,
	status, nullif(waiting, '') AS waiting, nullif(cause, '') AS cause, asleep_at <> 0 AS asleep,
	run, turns, tool_uses, input AS input_tokens, output AS output_tokens, cache_read AS cache_read_tokens,
	cache_write AS cache_write_tokens, cost / 1e9 AS cost_usd,
	strftime('%Y-%m-%dT%H:%M:%S', created_at / 1000000000, 'unixepoch') || printf('.%03dZ', created_at / 1000000 % 1000)
		AS created_at,
	CASE WHEN started_at <> 0 THEN strftime('%Y-%m-%dT%H:%M:%S', started_at / 1000000000, 'unixepoch') ||
		printf('.%03dZ', started_at / 1000000 % 1000) END AS started_at,
	CASE WHEN ended_at <> 0 THEN strftime('%Y-%m-%dT%H:%M:%S', ended_at / 1000000000, 'unixepoch') ||
		printf('.%03dZ', ended_at / 1000000 % 1000) END AS ended_at,
	archived <> 0 AS archived
FROM sessions;

CREATE VIEW subagent_results AS SELECT
	s.tree, s.parent AS parent_session_id, s.session AS subagent_session_id, s.name, s.title AS task,
	CASE s.status WHEN 'waiting' THEN 'running' WHEN 'max_turns' THEN 'max_iterations' ELSE s.status END AS status,
	CASE WHEN s.status = 'completed' THEN t.result END AS result,
	CASE WHEN s.ended_at IS NOT NULL THEN nullif(t.error, '') END AS error,
	s.turns AS iterations, s.tool_uses AS tool_calls_count, s.cost_usd, s.created_at, s.ended_at AS completed_at
FROM agent_status s JOIN sessions t ON t.root = s.tree AND t.id = s.session
WHERE s.parent IS NOT NULL;
