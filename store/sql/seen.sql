-- What is visible and asked for, with what the two rounds of scoring need of it.
SELECT r.vid, r.key, r.passages, r.created_at, r.terms, r.print_low, r.print_high, r.agent_id = $agent AS own,
    epoch_us(least(r.updated_at, r.valid_from)) AS at,
    coalesce(r.status = 'archived', false) AS archived
FROM records r
WHERE
-- include: chosen
