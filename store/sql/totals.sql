-- Size of what is visible and asked for: records, passages, terms.
WITH
-- include: visible
,
-- include: chosen
SELECT count(*), coalesce(sum(passages), 0)::BIGINT, coalesce(sum(terms), 0)::BIGINT FROM chosen
