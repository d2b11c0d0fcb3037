-- Version 8: what documents hold stands once for all trees. Most runs keep the same definitions of agents, which may
-- be a megabyte, and only say which. A body is there as long as a tree has a document of its hash.

CREATE TABLE bodies (
	hash TEXT NOT NULL PRIMARY KEY CHECK (hash <> ''),
	body BLOB NOT NULL
) STRICT;

INSERT OR IGNORE INTO bodies (hash, body) SELECT hash, body FROM documents;
ALTER TABLE documents DROP COLUMN body;
CREATE INDEX documents_by_hash ON documents (hash);
