-- What stands under the caller's own ids of one agent, as far as a session that comes again needs it.
SELECT r.external_hash, r.vid, r.bucket, r.content, r.title, r.metadata, r.created_at
FROM records r JOIN (SELECT DISTINCT unnest($hashes::BIGINT[]) AS hash) w ON w.hash = r.external_hash
WHERE r.valid_to IS NULL AND r.deleted_at IS NULL AND r.forgotten IS NULL
ORDER BY r.key
