-- Rows of `records` as they were, but for what the analyser makes of their text; `source` is the old file, `target` the new.
INSERT INTO target.records BY NAME
SELECT r.* REPLACE (
    if(c.place IS NULL, r.vid, c.vid) AS vid,
    if(c.place IS NULL, r.passages, c.passages) AS passages,
    if(c.place IS NULL, r.terms, c.terms) AS terms,
    if(c.place IS NULL, r.bounds, c.bounds) AS bounds,
    if(c.place IS NULL, r.kinds, c.kinds) AS kinds,
    if(c.place IS NULL, r.speakers, c.speakers) AS speakers,
    if(c.place IS NULL, r.print_low, c.print_low) AS print_low,
    if(c.place IS NULL, r.print_high, c.print_high) AS print_high
)
FROM source.records r
LEFT JOIN (
    SELECT unnest($place::BIGINT[]) AS place, unnest($vid::BIGINT[]) AS vid, unnest($passages::INTEGER[]) AS passages,
        unnest($terms::BIGINT[]) AS terms, unnest($bounds::INTEGER[][]) AS bounds, unnest($kinds::VARCHAR[]) AS kinds,
        unnest($speakers::VARCHAR[]) AS speakers,
        unnest($print_low::BIGINT[]) AS print_low, unnest($print_high::BIGINT[]) AS print_high
) c ON c.place = r.rowid
WHERE r.rowid BETWEEN $first AND $last
ORDER BY r.rowid
