-- What is known of the texts of forgotten records, of all their versions.
SELECT r.key, CASE WHEN r.forgotten = 'soft_delete' THEN r.content END, r.forgotten_hash
FROM records r JOIN (SELECT unnest($keys::BIGINT[]) AS key) w ON w.key = r.key
