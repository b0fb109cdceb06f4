-- Note on a record who replaced it, unless another did already: later ones change no history. Who stands again, or will
-- be replaced only later, may be replaced now.
UPDATE records SET superseded_by = $new, superseded_at = $since, superseded_from = $start, superseded_until = NULL
WHERE key = $old AND valid_to IS NULL AND (superseded_at IS NULL OR superseded_from > $now
    OR superseded_until <= greatest($now, superseded_at))
