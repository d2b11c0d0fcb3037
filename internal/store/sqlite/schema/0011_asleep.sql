-- Version 11: when the tree of a root was put away; 0: it was not.

ALTER TABLE sessions ADD COLUMN asleep_at INTEGER NOT NULL DEFAULT 0;
