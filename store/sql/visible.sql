-- What the viewer may see at a moment: the one rule behind every read, as a condition on `records r`. $at is the
-- moment of validity (now, or as_of). Only as_of compares times of writing: now, what was replaced is out by whatever
-- clock it was, so that two clocks that differ show no record twice; by a successor of a later date from that date on.
-- What was replaced stands again once its successors have ended. `settled` is `current` where no row has such a date (see
-- turning.sql): with the long condition DuckDB takes the records for few and joins the wrong way round.
    r.deleted_at IS NULL
    AND r.agent_id = $agent -- if alone
    AND (r.agent_id = $agent OR (r.team_id <> '' AND list_contains($teams, r.team_id))) -- if teams
    AND r.bucket <> 'temporary' -- if lasting
    AND r.valid_to IS NULL -- if now
    AND (r.valid_to IS NULL OR r.valid_to > $at) -- if as_of
    AND r.valid_from <= $at -- if as_of
    AND (r.superseded_at IS NULL OR r.superseded_from > $at OR r.superseded_until <= greatest($at, r.superseded_at)) -- if current
    AND r.superseded_at IS NULL -- if settled
    AND (r.superseded_at IS NULL OR greatest(r.superseded_at, r.superseded_from) > $at OR r.superseded_until <= greatest($at, r.superseded_at)) -- if current_then
    AND (r.expires_at IS NULL OR r.expires_at > $at)
