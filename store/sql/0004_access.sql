-- Schema 4. Who may come in, and who did what. Rows of `tokens` are never deleted, only revoked, so that their count and
-- the count of revoked ones tell whether anything changed. `hash` is the SHA-256 of the secret; the secret is kept nowhere.

CREATE TABLE tokens (
    id VARCHAR,
    hash BLOB,
    agent_id VARCHAR,
    teams VARCHAR[],
    scopes VARCHAR[],
    profile VARCHAR,
    label VARCHAR,
    created_at TIMESTAMP,
    expires_at TIMESTAMP,
    revoked_at TIMESTAMP
);

-- One row per object of a request; `objects` is how many the request had, `outcome` its HTTP status. Never a text of a
-- query or a memory. `number` makes (moment, number) unique, also among equal times.
CREATE TABLE audit (
    number BIGINT,
    moment TIMESTAMP,
    token_id VARCHAR,
    agent_id VARCHAR,
    action VARCHAR,
    object_id VARCHAR,
    objects INTEGER,
    outcome INTEGER
);
INSERT INTO counters VALUES ('audit', 1);
