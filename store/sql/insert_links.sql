INSERT INTO links BY NAME SELECT
    unnest($ends::BIGINT[]) AS from_key, unnest($others::BIGINT[]) AS to_key, unnest($rels::VARCHAR[]) AS rel,
    unnest($places::INTEGER[]) AS place, unnest($agents::VARCHAR[]) AS agent_id, unnest($times::TIMESTAMP[]) AS created_at
