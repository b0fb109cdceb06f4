-- How many events of a thread there are, and when the last one came.
SELECT count(*), max(r.updated_at)
FROM records r
WHERE r.thread = $thread AND
-- include: visible
