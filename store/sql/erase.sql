-- The text of a record and all that could give it back, in every version. The hashes of its keys stay, so that what was
-- forgotten is known when it comes again.
UPDATE records SET
    title = '', content = $text, source = '{}', source_name = '', metadata = '{}',
    idempotency_key = NULL, semantic_key = NULL,
    content_hash = NULL, passages = CASE WHEN $text = '' THEN 0 ELSE 1 END, terms = 0,
    bounds = CASE WHEN $text = '' THEN []::INTEGER[] ELSE [length($text)]::INTEGER[] END,
    kinds = CASE WHEN $text = '' THEN '[]' ELSE '["sentence"]' END,
    speakers = '', print_low = 0, print_high = 0, forgotten = $mode
WHERE key IN (SELECT unnest($keys::BIGINT[]))
