-- The vectors of a model in some versions.
SELECT vid, pas, spans, vectors FROM vectors WHERE model = $model AND vid IN (SELECT unnest($vids::BIGINT[]))
