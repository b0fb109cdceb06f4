-- Whole texts of versions and where their passages end.
SELECT vid, title, content, bounds FROM records WHERE vid IN (SELECT unnest($vids::BIGINT[]))
