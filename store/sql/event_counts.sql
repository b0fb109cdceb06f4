-- How many events each of these threads has, and when its last one came.
SELECT r.thread, count(*), max(r.updated_at)
FROM records r JOIN (SELECT unnest($keys::BIGINT[]) AS key) w ON w.key = r.thread
WHERE
-- include: visible
GROUP BY r.thread
