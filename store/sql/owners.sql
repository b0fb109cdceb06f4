-- Workers of a thread, oldest first.
SELECT r.name
FROM links l JOIN records r ON r.key = l.from_key
WHERE l.to_key = $key AND l.rel = $rel AND r.key % 16 = 3 AND
-- include: visible
GROUP BY r.key, r.name
ORDER BY r.key
