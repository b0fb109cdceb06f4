-- Every version of every record, tombstones included, in the order that import wants.
SELECT key, version, content, title, path, type, bucket, scope, agent_id, team_id, status, source, metadata,
       external_id, idempotency_key, pinned, created_at, updated_at, valid_from, valid_to, expires_at, supersedes,
       superseded_by, superseded_at, deleted_at, forgotten, semantic_key
FROM records WHERE ($agent IS NULL OR agent_id = $agent) AND ($temporary OR bucket <> 'temporary')
ORDER BY key, version
