-- What contradicts itself in a store: a line and how often. Nothing where all is right.
WITH versions AS (SELECT vid, key, version, passages FROM records), known AS (SELECT DISTINCT key FROM versions),
islands AS (SELECT list_position(['memory', 'episode'], split_part(name, ':', 2)) - 1 AS kind,
        split_part(name, ':', 3)::BIGINT AS first, next_value AS past FROM counters WHERE name LIKE 'island:%'),
counted AS (SELECT key % 16 AS kind, max(key // 16) AS last FROM known WHERE NOT EXISTS (SELECT 1 FROM islands
        WHERE islands.kind = known.key % 16 AND known.key // 16 BETWEEN first AND past - 1) GROUP BY ALL)
SELECT what, found FROM (
    SELECT 'records: two rows with one number' AS what, count(*) - count(DISTINCT vid) AS found FROM versions
    UNION ALL
    SELECT 'records: two rows for one version of a record', (SELECT count(*) FROM (
        SELECT key FROM versions GROUP BY key, version HAVING count(*) > 1))
    UNION ALL
    SELECT 'records: passages that share numbers with the next version', (SELECT count(*) FROM (
        SELECT vid + passages AS last, lead(vid) OVER (ORDER BY vid) AS next FROM versions) WHERE last >= next)
    UNION ALL
    SELECT 'counters: numbers that would be given out again', (SELECT count(*) FROM counters c
        JOIN (VALUES ('memory', 0), ('episode', 1), ('thread', 2), ('worker', 3), ('trigger', 4)) k(name, kind)
            ON k.name = c.name
        WHERE c.next_value <= (SELECT coalesce(max(last), 0) FROM counted WHERE counted.kind = k.kind))
    UNION ALL
    SELECT 'counters: passages that would be numbered again', (SELECT count(*) FROM counters
        WHERE name = 'passage' AND next_value <= (SELECT coalesce(max(vid + passages), 0) FROM versions))
    UNION ALL
    SELECT 'counters: numbers that are missing', (SELECT 6 - count(DISTINCT name) FROM counters
        WHERE name IN ('memory', 'episode', 'thread', 'worker', 'trigger', 'passage') AND next_value IS NOT NULL)
    UNION ALL
    SELECT 'postings: rows of no version', (SELECT count(*) FROM postings p ANTI JOIN versions v ON v.vid = p.vid)
    UNION ALL
    SELECT 'vectors: rows of no version', (SELECT count(*) FROM vectors x ANTI JOIN versions v ON v.vid = x.vid
        WHERE x.vid <> 0)
    UNION ALL
    SELECT 'vectors: rows of passages that are not there', (SELECT count(*) FROM vectors x
        JOIN versions v ON v.vid = x.vid
        WHERE x.vid <> 0 AND (x.pas <= v.vid OR x.pas + x.count - 1 > v.vid + v.passages))
    UNION ALL
    SELECT 'vectors: rows of another length than their model has', (SELECT count(*) FROM vectors x
        JOIN (SELECT model, min(octet_length(vectors) // count) AS size FROM vectors WHERE vid = 0 GROUP BY model) m
            ON m.model = x.model
        WHERE octet_length(x.vectors) <> coalesce(len(x.spans), x.count) * m.size)
    UNION ALL
    SELECT 'vectors: rows whose parts do not add up', (SELECT count(*) FROM vectors
        WHERE spans IS NOT NULL AND list_sum(spans) <> count)
    UNION ALL
    SELECT 'links: ends that are not there', (SELECT count(*) FROM links l
        WHERE l.from_key NOT IN (SELECT key FROM known) OR l.to_key NOT IN (SELECT key FROM known))
    UNION ALL
    SELECT 'payloads: bodies of another size than is said', (SELECT count(*) FROM payloads
        WHERE size IS DISTINCT FROM octet_length(body))
    UNION ALL
    SELECT 'payloads: bodies of no trigger', (SELECT count(*) FROM payloads p ANTI JOIN known k ON k.key = p.key)
) WHERE found > 0
