-- The requests of a tree: each a question to somebody with authority, open until it is settled. A row
-- is a projection of the events that opened and settled it; body holds what the request says, in the
-- form of the first.
CREATE TABLE requests (
	asked   INTEGER PRIMARY KEY, -- the row number: the order of opening
	root    TEXT    NOT NULL,
	id      TEXT    NOT NULL,
	session TEXT    NOT NULL,
	reply   INTEGER NOT NULL,
	call    INTEGER NOT NULL,
	opened  INTEGER NOT NULL,
	settled INTEGER NOT NULL CHECK (settled >= 0), -- 0: it is open
	body    BLOB    NOT NULL,
	answer  BLOB    CHECK (answer IS NULL OR settled <> 0),
	UNIQUE (root, id)
) STRICT;

-- An id is known without its tree, as a session's is.
CREATE UNIQUE INDEX requests_by_id ON requests (id);
CREATE INDEX requests_open ON requests (asked) WHERE settled = 0;

-- What is open in a database of an earlier version, from the logs: asked about, and neither answered
-- nor done since. The nth request about a call has n in its id, from the second on.
INSERT INTO requests (root, id, session, reply, call, opened, settled, body)
SELECT o.root, o.session || '.' || o.reply || '.' || o.call || CASE WHEN o.nth > 1 THEN '.' || o.nth ELSE '' END,
	o.session, o.reply, o.call, o.at, 0, o.body
FROM (
	SELECT e.root, e.session, e.seq, e.at, e.body,
		coalesce(json_extract(CAST(e.body AS TEXT), '$.reply'), 0) AS reply,
		coalesce(json_extract(CAST(e.body AS TEXT), '$.call'), 0) AS call,
		row_number() OVER (PARTITION BY e.root, e.session, json_extract(CAST(e.body AS TEXT), '$.reply'),
			json_extract(CAST(e.body AS TEXT), '$.call') ORDER BY e.seq) AS nth
	FROM sessions s JOIN events e ON e.root = s.root AND e.session = s.id
	WHERE s.ended_at = 0 AND e.kind = 'request.opened'
) o
WHERE NOT EXISTS (
	SELECT 1 FROM events a WHERE a.root = o.root AND a.session = o.session AND a.seq > o.seq AND (
		(a.kind = 'request.answered' AND
			coalesce(json_extract(CAST(a.body AS TEXT), '$.reply'), 0) = o.reply AND
			coalesce(json_extract(CAST(a.body AS TEXT), '$.call'), 0) = o.call) OR
		(a.kind = 'tool.finished' AND
			coalesce(json_extract(CAST(a.body AS TEXT), '$.result.reply'), 0) = o.reply AND
			coalesce(json_extract(CAST(a.body AS TEXT), '$.result.call'), 0) = o.call))
)
ORDER BY o.at, o.root, o.session, o.seq;
