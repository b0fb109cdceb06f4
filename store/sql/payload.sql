-- A range of the payload of a record that was let through already; characters of SQL count from 1.
SELECT media_type, size, array_slice(body, $first, least($last, size)) FROM payloads WHERE key = $key
