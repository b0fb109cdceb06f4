-- Pairs of a record and one that replaced it. A record of which a later version stands was replaced only before.
SELECT key, superseded_by FROM records WHERE valid_to IS NULL AND superseded_by IS NOT NULL
  AND key IN (SELECT unnest($nodes::BIGINT[])) -- if near
UNION ALL
SELECT r.supersedes, r.key FROM records r LEFT JOIN records o ON o.key = r.supersedes AND o.valid_to IS NULL
WHERE r.valid_to IS NULL AND r.supersedes IS NOT NULL
  AND (o.key IS NULL OR o.version = 1 OR o.superseded_by IS NOT NULL)
  AND r.supersedes IN (SELECT unnest($nodes::BIGINT[])) -- if near
