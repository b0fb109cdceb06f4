-- What a session should know when it asks for nothing: what is pinned, then in turn open work, recent decisions and
-- recent records, each group going round its paths, newest first. What is dated in the future counts by the time at
-- which it was written. Archived records and snapshots for a restart, which only repeat others, are left
-- out, and so is what has no word.
WITH grouped AS (
    SELECT r.vid, r.key, r.path, r.name, r.agent_id = $agent AS own,
        CASE WHEN r.updated_at > $at THEN r.valid_from ELSE r.updated_at END AS moment,
        CASE
            WHEN r.pinned THEN 'pinned'
            WHEN r.status IN ('open', 'in_progress', 'blocked', 'waiting', 'todo', 'running') OR r.type = 'state' THEN 'open'
            WHEN r.type = 'decision' THEN 'decision'
            ELSE 'recent'
        END AS reason
    FROM records r
    WHERE r.forgotten IS NULL AND
    r.key % 16 <> 4 AND -- if quiet
    coalesce(r.status, '') <> 'archived' AND -- if standing
    r.type <> 'restart_snapshot' AND -- if quiet
    r.terms > 0 AND -- if quiet
-- include: chosen
),
diverse AS (
    SELECT *, row_number() OVER (PARTITION BY reason, path ORDER BY moment DESC, key DESC) AS turn FROM grouped
    QUALIFY turn <= $depth -- a later one can have no place among the first, which are all that is wanted
),
ordered AS (
    SELECT *, row_number() OVER (PARTITION BY reason ORDER BY turn, moment DESC, key DESC) AS place FROM diverse
    QUALIFY place <= $depth
)
SELECT o.vid, o.key, o.reason, r.print_low, r.print_high, o.name, o.own FROM ordered o JOIN records r ON r.vid = o.vid
ORDER BY o.reason <> 'pinned', o.place,
    CASE o.reason WHEN 'open' THEN 0 WHEN 'decision' THEN 1 ELSE 2 END
LIMIT $depth
