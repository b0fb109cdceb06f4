-- Visible records by kind, type, scope, bucket and team.
WITH seen AS (
    SELECT ['memory', 'episode', 'thread', 'worker', 'trigger'][(r.key % 16)::INTEGER + 1] AS kind, r.type, r.scope, r.bucket, r.team_id
    FROM records r
    WHERE
-- include: visible
)
SELECT 'kinds', kind AS value, count(*) FROM seen GROUP BY value
UNION ALL SELECT 'types', type, count(*) FROM seen GROUP BY type
UNION ALL SELECT 'scopes', scope, count(*) FROM seen GROUP BY scope
UNION ALL SELECT 'buckets', bucket, count(*) FROM seen GROUP BY bucket
UNION ALL SELECT 'teams', team_id, count(*) FROM seen WHERE team_id <> '' GROUP BY team_id
ORDER BY 1, 3 DESC, 2
