-- Imports of an agent of which something stands, with how much, newest first.
SELECT json_extract_string(source, '$.import') AS import_id, any_value(source_name), count(*), min(updated_at) AS written
FROM records
WHERE agent_id = $agent AND valid_to IS NULL AND deleted_at IS NULL AND forgotten IS NULL
    AND source LIKE '%"import"%' AND ($temporary OR bucket <> 'temporary')
GROUP BY import_id
HAVING import_id IS NOT NULL
ORDER BY written DESC, import_id
