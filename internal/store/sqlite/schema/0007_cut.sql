-- Version 7: a session knows that the end of its log was lost once, so that its bill may be incomplete.

ALTER TABLE sessions ADD COLUMN cut INTEGER NOT NULL DEFAULT 0 CHECK (cut IN (0, 1));
