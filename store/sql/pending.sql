-- Live versions with passages that have no vector of a model, and how many passages of them have one: they are done in
-- order. Versions that are replaced, forgotten or expired need none.
WITH done AS (
    SELECT vid, sum(count)::BIGINT AS passages FROM vectors
    WHERE model = $model AND spans IS NOT NULL
      AND vid IN (SELECT unnest($vids::BIGINT[])) -- if some
    GROUP BY vid
)
SELECT r.vid, r.passages, coalesce(d.passages, 0) AS done
FROM records r LEFT JOIN done d ON d.vid = r.vid
WHERE r.valid_to IS NULL AND r.deleted_at IS NULL AND r.forgotten IS NULL
  AND (r.expires_at IS NULL OR r.expires_at > $now)
  AND (r.superseded_at IS NULL OR r.superseded_from > $now OR r.superseded_until <= greatest($now, r.superseded_at))
  AND r.passages > coalesce(d.passages, 0)
  AND r.vid IN (SELECT unnest($vids::BIGINT[])) -- if some
ORDER BY r.vid
