INSERT INTO vectors BY NAME SELECT
    unnest($vid::BIGINT[]) AS vid, unnest($pas::BIGINT[]) AS pas, $model AS model,
    unnest($count::INTEGER[]) AS count, unnest($vectors::BLOB[]) AS vectors
