-- Whose record a key is, whether it was deleted, and how it was forgotten.
SELECT agent_id, team_id, deleted_at, forgotten FROM records WHERE key = $key ORDER BY version DESC LIMIT 1
