-- What the sessions of a tree share and is too large for a log (settings, offered tools): each
-- body once, by the hash of its content.
CREATE TABLE documents (
	root TEXT NOT NULL,
	hash TEXT NOT NULL CHECK (hash <> ''),
	body BLOB NOT NULL,
	PRIMARY KEY (root, hash)
) STRICT;
