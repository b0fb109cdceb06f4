-- All vectors of a model that were written behind a row.
SELECT vid, pas, spans, vectors FROM vectors WHERE model = $model AND rowid > $after
