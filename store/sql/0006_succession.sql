-- Schema 6. A record that another one replaced stands again once that is forgotten or has expired. `superseded_from` is
-- the date from which a successor that is dated in the future replaces it; NULL for all others, which do at once.
-- `superseded_until` is when the last of its successors, and of theirs, ends: NULL where one has no end; equal to
-- `superseded_at` where all are forgotten. `forgotten_hash` is a hash of the text that an erased version had, kept where
-- it has an external id: it tells whether that source says something else now.

ALTER TABLE records ADD COLUMN superseded_from TIMESTAMP;
ALTER TABLE records ADD COLUMN superseded_until TIMESTAMP;
ALTER TABLE records ADD COLUMN forgotten_hash BIGINT;

-- Where postings are sorted anew, range by range; empty where no merge is under way (meta.merging).
CREATE TABLE merged (term BIGINT, vid BIGINT, pas BIGINT, tf USMALLINT, len USMALLINT);

-- What is dated in the future was written before its date.
UPDATE records SET updated_at = valid_from WHERE key % 16 < 2 AND updated_at = created_at AND updated_at > valid_from;
UPDATE records SET superseded_from = s.created_at
FROM records s
WHERE s.key = records.superseded_by AND s.version = 1 AND s.key % 16 < 2 AND s.created_at > s.valid_from
    AND records.superseded_at IS NOT NULL;

UPDATE records SET superseded_until = e.until FROM (
    WITH RECURSIVE after AS (
        SELECT o.key AS old, o.superseded_at AS at, o.superseded_by AS key, 1 AS depth
        FROM records o JOIN records s ON s.key = o.superseded_by
        WHERE o.valid_to IS NULL AND s.valid_to IS NULL AND o.superseded_at IS NOT NULL
            AND (s.forgotten IS NOT NULL OR s.deleted_at IS NOT NULL OR s.expires_at IS NOT NULL)
        UNION ALL
        SELECT a.old, a.at, s.superseded_by, a.depth + 1
        FROM after a JOIN records s ON s.key = a.key
        WHERE s.valid_to IS NULL AND s.superseded_by IS NOT NULL AND a.depth < 16
    ),
    ends AS (
        SELECT a.old, CASE
            WHEN a.depth = 16 AND s.superseded_by IS NOT NULL THEN NULL
            WHEN s.forgotten IS NOT NULL OR s.deleted_at IS NOT NULL THEN a.at
            ELSE s.expires_at
        END AS until
        FROM after a JOIN records s ON s.key = a.key WHERE s.valid_to IS NULL
    )
    SELECT old, max(until) AS until FROM ends GROUP BY old HAVING count(*) = count(until)
) e WHERE records.key = e.old AND records.superseded_at IS NOT NULL;
