-- The two ends of these versions, by which near-equal ones are told.
SELECT r.vid, coalesce(r.title, ''), left(r.content, $chars), right(r.content, $chars)
FROM records r JOIN (SELECT unnest($vids::BIGINT[]) AS vid) w ON w.vid = r.vid
