-- Size of what is visible and asked for: records, passages, terms.
SELECT count(*), coalesce(sum(r.passages), 0)::BIGINT, coalesce(sum(r.terms), 0)::BIGINT
FROM records r
WHERE
-- include: chosen
