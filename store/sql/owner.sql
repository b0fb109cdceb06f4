-- What became of a record of this agent: when it was deleted, how it was forgotten, its bucket. The agent is part of the
-- condition, so that a record of somebody else costs what one costs that never was.
SELECT deleted_at, forgotten, bucket FROM records WHERE key = $key AND agent_id = $agent ORDER BY version DESC LIMIT 1
