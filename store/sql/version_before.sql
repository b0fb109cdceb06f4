-- What a version said.
SELECT content, title, path, type, bucket, scope, team_id, status, pinned, source, metadata
FROM records WHERE vid = $vid
