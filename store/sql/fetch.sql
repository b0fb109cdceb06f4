-- Whole records by key, as far as the viewer may see them now (replaced ones too: an id stays readable).
WITH
-- include: visible
SELECT v.key, v.vid, v.version, v.content, v.title, v.path, v.type, v.bucket, v.scope, v.agent_id, v.team_id, v.status,
       v.created_at, v.updated_at, v.source, v.metadata, v.external_id, v.pinned, v.expires_at, v.supersedes,
       v.superseded_by, v.deleted_at, v.bounds, v.kinds, v.speakers
FROM visible v JOIN (SELECT unnest($keys::BIGINT[]) AS key) w ON w.key = v.key
