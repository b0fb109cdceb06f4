INSERT INTO payloads BY NAME SELECT
    unnest($keys::BIGINT[]) AS key, unnest($media_types::VARCHAR[]) AS media_type, unnest($sizes::BIGINT[]) AS size,
    unnest($bodies::BLOB[]) AS body
