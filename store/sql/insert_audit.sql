INSERT INTO audit BY NAME SELECT
    unnest($number::BIGINT[]) AS number, unnest($moment::TIMESTAMP[]) AS moment,
    unnest($token_id::VARCHAR[]) AS token_id, unnest($agent_id::VARCHAR[]) AS agent_id,
    unnest($action::VARCHAR[]) AS action, unnest($object_id::VARCHAR[]) AS object_id,
    unnest($objects::INTEGER[]) AS objects, unnest($outcome::INTEGER[]) AS outcome
