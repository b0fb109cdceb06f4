-- Records of one agent and kind by the caller's own ids, deleted ones too, oldest first.
SELECT w.hash, r.key, r.name, r.agent_id, r.external_id, r.thread, r.deleted_at IS NOT NULL
FROM records r JOIN (SELECT DISTINCT unnest($hashes::BIGINT[]) AS hash) w ON w.hash = r.external_hash
WHERE r.valid_to IS NULL AND r.agent_id = $agent AND r.key % 16 = $kind
ORDER BY r.key
