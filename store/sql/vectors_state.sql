-- Another value whenever rows of a model were written or removed.
SELECT count(*), coalesce(max(rowid), -1), coalesce(sum(pas + count), 0) FROM vectors WHERE model = $model
