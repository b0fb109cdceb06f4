-- What the second round needs of the best versions.
SELECT r.vid, r.key, r.passages, r.created_at, r.print_low, r.print_high, r.name, r.agent_id = $agent AS own,
    epoch_us(least(r.updated_at, r.valid_from)) AS at,
    coalesce(r.status = 'archived', false) AS archived
FROM records r JOIN (SELECT unnest($vids::BIGINT[]) AS vid) w ON w.vid = r.vid
