-- Whose record a key is, whether it was deleted, how it was forgotten, and its bucket.
SELECT agent_id, team_id, deleted_at, forgotten, bucket FROM records WHERE key = $key ORDER BY version DESC LIMIT 1
