-- Schema 3. Threads, workers and triggers are records too. Their id is a name (`thr_pr_412`), given by the caller or
-- made from the number; names are unique among the records of one agent. `thread` is the key of a trigger's thread.

ALTER TABLE records ADD COLUMN name VARCHAR;
ALTER TABLE records ADD COLUMN name_hash BIGINT;
ALTER TABLE records ADD COLUMN thread BIGINT;
INSERT INTO counters VALUES ('thread', 1), ('worker', 1), ('trigger', 1);

-- What a trigger brought, to the byte.
CREATE TABLE payloads (key BIGINT, media_type VARCHAR, size BIGINT, body BLOB USING COMPRESSION uncompressed);

-- From one record to another, by keys; `place` orders the links of one record, `agent_id` is who made the link.
CREATE TABLE links (from_key BIGINT, to_key BIGINT, rel VARCHAR, place INTEGER, agent_id VARCHAR, created_at TIMESTAMP);
