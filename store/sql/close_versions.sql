-- A version ends where the next one of its record begins.
UPDATE records SET valid_to = n.valid_from FROM (
    SELECT o.vid, min(l.valid_from) AS valid_from
    FROM records o JOIN records l ON l.key = o.key AND l.version > o.version
    WHERE o.valid_to IS NULL AND list_contains($keys::BIGINT[], o.key)
    GROUP BY o.vid
) n WHERE records.vid = n.vid
