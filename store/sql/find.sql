-- A record by its name: key, thread, owner, time of making.
SELECT r.key, r.thread, r.agent_id, r.created_at
FROM records r
WHERE r.name_hash = $hash AND r.name = $named AND
-- include: visible
