-- Which analyser made the postings. What an older store holds is of the first one, until `reindex`.
DELETE FROM meta WHERE name = 'analyzer';
INSERT INTO meta SELECT 'analyzer', if(EXISTS (FROM records), '1', '2');
