-- Version 4: what people and other programs read, see docs/operating.md. Columns are added to a view and never
-- renamed. Views lock no table, and so a server at work goes on.

CREATE VIEW agent_status AS SELECT
	root AS tree, id AS session, nullif(parent, '') AS parent, nullif(name, '') AS name, nullif(title, '') AS title,
	type, model, cwd AS folder, nullif(begun_by, '') AS begun_by,
	status, nullif(waiting, '') AS waiting, nullif(cause, '') AS cause, asleep_at <> 0 AS asleep,
	run, turns, tool_uses, input AS input_tokens, output AS output_tokens, cache_read AS cache_read_tokens,
	cache_write AS cache_write_tokens, (cost / 1e9)::double precision AS cost_usd,
	to_timestamp(created_at / 1e9) AS created_at,
	CASE WHEN started_at <> 0 THEN to_timestamp(started_at / 1e9) END AS started_at,
	CASE WHEN ended_at <> 0 THEN to_timestamp(ended_at / 1e9) END AS ended_at
FROM sessions;

CREATE VIEW subagent_results AS SELECT
	s.tree, s.parent AS parent_session_id, s.session AS subagent_session_id, s.name, s.title AS task,
	CASE s.status WHEN 'waiting' THEN 'running' WHEN 'max_turns' THEN 'max_iterations' ELSE s.status END AS status,
	CASE WHEN s.status = 'completed' THEN t.result END AS result,
	CASE WHEN s.ended_at IS NOT NULL THEN nullif(t.error, '') END AS error,
	s.turns AS iterations, s.tool_uses AS tool_calls_count, s.cost_usd, s.created_at, s.ended_at AS completed_at
FROM agent_status s JOIN sessions t ON t.root = s.tree AND t.id = s.session
WHERE s.parent IS NOT NULL;
