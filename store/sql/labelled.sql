-- The name of a record, and whether anything is left that names or places it.
SELECT any_value(name), bool_or(
    external_id IS NOT NULL OR path <> $path OR scope <> $scope OR status <> $status OR bucket NOT IN ($bucket, 'temporary')
    OR type <> ['memory', 'episode', 'thread', 'worker', 'trigger'][(key % 16)::INTEGER + 1]
)
FROM records WHERE key = $key
