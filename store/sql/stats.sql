-- Visible records by kind, type, scope, bucket and team.
WITH
-- include: visible
SELECT 'kinds', CASE key % 16 WHEN 0 THEN 'memory' ELSE 'episode' END AS value, count(*) FROM visible GROUP BY value
UNION ALL SELECT 'types', type, count(*) FROM visible GROUP BY type
UNION ALL SELECT 'scopes', scope, count(*) FROM visible GROUP BY scope
UNION ALL SELECT 'buckets', bucket, count(*) FROM visible GROUP BY bucket
UNION ALL SELECT 'teams', team_id, count(*) FROM visible WHERE team_id <> '' GROUP BY team_id
ORDER BY 1, 3 DESC, 2
