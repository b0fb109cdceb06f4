-- Every version that came with one of these idempotency keys.
SELECT r.key, r.vid, r.version, r.agent_id, r.idempotency_hash, r.idempotency_key, r.content_hash, r.forgotten
FROM records r JOIN (SELECT DISTINCT unnest($replays::BIGINT[]) AS h) w ON r.idempotency_hash = w.h
ORDER BY r.key, r.version
