-- A record by its name: key, thread, time of making, owner.
SELECT r.key, r.thread, r.created_at, r.agent_id
FROM records r
WHERE r.name_hash = $hash AND r.name = $named AND
-- include: visible
