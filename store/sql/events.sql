-- Events of a thread behind a key: numbers are handed out inside the write, so their order is that of commits.
SELECT r.key
FROM records r
WHERE r.thread = $thread AND r.key > $after AND
-- include: visible
ORDER BY r.key
LIMIT $limit
