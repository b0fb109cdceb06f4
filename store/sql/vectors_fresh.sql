SELECT count(*) FROM vectors WHERE model = $model AND rowid > $after
