INSERT INTO tokens BY NAME SELECT
    $id AS id, $hash::BLOB AS hash, $agent_id AS agent_id, $teams::VARCHAR[] AS teams, $scopes::VARCHAR[] AS scopes,
    $profile::VARCHAR AS profile, $label AS label, $created_at::TIMESTAMP AS created_at,
    $expires_at::TIMESTAMP AS expires_at, NULL::TIMESTAMP AS revoked_at
