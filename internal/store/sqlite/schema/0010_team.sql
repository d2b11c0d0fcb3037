-- Version 10: the team that a session is a member of, which its parent leads.

ALTER TABLE sessions ADD COLUMN team TEXT NOT NULL DEFAULT '';
