-- The version of an agent's record that stands now, deleted or not: what a new version of it takes over.
SELECT r.vid, r.version, r.agent_id, r.team_id, r.scope, r.bucket, r.path, r.type, r.status, r.title, r.content, r.source,
       r.metadata, r.external_id, r.semantic_key, r.pinned, r.created_at, r.expires_at, r.supersedes, r.superseded_by,
       r.superseded_at, r.superseded_from, r.superseded_until, r.deleted_at, r.forgotten
FROM records r WHERE r.key = $key AND r.agent_id = $agent AND r.valid_to IS NULL ORDER BY r.version DESC LIMIT 1
