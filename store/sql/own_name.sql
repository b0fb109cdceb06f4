-- The key behind a name, or what stands for it once erased, among the records of one agent, deleted ones too.
SELECT key FROM records WHERE name_hash = $hash AND name IN ($name, $erased) AND agent_id = $agent LIMIT 1
