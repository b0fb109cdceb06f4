-- Changes with every token made or revoked, since no row is ever deleted; the id tells one file from another.
SELECT count(*), count(revoked_at), max(id) FROM tokens
