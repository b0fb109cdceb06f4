-- All postings of some terms, everybody's: for a process that joins them with what is visible itself.
SELECT p.term, p.vid, p.pas, p.tf, p.len
FROM postings p JOIN (SELECT unnest($terms::BIGINT[]) AS term) q ON q.term = p.term
