-- Which of these versions are working state.
SELECT r.vid FROM records r JOIN (SELECT unnest($vids::BIGINT[]) AS vid) w ON w.vid = r.vid
WHERE r.type IN ('state', 'working')
