-- Whole texts of versions, where their passages end and who says them.
SELECT vid, title, content, bounds, speakers FROM records WHERE vid IN (SELECT unnest($vids::BIGINT[]))
