-- What stands one link away from records, as far as it is visible and asked for: of a trigger its thread (1), links
-- from here in their order (2), links to here, newest first (3), of a thread its triggers, newest first (4). At most
-- $most of each sort. `turn` is the place of the record that leads there.
WITH here AS (SELECT unnest($keys::BIGINT[]) AS key, unnest(range(len($keys::BIGINT[]))) AS turn),
away AS (
    SELECT h.turn, o.thread AS key, 1 AS sort, 0 AS place FROM here h JOIN records o ON o.key = h.key WHERE o.thread IS NOT NULL
    UNION SELECT h.turn, l.to_key, 2, l.place FROM here h JOIN links l ON l.from_key = h.key
    UNION SELECT h.turn, l.from_key, 3, -l.from_key FROM here h JOIN links l ON l.to_key = h.key
    UNION SELECT h.turn, t.key, 4, -t.key FROM here h JOIN records t ON t.thread = h.key
),
first AS (SELECT turn, key, min(sort) AS sort, arg_min(place, sort) AS place FROM away GROUP BY turn, key)
SELECT f.turn, r.key, r.vid, r.name, r.agent_id = $agent AS own, r.print_low, r.print_high
FROM first f JOIN records r ON r.key = f.key
WHERE
-- include: chosen
QUALIFY row_number() OVER (PARTITION BY f.turn, f.sort ORDER BY f.place, r.key) <= $most
ORDER BY f.turn, f.sort, f.place, r.key
