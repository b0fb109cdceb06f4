-- Whole records by key or by name, as far as the viewer may see them now (replaced ones too: an id stays readable), and
-- whether who replaces it will change with time.
SELECT r.key, r.vid, r.version, r.content, r.title, r.path, r.type, r.bucket, r.scope, r.agent_id, r.team_id, r.status,
       r.created_at, r.updated_at, r.source, r.metadata, r.external_id, r.pinned, r.expires_at, r.supersedes,
       CASE WHEN r.superseded_from > $at OR r.superseded_until <= greatest($at, r.superseded_at) THEN NULL ELSE r.superseded_by END,
       r.deleted_at, r.bounds, r.kinds, r.speakers, r.name, coalesce(r.superseded_from > $at, r.superseded_until > $at, FALSE)
FROM records r
JOIN (SELECT unnest($keys::BIGINT[]) AS key) w ON w.key = r.key -- if by_key
JOIN (SELECT unnest($hashes::BIGINT[]) AS hash) w ON w.hash = r.name_hash -- if by_name
WHERE
    r.key = $key AND -- if one
    list_contains($names::VARCHAR[], r.name) AND -- if by_name
    r.name_hash = $hash AND r.name = $named AND -- if of_name
-- include: visible
