SELECT r.vid, r.content FROM records r JOIN (SELECT unnest($vids::BIGINT[]) AS vid) w ON w.vid = r.vid
