-- Whole records by key, as far as the viewer may see them now (replaced ones too: an id stays readable).
SELECT r.key, r.vid, r.version, r.content, r.title, r.path, r.type, r.bucket, r.scope, r.agent_id, r.team_id, r.status,
       r.created_at, r.updated_at, r.source, r.metadata, r.external_id, r.pinned, r.expires_at, r.supersedes,
       r.superseded_by, r.deleted_at, r.bounds, r.kinds, r.speakers
FROM records r JOIN (SELECT unnest($keys::BIGINT[]) AS key) w ON w.key = r.key
WHERE
-- include: visible
