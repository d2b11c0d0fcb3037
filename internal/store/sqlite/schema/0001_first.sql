-- Version 1.
--
-- Tables that belong to a tree have its root first in their key; owners is the exception,
-- and so are the indexes that find a session by its id or a root by its name alone.
-- Times are nanoseconds since 1970 in UTC; 0 is "not yet". Money is billionths of a dollar.

CREATE TABLE trees (
	root        TEXT    NOT NULL PRIMARY KEY,
	max_depth   INTEGER NOT NULL CHECK (max_depth >= 0),
	max_active  INTEGER NOT NULL CHECK (max_active >= 0),
	max_total   INTEGER NOT NULL CHECK (max_total >= 0),
	max_tokens  INTEGER NOT NULL CHECK (max_tokens >= 0),
	max_cost    INTEGER NOT NULL CHECK (max_cost >= 0),
	ask_above   INTEGER NOT NULL CHECK (ask_above >= 0),
	total       INTEGER NOT NULL DEFAULT 0 CHECK (total >= 0),
	active      INTEGER NOT NULL DEFAULT 0 CHECK (active >= 0),
	input       INTEGER NOT NULL DEFAULT 0 CHECK (input >= 0),
	output      INTEGER NOT NULL DEFAULT 0 CHECK (output >= 0),
	cache_read  INTEGER NOT NULL DEFAULT 0 CHECK (cache_read >= 0),
	cache_write INTEGER NOT NULL DEFAULT 0 CHECK (cache_write >= 0),
	cost        INTEGER NOT NULL DEFAULT 0 CHECK (cost >= 0),
	turns       INTEGER NOT NULL DEFAULT 0 CHECK (turns >= 0),
	tool_uses   INTEGER NOT NULL DEFAULT 0 CHECK (tool_uses >= 0),
	held_tokens INTEGER NOT NULL DEFAULT 0 CHECK (held_tokens >= 0), -- reserved for calls under way
	held_cost   INTEGER NOT NULL DEFAULT 0 CHECK (held_cost >= 0)
) STRICT, WITHOUT ROWID;

-- The projection of each session's log, and the lease that fences its writers. The CHECKs
-- repeat the status machine of docs/state.md. They have no IN with more than two values: for
-- such a list SQLite builds a table anew in each statement, which cost a birth a third of its
-- time.
CREATE TABLE sessions (
	born        INTEGER PRIMARY KEY, -- the row number: the order of birth
	root        TEXT    NOT NULL,
	id          TEXT    NOT NULL,
	parent      TEXT    NOT NULL,
	reply       INTEGER NOT NULL,
	call        INTEGER NOT NULL,
	name        TEXT    NOT NULL COLLATE NOCASE,
	title       TEXT    NOT NULL,
	depth       INTEGER NOT NULL,
	cwd         TEXT    NOT NULL,
	type        TEXT    NOT NULL,
	model       TEXT    NOT NULL,
	status      TEXT    NOT NULL CHECK (status = 'spawning' OR status = 'running' OR status = 'waiting' OR
		status = 'completed' OR status = 'failed' OR status = 'cancelled' OR status = 'max_turns'),
	waiting     TEXT    NOT NULL,
	cause       TEXT    NOT NULL,
	run         INTEGER NOT NULL CHECK (run >= 0),
	seq         INTEGER NOT NULL CHECK (seq >= 0),
	input       INTEGER NOT NULL CHECK (input >= 0),
	output      INTEGER NOT NULL CHECK (output >= 0),
	cache_read  INTEGER NOT NULL CHECK (cache_read >= 0),
	cache_write INTEGER NOT NULL CHECK (cache_write >= 0),
	cost        INTEGER NOT NULL CHECK (cost >= 0),
	turns       INTEGER NOT NULL CHECK (turns >= 0),
	tool_uses   INTEGER NOT NULL CHECK (tool_uses >= 0),
	result      TEXT    NOT NULL,
	error       TEXT    NOT NULL,
	created_at  INTEGER NOT NULL,
	started_at  INTEGER NOT NULL,
	ended_at    INTEGER NOT NULL,
	until       INTEGER NOT NULL CHECK (until = 0 OR status = 'waiting'), -- when it looks again by itself
	held_tokens INTEGER NOT NULL CHECK (held_tokens >= 0),
	held_cost   INTEGER NOT NULL CHECK (held_cost >= 0),
	owner       TEXT    NOT NULL,
	epoch       INTEGER NOT NULL,
	UNIQUE (root, id),
	CONSTRAINT root_or_child CHECK (
		(parent = '' AND id = root AND depth = 0 AND reply = 0 AND call = 0) OR
		(parent <> '' AND id <> root AND depth > 0 AND name <> '')),
	CONSTRAINT waits_for_something CHECK (CASE WHEN status = 'waiting'
		THEN waiting = 'model' OR waiting = 'approval' OR waiting = 'question' OR waiting = 'children' OR waiting = 'mail'
		ELSE waiting = '' END),
	CONSTRAINT cause_of_end CHECK (CASE WHEN status = 'failed' OR status = 'cancelled' OR status = 'max_turns'
		THEN cause = 'error' OR cause = 'permission' OR cause = 'limit' OR cause = 'interrupted' OR
			cause = 'refusal' OR cause = 'no_model'
		ELSE cause = '' END),
	CONSTRAINT ended_when_over CHECK ((ended_at <> 0) =
		(status = 'completed' OR status = 'failed' OR status = 'cancelled' OR status = 'max_turns')),
	CONSTRAINT started_when_running CHECK (CASE
		WHEN status = 'running' OR status = 'waiting' OR status = 'completed' OR status = 'max_turns'
		THEN run > 0 AND started_at <> 0
		ELSE run > 0 OR started_at = 0 END)
) STRICT;

-- An id is known without its tree: people type it, and unique prefixes of it.
CREATE UNIQUE INDEX sessions_by_id ON sessions (id);
CREATE UNIQUE INDEX sessions_by_coord ON sessions (root, parent, reply, call) WHERE parent <> '';
CREATE UNIQUE INDEX sessions_by_name ON sessions (root, parent, name) WHERE parent <> '';
CREATE UNIQUE INDEX roots_by_name ON sessions (name) WHERE parent = '' AND name <> '';

CREATE TABLE events (
	root    TEXT    NOT NULL,
	session TEXT    NOT NULL,
	seq     INTEGER NOT NULL CHECK (seq > 0),
	at      INTEGER NOT NULL,
	kind    TEXT    NOT NULL,
	body    BLOB    NOT NULL,
	PRIMARY KEY (root, session, seq)
) STRICT;

-- A row outlives its delivery, so that sending twice stays one piece of mail; its content
-- then stands in the event that delivered it.
CREATE TABLE mail (
	sent      INTEGER PRIMARY KEY, -- the row number: the order of sending
	root      TEXT    NOT NULL,
	receiver  TEXT    NOT NULL,
	id        TEXT    NOT NULL,
	delivered INTEGER NOT NULL CHECK (delivered >= 0), -- by the event with this number; 0: not yet
	body      BLOB    CHECK ((body IS NULL) = (delivered <> 0)),
	UNIQUE (root, receiver, id)
) STRICT;

CREATE INDEX mail_unread ON mail (root, receiver, sent) WHERE delivered = 0;

-- Processes. Whether one is alive is not written here: it is whether it holds its lock.
CREATE TABLE owners (
	registered INTEGER PRIMARY KEY,
	id         TEXT    NOT NULL UNIQUE,
	pid        INTEGER NOT NULL,
	host       TEXT    NOT NULL,
	socket     TEXT    NOT NULL,
	started_at INTEGER NOT NULL
) STRICT;
