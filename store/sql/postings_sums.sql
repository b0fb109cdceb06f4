-- One number for all postings of a version, whatever their order.
SELECT vid, count(*) AS postings, bit_xor(hash(term::BIGINT, pas::BIGINT, tf::USMALLINT, len::USMALLINT)) AS mixed
FROM postings GROUP BY vid ORDER BY vid
