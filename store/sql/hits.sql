-- Every posting of the query's terms in what is visible and asked for: which term, where, how often.
WITH
-- include: visible
,
-- include: chosen
SELECT q.slot, p.vid, p.pas, p.tf, p.len, c.terms
FROM postings p
JOIN (SELECT unnest($terms::BIGINT[]) AS term, unnest(range(len($terms::BIGINT[]))) AS slot) q ON q.term = p.term
JOIN chosen c ON c.vid = p.vid
