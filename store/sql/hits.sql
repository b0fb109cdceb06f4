-- Every posting of the query's terms in what is visible and asked for: which term, where, how often.
SELECT q.slot, p.vid, p.pas, p.tf, p.len, r.terms
FROM postings p
JOIN (SELECT unnest($terms::BIGINT[]) AS term, unnest(range(len($terms::BIGINT[]))) AS slot) q ON q.term = p.term
JOIN records r ON r.vid = p.vid
WHERE
-- include: chosen
