-- Rows that a new record may be a repetition of: by content, by the caller's id, by idempotency key.
WITH wanted AS (
    SELECT DISTINCT vid FROM (
        SELECT r.vid FROM records r JOIN (SELECT unnest($contents::BIGINT[]) AS h) w ON r.content_hash = w.h
        WHERE r.deleted_at IS NULL AND r.superseded_at IS NULL AND (r.expires_at IS NULL OR r.expires_at > $now)
        UNION ALL
        SELECT r.vid FROM records r JOIN (SELECT unnest($externals::BIGINT[]) AS h) w ON r.external_hash = w.h
        UNION ALL
        SELECT r.vid FROM records r JOIN (SELECT unnest($replays::BIGINT[]) AS h) w ON r.idempotency_hash = w.h
    )
)
SELECT r.key, r.vid, r.version, r.agent_id, r.team_id, r.scope, r.bucket, r.path, r.content_hash, r.external_id,
       r.idempotency_key, r.deleted_at, r.superseded_at, r.expires_at, r.created_at
FROM records r JOIN wanted USING (vid)
WHERE r.valid_to IS NULL
ORDER BY r.key
