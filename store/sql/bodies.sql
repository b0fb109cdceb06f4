-- Payloads of records that were let through already; the bytes of small ones only.
SELECT p.key, p.media_type, p.size, CASE WHEN p.size <= $most THEN p.body END
FROM payloads p
JOIN (SELECT unnest($keys::BIGINT[]) AS key) w ON w.key = p.key -- if many
WHERE p.key = $key -- if one
