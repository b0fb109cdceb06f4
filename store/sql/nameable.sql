-- Which of these records a viewer may hear of, whatever became of them: its own and those of its teams.
SELECT DISTINCT r.key
FROM records r JOIN (SELECT unnest($keys::BIGINT[]) AS key) w ON w.key = r.key
WHERE (r.agent_id = $agent OR (r.team_id <> '' AND list_contains($teams::VARCHAR[], r.team_id)))
  AND ($temporary OR r.bucket <> 'temporary')
