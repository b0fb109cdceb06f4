-- Whether any link begins or ends at one of these records.
SELECT 1 FROM links WHERE list_contains($keys::BIGINT[], from_key) OR list_contains($keys::BIGINT[], to_key) LIMIT 1
