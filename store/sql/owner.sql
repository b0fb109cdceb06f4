-- Whose record a key is, and whether it was deleted.
SELECT agent_id, team_id, deleted_at FROM records WHERE key = $key ORDER BY version DESC LIMIT 1
