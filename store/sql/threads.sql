-- Threads, newest first, each by its one line.
SELECT r.key, r.name, split_part(r.content, chr(10), 1), r.status, r.external_id, r.updated_at, r.agent_id
FROM records r
WHERE r.key % 16 = 2 AND r.key < $before AND
    r.status = $status AND -- if status
-- include: visible
ORDER BY r.key DESC
LIMIT $limit
