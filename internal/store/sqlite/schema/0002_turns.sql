-- The most model replies that all sessions of a tree may have together; 0: no limit.
ALTER TABLE trees ADD COLUMN max_turns INTEGER NOT NULL DEFAULT 0 CHECK (max_turns >= 0);
