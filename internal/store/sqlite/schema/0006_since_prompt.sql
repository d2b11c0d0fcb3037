-- Version 6: agents are counted from a person's last words on.

ALTER TABLE trees ADD COLUMN since_prompt INTEGER NOT NULL DEFAULT 0 CHECK (since_prompt >= 0);
