-- Names by key.
SELECT DISTINCT r.key, r.name
FROM records r JOIN (SELECT unnest($keys::BIGINT[]) AS key) w ON w.key = r.key
