-- When a record that was replaced will next come to stand again, or cease to.
SELECT least(min(superseded_from) FILTER (superseded_from > $at), min(superseded_until) FILTER (superseded_until > $at))
FROM records WHERE superseded_from > $at OR superseded_until > $at
