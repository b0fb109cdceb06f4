-- What the viewer may see at a moment: the one rule behind every read. $at is the moment of validity (now, or as_of);
-- with as_of, versions that did not exist yet are out too.
visible AS (
    SELECT * FROM records
    WHERE deleted_at IS NULL
      AND (agent_id = $agent OR (team_id <> '' AND list_contains($teams, team_id)))
      AND (valid_to IS NULL OR valid_to > $at)
      AND (expires_at IS NULL OR expires_at > $at)
      AND (superseded_at IS NULL OR superseded_at > $at OR $history)
      AND ($as_of IS NULL OR valid_from <= $as_of)
)
