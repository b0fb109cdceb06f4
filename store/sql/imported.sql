-- Records of which an import wrote a version: whether that one stands, whether it is their first, and what stood before.
WITH mine AS (
    SELECT key, min(version) AS first, max(version) AS last FROM records
    WHERE agent_id = $agent AND source LIKE '%"import"%' AND json_extract_string(source, '$.import') = $import
        AND deleted_at IS NULL AND forgotten IS NULL AND ($temporary OR bucket <> 'temporary')
    GROUP BY key
)
SELECT r.key, r.version = mine.last, mine.first = 1,
       (SELECT b.vid FROM records b WHERE b.key = r.key AND b.version = mine.first - 1)
FROM mine JOIN records r ON r.key = mine.key
WHERE r.valid_to IS NULL
ORDER BY r.key
