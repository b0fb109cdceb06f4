-- Every record that has a name, and whose it is.
SELECT DISTINCT key, name, agent_id FROM records WHERE name IS NOT NULL
