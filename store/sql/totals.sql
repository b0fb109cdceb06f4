-- Size of what is visible and asked for: records, passages, terms; when the first of it expires.
SELECT count(*), coalesce(sum(r.passages), 0)::BIGINT, coalesce(sum(r.terms), 0)::BIGINT, min(r.expires_at)
FROM records r
WHERE
-- include: chosen
