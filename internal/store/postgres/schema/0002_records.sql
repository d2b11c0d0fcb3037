-- Version 2: small values that belong to no tree. No version is given twice, to whatever record.

CREATE SEQUENCE record_versions;

CREATE TABLE records (
	kind    TEXT   COLLATE "C" NOT NULL,
	key     TEXT   COLLATE "C" NOT NULL,
	version BIGINT NOT NULL,
	value   BYTEA  NOT NULL,
	PRIMARY KEY (kind, key)
);
