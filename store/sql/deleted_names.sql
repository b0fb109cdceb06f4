-- Deleted records of these names that an agent had or could see in its teams.
SELECT r.key, r.name, r.agent_id
FROM records r JOIN (SELECT unnest($hashes::BIGINT[]) AS hash) w ON w.hash = r.name_hash
WHERE r.deleted_at IS NOT NULL AND list_contains($names::VARCHAR[], r.name)
    AND (r.agent_id = $agent OR (r.team_id <> '' AND list_contains($teams::VARCHAR[], r.team_id)))
