-- Where what belongs to a thread is put, for threads by name; the viewer's own last.
SELECT r.name, r.agent_id, r.key, r.team_id, r.scope, r.bucket, r.path
FROM records r JOIN (SELECT unnest($hashes::BIGINT[]) AS hash) w ON w.hash = r.name_hash
WHERE list_contains($names, r.name) AND
-- include: visible
ORDER BY r.agent_id = $agent, r.key DESC
