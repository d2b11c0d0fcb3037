-- Version 5: model replies are reserved for calls under way, as tokens and money are.

ALTER TABLE trees ADD COLUMN held_turns INTEGER NOT NULL DEFAULT 0 CHECK (held_turns >= 0);
ALTER TABLE sessions ADD COLUMN held_turns INTEGER NOT NULL DEFAULT 0 CHECK (held_turns >= 0);
