-- The vectors of a model in what is visible and asked for, and its background.
SELECT v.vid, v.pas, v.spans, v.vectors
FROM vectors v JOIN records r ON r.vid = v.vid
WHERE v.model = $model AND
-- include: chosen
UNION ALL
SELECT vid, pas, spans, vectors FROM vectors WHERE model = $model AND vid = 0
