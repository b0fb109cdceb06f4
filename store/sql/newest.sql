-- What is visible and asked for, newest first.
SELECT r.key
FROM records r
WHERE r.forgotten IS NULL AND
-- include: chosen
ORDER BY r.updated_at DESC, r.key DESC
LIMIT $limit
