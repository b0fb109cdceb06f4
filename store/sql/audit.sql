-- What was done, newest first; a cursor stands behind (moment, number).
SELECT number, moment, token_id, agent_id, action, object_id, objects, outcome
FROM audit
WHERE TRUE
    AND agent_id = $agent_id -- if agent_id
    AND token_id = $token_id -- if token_id
    AND action = $action -- if action
    AND object_id = $object_id -- if object_id
    AND moment >= $since -- if since
    AND moment < $until -- if until
    AND (moment < $moment OR (moment = $moment AND number < $number)) -- if behind
ORDER BY moment DESC, number DESC
LIMIT $limit
