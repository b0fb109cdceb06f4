-- Whether anything that was replaced stands until a later date, or stands again once its successors have ended.
SELECT 1 FROM records WHERE superseded_from > $at
UNION ALL
SELECT 1 FROM records WHERE superseded_until IS NOT NULL
LIMIT 1
