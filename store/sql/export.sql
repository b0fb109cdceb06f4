-- Every version of every record, tombstones included, in the order that import wants: what others refer to first.
-- Triggers are asked for by key, so that their payloads come with them.
SELECT r.key, r.version, r.content, r.title, r.path, r.type, r.bucket, r.scope, r.agent_id, r.team_id, r.status, r.source,
       r.metadata, r.external_id, r.idempotency_key, r.pinned, r.created_at, r.updated_at, r.valid_from, r.valid_to,
       r.expires_at, r.supersedes, r.superseded_by, r.superseded_at, r.deleted_at, r.forgotten, r.semantic_key,
       r.external_hash, r.idempotency_hash, r.semantic_hash, r.superseded_from, r.superseded_until, r.forgotten_hash, r.thread
FROM records r
JOIN (SELECT unnest($keys::BIGINT[]) AS key) w ON w.key = r.key -- if triggers
WHERE ($agent IS NULL OR r.agent_id = $agent) AND ($temporary OR r.bucket <> 'temporary')
    AND r.key % 16 IN (2, 3) -- if chain
    AND r.key % 16 < 2 -- if memories
ORDER BY CASE WHEN r.key % 16 < 2 THEN 0 ELSE r.key % 16 END, r.key, r.version
