-- What stands of one folder that was imported.
SELECT key, external_id, json_extract_string(source, '$.file') FROM records
WHERE agent_id = $agent AND source_name = $host AND valid_to IS NULL AND deleted_at IS NULL AND forgotten IS NULL
    AND source LIKE '%"folder"%' AND json_extract_string(source, '$.folder') = $folder
ORDER BY key
