-- What names and places a record, as if none had been given. `temporary` stays: it says who may hear of the record. A
-- name gives way to what is made of its hash, where the record is deleted: nobody asks for it by that any more.
UPDATE records SET
    path = $path, scope = $scope, status = $status, external_id = NULL, semantic_hash = NULL, forgotten_hash = NULL,
    bucket = CASE WHEN bucket = 'temporary' THEN bucket ELSE $bucket END,
    type = ['memory', 'episode', 'thread', 'worker', 'trigger'][(key % 16)::INTEGER + 1],
    name = CASE WHEN $unnamed AND name IS NOT NULL THEN $bare ELSE name END
WHERE key = $key
