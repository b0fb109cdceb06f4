-- The events before and after one in its thread.
SELECT max(r.key) FILTER (r.key < $key), min(r.key) FILTER (r.key > $key)
FROM records r
WHERE r.thread = $thread AND
-- include: visible
