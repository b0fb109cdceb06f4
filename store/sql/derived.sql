-- Records that may repeat what a record says, each with why: its own agent's, and those of its teams that stand.
WITH here AS (SELECT content_hash, supersedes, superseded_by, thread FROM records WHERE key = $key),
found AS (
    SELECT from_key AS key, 'links to it' AS why, 1 AS turn FROM links WHERE to_key = $key
    UNION ALL SELECT key, 'replaces it', 2 FROM records WHERE supersedes = $key OR key IN (SELECT superseded_by FROM here)
    UNION ALL SELECT key, 'was replaced by it', 3 FROM records WHERE superseded_by = $key OR key IN (SELECT supersedes FROM here)
    UNION ALL SELECT key, 'same text', 4 FROM records WHERE content_hash IN (SELECT content_hash FROM here)
    UNION ALL SELECT key, 'belongs to it', 5 FROM records WHERE thread = $key
    UNION ALL SELECT thread, 'holds it', 6 FROM here
    UNION ALL SELECT key, 'names it', 7 FROM records
        WHERE (contains(content, $ref) AND regexp_matches(content, $pattern))
           OR (contains(metadata, $ref) AND regexp_matches(metadata, $pattern))
           OR (contains(source, $ref) AND regexp_matches(source, $pattern))
)
SELECT f.key, any_value(r.name), arg_min(f.why, f.turn)
FROM found f JOIN records r ON r.key = f.key
WHERE f.key <> $key AND ($temporary OR r.bucket <> 'temporary') AND coalesce(r.forgotten, 'soft_delete') = 'soft_delete'
  AND (r.agent_id = $agent OR (r.deleted_at IS NULL AND r.team_id <> '' AND list_contains($teams::VARCHAR[], r.team_id)))
GROUP BY f.key
ORDER BY min(f.turn), f.key
