-- Schema 5. What a record is about, by a key that its writer gives: a later record of the same agent, team, scope and
-- bucket with the same key replaces it.

ALTER TABLE records ADD COLUMN semantic_key VARCHAR;
ALTER TABLE records ADD COLUMN semantic_hash BIGINT;
