-- The caller's exact filters on top of what is visible. `path` is a prefix of whole segments, the interval half-open.
chosen AS (
    SELECT * FROM visible
    WHERE ($scope IS NULL OR scope = $scope)
      AND ($bucket IS NULL OR bucket = $bucket)
      AND ($team_id IS NULL OR team_id = $team_id)
      AND ($path IS NULL OR path = $path OR starts_with(path, $path || '/'))
      AND ($memory_type IS NULL OR type = $memory_type)
      AND ($status IS NULL OR status = $status)
      AND ($source IS NULL OR source_name = $source)
      AND ($since IS NULL OR created_at >= $since)
      AND ($until IS NULL OR created_at < $until)
      AND NOT list_contains($exclude, key)
)
