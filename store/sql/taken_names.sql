-- Records that have one of these names, whoever they belong to, deleted ones too.
SELECT r.key, r.name, r.agent_id, r.external_id, r.thread, r.deleted_at IS NOT NULL
FROM records r JOIN (SELECT unnest($hashes::BIGINT[]) AS hash) w ON w.hash = r.name_hash
WHERE r.valid_to IS NULL AND list_contains($names, r.name)
ORDER BY r.key
