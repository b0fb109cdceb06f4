-- Every record that replaced another or was replaced: by whom, from when to when, and when it ends itself.
SELECT r.key, r.superseded_by, r.supersedes, r.superseded_at, r.superseded_until, r.expires_at,
       r.deleted_at IS NOT NULL OR r.forgotten IS NOT NULL
FROM records r
WHERE r.valid_to IS NULL AND (r.superseded_at IS NOT NULL OR r.supersedes IS NOT NULL
    OR r.key IN (SELECT superseded_by FROM records WHERE superseded_by IS NOT NULL))
