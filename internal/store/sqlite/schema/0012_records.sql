-- Version 12: small values that belong to no tree. The row without a kind holds the last version that was given.

CREATE TABLE records (
	kind    TEXT    NOT NULL,
	key     TEXT    NOT NULL,
	version INTEGER NOT NULL CHECK (version >= 0),
	value   BLOB    NOT NULL,
	PRIMARY KEY (kind, key)
) STRICT, WITHOUT ROWID;

INSERT INTO records (kind, key, version, value) VALUES ('', '', 0, x'');
