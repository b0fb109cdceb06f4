-- Where an event stands in its thread, deleted or not.
SELECT key FROM records WHERE thread = $thread AND name_hash = $hash AND name IN ($name, $erased) LIMIT 1
