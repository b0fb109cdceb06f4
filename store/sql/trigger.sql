-- A trigger by its name, by its first line.
SELECT r.key, r.thread, r.name, r.source, split_part(r.content, chr(10), 1), r.created_at, r.updated_at, r.external_id,
       r.team_id, r.agent_id
FROM records r
WHERE r.name_hash = $hash AND r.name = $named AND
-- include: visible
