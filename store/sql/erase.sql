-- The text of a record and all that could give it back, in every version; its id, place and times stay.
UPDATE records SET
    title = '', content = $text, source = '{}', source_name = '', metadata = '{}',
    content_hash = NULL, passages = CASE WHEN $text = '' THEN 0 ELSE 1 END, terms = 0,
    bounds = CASE WHEN $text = '' THEN []::INTEGER[] ELSE [length($text)]::INTEGER[] END,
    kinds = CASE WHEN $text = '' THEN '[]' ELSE '["sentence"]' END,
    speakers = '', print_low = 0, print_high = 0, forgotten = $mode
WHERE key IN (SELECT unnest($keys::BIGINT[]))
