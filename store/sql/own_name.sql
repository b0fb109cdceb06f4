-- The key behind a name among the records of one agent, deleted ones too.
SELECT key FROM records WHERE name_hash = $hash AND name = $name AND agent_id = $agent LIMIT 1
