-- Keys of the triggers of an agent, or of all.
SELECT DISTINCT key FROM records
WHERE key % 16 = 4 AND ($agent IS NULL OR agent_id = $agent) AND ($temporary OR bucket <> 'temporary')
ORDER BY key
