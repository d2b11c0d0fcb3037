-- Version 9: where a session's tools act, if that is not the folder it was begun in: a troupe.Workspace as JSON.

ALTER TABLE sessions ADD COLUMN workspace TEXT NOT NULL DEFAULT '';
