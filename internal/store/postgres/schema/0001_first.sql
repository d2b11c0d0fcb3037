-- Version 1.
--
-- Every table of a tree has its root first in its key, and no transaction leaves one tree. owners is the exception, and
-- so are the indexes that find a session or a request by its id, or a root by its name, alone. Times are nanoseconds
-- since 1970 in UTC; 0 is "not yet". Money is billionths of a dollar. A text that PostgreSQL cannot hold (a NUL, or
-- bytes that are not UTF-8) stands as E'\x01' and its base64.

CREATE TABLE trees (
	root         TEXT   COLLATE "C" NOT NULL PRIMARY KEY,
	max_depth    BIGINT NOT NULL CHECK (max_depth >= 0),
	max_active   BIGINT NOT NULL CHECK (max_active >= 0),
	max_total    BIGINT NOT NULL CHECK (max_total >= 0),
	max_tokens   BIGINT NOT NULL CHECK (max_tokens >= 0),
	max_cost     BIGINT NOT NULL CHECK (max_cost >= 0),
	ask_above    BIGINT NOT NULL CHECK (ask_above >= 0),
	max_turns    BIGINT NOT NULL CHECK (max_turns >= 0),
	total        BIGINT NOT NULL DEFAULT 0 CHECK (total >= 0),
	since_prompt BIGINT NOT NULL DEFAULT 0 CHECK (since_prompt >= 0),
	active       BIGINT NOT NULL DEFAULT 0 CHECK (active >= 0),
	input        BIGINT NOT NULL DEFAULT 0 CHECK (input >= 0),
	output       BIGINT NOT NULL DEFAULT 0 CHECK (output >= 0),
	cache_read   BIGINT NOT NULL DEFAULT 0 CHECK (cache_read >= 0),
	cache_write  BIGINT NOT NULL DEFAULT 0 CHECK (cache_write >= 0),
	cost         BIGINT NOT NULL DEFAULT 0 CHECK (cost >= 0),
	turns        BIGINT NOT NULL DEFAULT 0 CHECK (turns >= 0),
	tool_uses    BIGINT NOT NULL DEFAULT 0 CHECK (tool_uses >= 0),
	held_tokens  BIGINT NOT NULL DEFAULT 0 CHECK (held_tokens >= 0), -- reserved for calls under way
	held_cost    BIGINT NOT NULL DEFAULT 0 CHECK (held_cost >= 0),
	held_turns   BIGINT NOT NULL DEFAULT 0 CHECK (held_turns >= 0),
	changed      BIGINT NOT NULL DEFAULT 0 -- the transaction that last appended to one of its logs
) WITH (fillfactor = 50);

CREATE INDEX trees_changed ON trees (changed);

-- The last transaction that a process has committed in a tree, by its own count: what a commit without an answer came
-- to is read here. The number of a transaction does not tell: after a crash of the server it can be another one's.
CREATE TABLE commits (
	root    TEXT   COLLATE "C" NOT NULL,
	process TEXT   COLLATE "C" NOT NULL,
	number  BIGINT NOT NULL,
	at      TIMESTAMPTZ NOT NULL,
	PRIMARY KEY (root, process)
) WITH (fillfactor = 50);

-- A tree that was removed: who watches has to know that something is gone.
CREATE TABLE removed (
	root    TEXT   COLLATE "C" NOT NULL,
	changed BIGINT NOT NULL,
	at      TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
	PRIMARY KEY (root, changed)
);

CREATE INDEX removed_changed ON removed (changed);

-- The projection of each session's log, and the lease that fences its writers. The CHECKs repeat the status machine of
-- docs/state.md.
CREATE TABLE sessions (
	born        BIGINT GENERATED ALWAYS AS IDENTITY, -- the order of birth in a tree
	root        TEXT   COLLATE "C" NOT NULL,
	id          TEXT   COLLATE "C" NOT NULL,
	parent      TEXT   COLLATE "C" NOT NULL,
	reply       BIGINT NOT NULL,
	call        BIGINT NOT NULL,
	name        TEXT   COLLATE "C" NOT NULL,
	title       TEXT   NOT NULL,
	depth       BIGINT NOT NULL,
	cwd         TEXT   COLLATE "C" NOT NULL,
	type        TEXT   NOT NULL,
	model       TEXT   NOT NULL,
	status      TEXT   COLLATE "C" NOT NULL CHECK (status IN
		('spawning', 'running', 'waiting', 'completed', 'failed', 'cancelled', 'max_turns')),
	waiting     TEXT   COLLATE "C" NOT NULL,
	cause       TEXT   COLLATE "C" NOT NULL,
	run         BIGINT NOT NULL CHECK (run >= 0),
	seq         BIGINT NOT NULL CHECK (seq >= 0),
	input       BIGINT NOT NULL CHECK (input >= 0),
	output      BIGINT NOT NULL CHECK (output >= 0),
	cache_read  BIGINT NOT NULL CHECK (cache_read >= 0),
	cache_write BIGINT NOT NULL CHECK (cache_write >= 0),
	cost        BIGINT NOT NULL CHECK (cost >= 0),
	turns       BIGINT NOT NULL CHECK (turns >= 0),
	tool_uses   BIGINT NOT NULL CHECK (tool_uses >= 0),
	result      TEXT   NOT NULL,
	error       TEXT   NOT NULL,
	created_at  BIGINT NOT NULL,
	started_at  BIGINT NOT NULL,
	ended_at    BIGINT NOT NULL,
	until       BIGINT NOT NULL CHECK (until = 0 OR status = 'waiting'), -- when it looks again by itself
	held_tokens BIGINT NOT NULL CHECK (held_tokens >= 0),
	held_cost   BIGINT NOT NULL CHECK (held_cost >= 0),
	held_turns  BIGINT NOT NULL CHECK (held_turns >= 0),
	cut         BIGINT NOT NULL CHECK (cut IN (0, 1)),
	workspace   TEXT   NOT NULL,
	team        TEXT   NOT NULL,
	asleep_at   BIGINT NOT NULL,
	owner       TEXT   COLLATE "C" NOT NULL,
	epoch       BIGINT NOT NULL,
	changed     BIGINT NOT NULL DEFAULT 0, -- the transaction that last appended to its log
	PRIMARY KEY (root, id),
	CONSTRAINT root_or_child CHECK (
		(parent = '' AND id = root AND depth = 0 AND reply = 0 AND call = 0) OR
		(parent <> '' AND id <> root AND depth > 0 AND name <> '')),
	CONSTRAINT waits_for_something CHECK (CASE WHEN status = 'waiting'
		THEN waiting IN ('model', 'approval', 'question', 'children', 'mail') ELSE waiting = '' END),
	CONSTRAINT cause_of_end CHECK (CASE WHEN status IN ('failed', 'cancelled', 'max_turns')
		THEN cause IN ('error', 'permission', 'limit', 'interrupted', 'refusal', 'no_model') ELSE cause = '' END),
	CONSTRAINT ended_when_over CHECK ((ended_at <> 0) = (status IN ('completed', 'failed', 'cancelled', 'max_turns'))),
	CONSTRAINT started_when_running CHECK (CASE WHEN status IN ('running', 'waiting', 'completed', 'max_turns')
		THEN run > 0 AND started_at <> 0 ELSE run > 0 OR started_at = 0 END)
) WITH (fillfactor = 70);

CREATE UNIQUE INDEX sessions_by_id ON sessions (id);
CREATE UNIQUE INDEX sessions_by_coord ON sessions (root, parent, reply, call) WHERE parent <> '';
CREATE UNIQUE INDEX sessions_by_name ON sessions (root, parent, lower(name)) WHERE parent <> '';
CREATE UNIQUE INDEX roots_by_name ON sessions (lower(name)) WHERE parent = '' AND name <> '';
CREATE INDEX sessions_by_birth ON sessions (root, born);

CREATE TABLE events (
	root    TEXT   COLLATE "C" NOT NULL,
	session TEXT   COLLATE "C" NOT NULL,
	seq     BIGINT NOT NULL CHECK (seq > 0),
	at      BIGINT NOT NULL,
	kind    TEXT   COLLATE "C" NOT NULL,
	body    BYTEA  NOT NULL,
	PRIMARY KEY (root, session, seq)
);

-- A row outlives its delivery, so that sending twice stays one piece of mail; its content then stands in the event
-- that delivered it.
CREATE TABLE mail (
	sent      BIGINT GENERATED ALWAYS AS IDENTITY, -- the order of sending in a tree
	root      TEXT   COLLATE "C" NOT NULL,
	receiver  TEXT   COLLATE "C" NOT NULL,
	id        TEXT   COLLATE "C" NOT NULL,
	delivered BIGINT NOT NULL CHECK (delivered >= 0), -- by the event with this number; 0: not yet
	body      BYTEA  CHECK ((body IS NULL) = (delivered <> 0)),
	PRIMARY KEY (root, receiver, id)
);

CREATE INDEX mail_unread ON mail (root, receiver, sent) WHERE delivered = 0;

-- What the sessions of a tree share and is too large for a log, by the hash of its content.
CREATE TABLE documents (
	root TEXT  COLLATE "C" NOT NULL,
	hash TEXT  COLLATE "C" NOT NULL CHECK (hash <> ''),
	body BYTEA NOT NULL,
	PRIMARY KEY (root, hash)
);

-- The requests of a tree: each is open until it is settled. body holds what it says, in the form of the event that
-- opened it.
CREATE TABLE requests (
	asked   BIGINT GENERATED ALWAYS AS IDENTITY, -- the order of opening in a tree
	root    TEXT   COLLATE "C" NOT NULL,
	id      TEXT   COLLATE "C" NOT NULL,
	session TEXT   COLLATE "C" NOT NULL,
	reply   BIGINT NOT NULL,
	call    BIGINT NOT NULL,
	opened  BIGINT NOT NULL,
	settled BIGINT NOT NULL CHECK (settled >= 0), -- 0: it is open
	body    BYTEA  NOT NULL,
	answer  BYTEA  CHECK (answer IS NULL OR settled <> 0),
	PRIMARY KEY (root, id)
);

CREATE UNIQUE INDEX requests_by_id ON requests (id);
CREATE INDEX requests_open ON requests (asked) WHERE settled = 0;

-- Processes. One lives as long as it beats, by the clock of the database.
CREATE TABLE owners (
	registered BIGINT GENERATED ALWAYS AS IDENTITY,
	id         TEXT   COLLATE "C" NOT NULL PRIMARY KEY,
	pid        BIGINT NOT NULL,
	host       TEXT   NOT NULL,
	socket     TEXT   NOT NULL,
	started_at BIGINT NOT NULL,
	beat       TIMESTAMPTZ NOT NULL,
	released   BOOLEAN NOT NULL DEFAULT false
);
