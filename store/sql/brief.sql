-- Records by one line each.
SELECT r.key, r.name, split_part(r.content, chr(10), 1)
FROM records r JOIN (SELECT unnest($keys::BIGINT[]) AS key) w ON w.key = r.key
WHERE
-- include: visible
