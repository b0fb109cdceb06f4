-- Rows that a new record may repeat or replace, as they are now: by content (what is completed may come again), by the
-- caller's id, by what it is about.
WITH wanted AS (
    SELECT r.vid FROM records r JOIN (SELECT unnest($contents::BIGINT[]) AS h) w ON r.content_hash = w.h
    WHERE r.deleted_at IS NULL AND (r.expires_at IS NULL OR r.expires_at > $at)
        AND (r.superseded_at IS NULL OR r.superseded_from > $at OR r.superseded_until <= greatest($at, r.superseded_at))
        AND r.status <> 'completed'
    UNION -- if externals
    SELECT r.vid FROM records r JOIN (SELECT unnest($externals::BIGINT[]) AS h) w ON r.external_hash = w.h -- if externals
    UNION -- if semantics
    SELECT r.vid FROM records r JOIN (SELECT unnest($semantics::BIGINT[]) AS h) w ON r.semantic_hash = w.h -- if semantics
    WHERE r.deleted_at IS NULL -- if semantics
        AND (r.superseded_at IS NULL OR r.superseded_from > $at -- if semantics
            OR r.superseded_until <= greatest($at, r.superseded_at)) -- if semantics
)
SELECT r.key, r.vid, r.version, r.agent_id, r.team_id, r.scope, r.bucket, r.path, r.content_hash, r.external_id,
       r.created_at, r.expires_at, r.supersedes, r.superseded_by, r.superseded_at, r.deleted_at, r.forgotten,
       r.status, r.semantic_key, r.external_hash, r.semantic_hash, r.superseded_from, r.superseded_until,
       NOT (r.superseded_at IS NULL OR r.superseded_from > $at OR r.superseded_until <= greatest($at, r.superseded_at)),
       r.type, r.source, r.metadata, r.pinned
FROM records r JOIN wanted USING (vid)
WHERE r.valid_to IS NULL
ORDER BY r.key
