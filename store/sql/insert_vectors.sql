INSERT INTO vectors BY NAME SELECT
    unnest($vid::BIGINT[]) AS vid, unnest($pas::BIGINT[]) AS pas, $model AS model,
    unnest($count::INTEGER[]) AS count, unnest($spans::USMALLINT[][]) AS spans, unnest($vectors::BLOB[]) AS vectors
