-- What the second round needs of the best versions, in the order given.
SELECT r.key, r.passages, r.print_low, r.print_high
FROM records r JOIN (SELECT unnest($vids::BIGINT[]) AS vid, unnest(range(len($vids::BIGINT[]))) AS place) w ON w.vid = r.vid
ORDER BY w.place
