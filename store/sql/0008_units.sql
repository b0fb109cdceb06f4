-- Schema 8. One vector for a turn or a short group of passages instead of one for each: `spans` has the numbers of
-- passages that the vectors of a row cover, `count` their sum. Rows without it have a vector for each passage; they answer
-- until their version is embedded anew.

ALTER TABLE vectors ADD COLUMN spans USMALLINT[];
