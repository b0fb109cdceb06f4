SELECT id, hash, agent_id, teams, scopes, profile, label, created_at, expires_at, revoked_at
FROM tokens
ORDER BY created_at, id
