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
    AND NOT list_contains($exclude, r.key) -- if exclude
