-- The caller's exact filters on top of what is visible. `path` is a prefix of whole segments, the interval half-open.
-- include: visible
    AND r.scope = $scope -- if scope
    AND r.bucket = $bucket -- if bucket
    AND r.team_id = $team_id -- if team_id
    AND (r.path = $path OR starts_with(r.path, $path || '/')) -- if path
    AND r.type = $memory_type -- if memory_type
    AND r.status = $status -- if status
    AND r.source_name = $source -- if source
    AND r.created_at >= $since -- if since
    AND r.created_at < $until -- if until
    AND r.updated_at >= $since_updated -- if since_updated
    AND r.updated_at < $until_updated -- if until_updated
    AND list_contains($ids, r.key) -- if ids
    AND r.semantic_key = $semantic_key -- if semantic_key
    AND r.type <> 'usage' -- if usual
    AND NOT list_contains($exclude, r.key) -- if exclude
    AND (r.name IS NULL OR NOT list_contains($exclude_names, r.name)) -- if exclude_names
