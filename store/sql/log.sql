-- What is visible and asked for, in order of time.
SELECT r.vid, r.key, r.print_low, r.print_high, r.name, r.agent_id = $agent AS own
FROM records r
WHERE r.forgotten IS NULL AND
-- include: chosen
ORDER BY
    least(r.created_at, r.updated_at), r.key -- if created_asc
    least(r.created_at, r.updated_at) DESC, r.key DESC -- if created_desc
    r.updated_at, r.key -- if updated_asc
    r.updated_at DESC, r.key DESC -- if updated_desc
LIMIT $depth
