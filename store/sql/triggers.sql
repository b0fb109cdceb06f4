-- Triggers by key, each by its first line.
SELECT r.key, r.thread, r.name, r.source, split_part(r.content, chr(10), 1), r.created_at, r.updated_at, r.external_id,
       r.team_id, r.agent_id
FROM records r JOIN (SELECT unnest($keys::BIGINT[]) AS key) w ON w.key = r.key
WHERE
-- include: visible
