-- What the second round needs of the best versions.
SELECT r.vid, r.key, r.passages, r.print_low, r.print_high, r.name, r.agent_id = $agent AS own,
    epoch_us(least(r.updated_at, r.valid_from)) AS at, epoch_us(r.created_at) AS dated,
    coalesce(r.status = 'archived', false) AS archived
FROM records r JOIN (SELECT unnest($vids::BIGINT[]) AS vid) w ON w.vid = r.vid
