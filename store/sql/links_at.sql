-- Links that begin or end at records.
SELECT from_key, to_key, rel
FROM links
WHERE list_contains($keys::BIGINT[], from_key) OR list_contains($keys::BIGINT[], to_key)
ORDER BY from_key, place, to_key
