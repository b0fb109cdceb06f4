SELECT r.vid, r.signature FROM records r JOIN (SELECT unnest($vids::BIGINT[]) AS vid) w ON w.vid = r.vid
