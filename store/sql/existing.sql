-- Rows that a new record may be a repetition of, as they are now: by content or by the caller's id.
WITH wanted AS (
    SELECT r.vid FROM records r JOIN (SELECT unnest($contents::BIGINT[]) AS h) w ON r.content_hash = w.h
    WHERE r.deleted_at IS NULL AND r.superseded_at IS NULL AND (r.expires_at IS NULL OR r.expires_at > $now)
    UNION
    SELECT r.vid FROM records r JOIN (SELECT unnest($externals::BIGINT[]) AS h) w ON r.external_hash = w.h
)
SELECT r.key, r.vid, r.version, r.agent_id, r.team_id, r.scope, r.bucket, r.path, r.content_hash, r.external_id,
       r.created_at, r.expires_at, r.supersedes, r.superseded_by, r.superseded_at, r.deleted_at, r.forgotten
FROM records r JOIN wanted USING (vid)
WHERE r.valid_to IS NULL
ORDER BY r.key
