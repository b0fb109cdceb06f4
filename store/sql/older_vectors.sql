-- Vectors of versions that are made anew: those of single passages, or all.
DELETE FROM vectors WHERE model = $model AND vid IN (SELECT unnest($vids::BIGINT[]))
    AND spans IS NULL -- if single
