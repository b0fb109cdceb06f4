-- Links that an agent made, or all.
SELECT from_key, to_key, rel, place, agent_id, created_at
FROM links WHERE $agent IS NULL OR agent_id = $agent
ORDER BY from_key, place, to_key, rel
