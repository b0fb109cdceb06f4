-- Versions that are visible and asked for.
SELECT r.vid FROM records r WHERE
-- include: chosen
