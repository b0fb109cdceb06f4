-- Schema 1. No sequences, indexes or keys that the logic depends on: the same SQL is meant to run on a lake catalogue.
-- All times are UTC. One row of `records` is one version of one record: `key` says which record, `vid` which version.
-- `vid` is also the number of the version's slot 0 in the passage numbering: slot 0 stands for title, path and type,
-- slots 1..passages for the text, and the next version begins behind them, so neighbours never cross records.

CREATE TABLE meta (name VARCHAR, value VARCHAR);

-- Numbers are handed out from here and never go back: ids are never used again.
CREATE TABLE counters (name VARCHAR, next_value BIGINT);
INSERT INTO counters VALUES ('memory', 1), ('episode', 1), ('passage', 1);

CREATE TABLE records (
    vid BIGINT,
    key BIGINT,
    version INTEGER,
    agent_id VARCHAR,
    team_id VARCHAR,
    scope VARCHAR,
    bucket VARCHAR,
    path VARCHAR,
    type VARCHAR,
    status VARCHAR,
    title VARCHAR,
    -- Uncompressed: one pack reads a few scattered rows, and a compressed vector must be unpacked whole for each.
    content VARCHAR USING COMPRESSION uncompressed,
    source VARCHAR,
    source_name VARCHAR,
    metadata VARCHAR,
    external_id VARCHAR,
    idempotency_key VARCHAR,
    external_hash BIGINT,
    idempotency_hash BIGINT,
    content_hash BIGINT,
    pinned BOOLEAN,
    created_at TIMESTAMP,
    updated_at TIMESTAMP,
    valid_from TIMESTAMP,
    valid_to TIMESTAMP,
    expires_at TIMESTAMP,
    supersedes BIGINT,
    superseded_by BIGINT,
    superseded_at TIMESTAMP,
    deleted_at TIMESTAMP,
    forgotten VARCHAR,
    passages INTEGER,
    terms BIGINT,
    bounds INTEGER[],
    kinds VARCHAR,
    speakers VARCHAR,
    print_low BIGINT,
    print_high BIGINT
);

-- Sorted by (term, pas) up to meta.sorted_postings rows, appended behind; merged when the tail grows.
CREATE TABLE postings (term BIGINT, vid BIGINT, pas BIGINT, tf USMALLINT, len USMALLINT);
