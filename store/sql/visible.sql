-- What the viewer may see at a moment: the one rule behind every read, as a condition on `records r`. $at is the
-- moment of validity (now, or as_of); with as_of, versions that did not exist yet are out too.
    r.deleted_at IS NULL
    AND r.agent_id = $agent -- if alone
    AND (r.agent_id = $agent OR (r.team_id <> '' AND list_contains($teams, r.team_id))) -- if teams
    AND (r.valid_to IS NULL OR r.valid_to > $at)
    AND (r.expires_at IS NULL OR r.expires_at > $at)
    AND (r.superseded_at IS NULL OR r.superseded_at > $at) -- if current
    AND r.valid_from <= $as_of -- if as_of
