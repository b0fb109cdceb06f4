-- How many passages each model has vectors for.
SELECT model, sum(count)::BIGINT FROM vectors WHERE vid > 0 GROUP BY model
